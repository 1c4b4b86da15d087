"""Bitexts and files of word links: what they hold, and those that do not fit are refused."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from attentionology.analyses.alignment.link_files import score_files, scores_section
from attentionology.analyses.alignment.scores import LinkCounts, score_links
from attentionology.corpora_loaders import CorpusError
from attentionology.corpora_loaders.alignment import (
    Bitext,
    LinkSource,
    load_bitext,
    load_link_files,
    load_links,
    write_links,
)

PAIRS = [("das Haus", "the house ."), ("ein sehr altes Buch", "an old book"), ("ja", "yes")]


def write(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def bitext(tmp_path: Path) -> Bitext:
    return load_bitext(write(tmp_path, "pairs.txt", [f"{source} ||| {target}" for source, target in PAIRS]))


def error(call, *arguments, **options) -> str:
    with pytest.raises(CorpusError) as caught:
        call(*arguments, **options)
    return str(caught.value)


def test_all_forms_of_a_bitext_give_the_same_pairs(tmp_path):
    sources, targets = zip(*PAIRS, strict=True)
    two = load_bitext(write(tmp_path, "x.de", list(sources)), write(tmp_path, "x.en", list(targets)))
    assert [(pair.source, pair.words) for pair in two.pairs] == [(tuple(s.split()), tuple(t.split())) for s, t in PAIRS]
    assert [pair.id for pair in two.pairs] == ["x.de:1", "x.de:2", "x.de:3"]
    for separator in (" ||| ", "|||", "\t"):
        one = load_bitext(write(tmp_path, "one", [separator.join(pair) for pair in PAIRS]))
        assert [(pair.source, pair.words) for pair in one.pairs] == [(pair.source, pair.words) for pair in two.pairs]
    for path, lines in (("n.de", sources), ("n.en", targets)):
        write(tmp_path, path, [f"<s snum=00{4 + k}> {line} </s>" for k, line in enumerate(lines)])
    tagged = load_bitext(tmp_path / "n.de", tmp_path / "n.en")
    assert [(pair.source, pair.words) for pair in tagged.pairs] == [(pair.source, pair.words) for pair in two.pairs]
    assert (two.first_number, tagged.first_number) == (1, 4)
    assert two.counts() == {"sentence_pairs": 3, "source_words": 7, "words": 7}
    assert [(file.words, file.sha256) for file in two.files] == [
        (7, hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()) for name in ("x.de", "x.en")
    ]


def test_a_limit_keeps_the_first_pairs_and_still_knows_how_many_there_are(tmp_path, bitext):
    path = Path(bitext.files[0].path)
    assert (len(load_bitext(path, limit=2)), load_bitext(path, limit=2).total) == (2, 3)
    with gzip.open(tmp_path / "pairs.gz", "wb") as file:
        file.write(path.read_bytes())
    assert [pair.words for pair in load_bitext(tmp_path / "pairs.gz").pairs] == [pair.words for pair in bitext.pairs]
    with pytest.raises(ValueError, match="limit must be at least 1"):
        load_bitext(path, limit=0)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a b c"], r"one:1: expected source and target with '\|\|\|' or a tab between them"),
        (["a ||| b", "a b"], r"one:2: expected source and target with '\|\|\|' between them, found 0 of it"),
        (["a\tb\tc"], r"one:1: expected source and target with a tab between them, found 2 of it"),
        (["a ||| b", " ||| b"], "one:2: the source sentence has no words"),
        (["a ||| b", "a ||| "], "one:2: the target sentence has no words"),
        ([], "one: the file contains no sentence pairs"),
        (["<s snum=1> a </s> ||| <s snum=2> b </s>"], "one:1: source and target have different sentence numbers"),
        (
            ["<s snum=1>a</s>|||<s snum=1>b</s>", "<s snum=3>a</s>|||<s snum=3>b</s>"],
            "one:2: expected the .* 2, found 3",
        ),
        (
            ["<s snum=1>a</s>|||<s snum=1>b</s>", "a ||| b"],
            r"one:2: expected the sentence number \(snum\) 2, found none",
        ),
    ],
)
def test_a_broken_bitext_is_refused_with_its_place(tmp_path, lines, message):
    with pytest.raises(CorpusError, match=message):
        load_bitext(write(tmp_path, "one", lines))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("a b", "a", "t: 1 lines, but SOURCE has 2; line k must translate line k"),
        ("a b", "a b", "t: this is the same file as SOURCE; give two different files"),
        ("a b -", "x y z", "s:3: the source sentence has no words"),
        ("a b", "x -", "t:2: the target sentence has no words"),
        # If the files do not belong together, or one cannot be read, any other fault is a consequence of that.
        ("a - b", "x y", "line k must translate line k"),
        ("a \xe9 b", "x - z", "s:2: the file is not UTF-8"),
        ("a - b", "x y \xe9", "t:3: the file is not UTF-8"),
    ],
)
def test_two_files_that_are_no_bitext_are_refused(tmp_path, source, target, message):
    for name, text in (("s", source), ("t", target)):
        lines = [line.replace("-", "") for line in text.split()]
        (tmp_path / name).write_bytes("".join(f"{line}\n" for line in lines).encode("latin-1"))
    assert message.replace("SOURCE", str(tmp_path / "s")) in error(load_bitext, tmp_path / "s", tmp_path / "t")


def test_other_numbers_on_one_side_and_absent_files_are_refused(tmp_path):
    source = write(tmp_path, "s", ["<s snum=1> a </s>"])
    message = error(load_bitext, source, write(tmp_path, "t", ["<s snum=2> a </s>"]))
    assert "t:1: source and target have different sentence numbers" in message
    for arguments in ((tmp_path / "absent",), (tmp_path / "absent", source), (source, tmp_path / "absent")):
        assert error(load_bitext, *arguments).endswith("absent: there is no such file")
    pairs = write(tmp_path, "pairs", ["a ||| b"])
    assert error(load_bitext, pairs, gold=tmp_path / "absent").endswith("absent: there is no such file")


def test_all_lines_are_checked_and_the_gold_links_need_a_sure_one(tmp_path):
    pairs, broken = write(tmp_path, "pairs", ["a ||| b"] * 2), write(tmp_path, "broken", ["a ||| b", "a b c"])
    assert "broken:2: expected source and target" in error(load_bitext, broken, limit=1)
    links = write(tmp_path, "links", ["0p0", ""])
    assert error(load_bitext, pairs, gold=links).endswith("links: the gold links have no sure link")
    assert load_bitext(pairs, hypotheses={"other": links}).pairs[0].hypotheses == (("other", frozenset({(0, 0)})),)
    (tmp_path / "links").write_bytes(b"0-0 0=0\n\xe9\n")
    assert "links:2: the file is not UTF-8" in error(load_bitext, pairs, gold=links), "which explains the other fault"
    far = write(tmp_path, "far", ["1 1 1 S", "999999999 1 1 S"])
    assert "999,999,999 sentence pairs of links for 2" in error(load_bitext, pairs, gold=far)


def test_links_of_both_formats_and_numberings_are_the_same(tmp_path, bitext):
    zero = load_links(write(tmp_path, "0", ["0-0 1-1 1p0 1-1", "0-0 2p1 3-2", ""]), bitext)
    one = load_links(write(tmp_path, "1", ["1-1 2-2 2p1 2-2", "1-1 3p2 4-3", ""]), bitext, one_based=True)
    rows = ["0001 1 1 S", "0001 2 2", "1 2 1 P 0.5", "1 2 2 S", "1 0 3 S", "2 1 1 S", "2 3 2 P", "2 4 3 S", "3 0 1 P"]
    naacl = load_links(write(tmp_path, "n", rows), bitext)
    assert zero.links == one.links == naacl.links
    assert [sorted(pair.sure) for pair in zero.links] == [[(0, 0), (1, 1)], [(0, 0), (3, 2)], []]
    assert [sorted(pair.possible - pair.sure) for pair in zero.links] == [[(1, 0)], [(2, 1)], []]
    assert zero.counts() == {"sure": 4, "possible": 6, "repeated": 1, "null_links": 0, "outside": 0}
    assert naacl.counts() == {"sure": 4, "possible": 6, "repeated": 1, "null_links": 2, "outside": 0}
    assert [(file.format, file.one_based) for file in (zero, one, naacl)] == [
        ("talp", False),
        ("talp", True),
        ("naacl", True),
    ]
    assert zero.sha256 == hashlib.sha256((tmp_path / "0").read_bytes()).hexdigest()


@pytest.mark.parametrize("score", ["0.87", "1", ".5", "-3.25", "1.", "1e-05", "+2E3"])
def test_a_score_after_a_link_has_no_effect(tmp_path, bitext, score):
    plain = load_links(write(tmp_path, "plain", ["0-0 1-1", "0-0 3p2", "0-0"]), bitext)
    scored = load_links(write(tmp_path, "scored", [f"0-0:{score} 1-1:{score}", f"0-0 3p2:{score}", "0-0:1"]), bitext)
    assert scored.links == plain.links
    naacl = [f"1 1 1 S {score}", f"1 2 2 {score}", f"2 1 1 S {score}", f"2 4 3 P {score}", "3 1 1"]
    assert load_links(write(tmp_path, "naacl", naacl), bitext).links == plain.links


@pytest.mark.parametrize("link", ["0-0:", "0-0:x", "0-0:0.8.7", "0-0:1e", "0-0:nan", "0-0:0,87", "0-0::1", "0:1-0"])
def test_a_score_that_is_no_number_is_refused_with_its_line(tmp_path, bitext, link):
    message = error(lambda: load_links(write(tmp_path, "links", ["0-0", link, ""]), bitext))
    assert message == (
        f"{tmp_path / 'links'}:2: expected links such as 3-4 (sure), 3p4 (possible) or 3-4:0.87, found {link!r}"
    )


def test_naacl_numbers_are_those_of_the_bitext(tmp_path):
    pairs = [f"<s snum={n}> a b </s> ||| <s snum={n}> c </s>" for n in (7, 8)]
    numbered = load_bitext(write(tmp_path, "numbered", pairs))
    links = load_links(write(tmp_path, "links", ["7 2 1 S", "8 1 1 P"]), numbered)
    assert [sorted(pair.possible) for pair in links.links] == [[(1, 0)], [(0, 0)]]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["0-0", "0-3", ""], {}, r"links:2: link 0-3 is outside its sentence pair of 4 source and 3 target words"),
        (["0-0", "4-0", ""], {}, "links:2: link 4-0 is outside"),
        (["0-2", "0-0", "1-1"], {}, "links:3: link 1-1 is outside .* counted from 0; lenient=True .--lenient. leaves"),
        (
            ["2-3", "4-3", "1-1"],
            {},
            r"links:1: link 2-3 is .*; all links fit if words are counted from 1: use one_based",
        ),
        (["1-1", "0-1", ""], {"one_based": True}, r"links:2: link 0-1 .*; all links fit if words are counted from 0"),
        (["2-1", "2-3", "0-0"], {}, "links:1: link 2-1 is .*; all links fit if source and target are swapped$"),
        (["3-2", "3-4", ""], {}, "; all links fit if source and target are swapped and words are counted from 1"),
        (["0-0", "0-0"], {}, "links: 2 lines of links for 3 sentence pairs; is the file truncated?"),
        (
            ["0-0", "0-0", "", "0-0"],
            {},
            "links: 4 lines of links for 3 sentence pairs; does it belong to another bitext?",
        ),
        (
            ["0-0", "0/0", ""],
            {},
            r"links:2: expected links such as 3-4 \(sure\), 3p4 \(possible\) or 3-4:0.87, found '0/0'",
        ),
        (["0-0", "-1-0", ""], {}, "links:2: expected links"),
        (["1 1 1 S", "2 1 1 S"], {}, "links: 2 sentence pairs of links for 3 sentence pairs; is the file truncated?"),
        (["1 1 1 S", "3 2 1 S"], {}, "links:2: link 2-1 is outside its sentence pair of 1 source and 1 target words"),
        (["2 1 1", "1 1 1"], {}, "links:2: expected the links of sentence pair 2 or a later one, found pair 1"),
        (["1 1 1 S", "3 1 one"], {}, "links:2: expected the numbers of pair"),
    ],
)
def test_links_that_do_not_fit_are_refused_with_their_place(tmp_path, bitext, lines, options, message):
    with pytest.raises(CorpusError, match=message):
        load_links(write(tmp_path, "links", lines), bitext, **options)


@pytest.mark.parametrize("last", ["", "  ", "\t"])
def test_a_blank_line_after_the_links_of_all_pairs_is_no_pair(tmp_path, bitext, last):
    links = load_links(write(tmp_path, "links", ["0-0", "", "0-0", last]), bitext)
    assert [sorted(pair.sure) for pair in links.links] == [[(0, 0)], [], [(0, 0)]]
    assert "2 lines of links for 3" in error(load_links, write(tmp_path, "short", ["0-0", last]), bitext)
    assert len(load_links(write(tmp_path, "links", ["0-0", "", last]), bitext).links) == 3


@pytest.mark.parametrize(
    ("lines", "one_based", "counts"),
    [
        (["0-0 2-0 0p9 1-1 0-0", "4-0 0-0", "7-7"], False, (3, 3, 1, 4)),
        (["1-1 3-1 1p10 2-2 1-1", "5-1 1-1 0-1", "8-8"], True, (3, 3, 1, 5)),
        (["1 1 1 S", "1 3 1 S", "1 0 1 S", "2 4 4 P", "3 1 1 P"], False, (1, 2, 0, 2)),
    ],
)
def test_lenient_leaves_out_links_outside_their_pair(tmp_path, bitext, lines, one_based, counts):
    path = write(tmp_path, "links", lines)
    assert "lenient=True (--lenient) leaves such links out" in error(load_links, path, bitext, one_based=one_based)
    links = load_links(path, bitext, one_based=one_based, lenient=True)
    assert tuple(links.counts()[name] for name in ("sure", "possible", "repeated", "outside")) == counts
    for pair, linked in zip(bitext.pairs, links.links, strict=True):
        assert all(0 <= s < len(pair.source) and 0 <= t < len(pair) for s, t in linked.possible)


def test_remarks_count_links_that_were_left_out_among_all_of_their_file():
    gold = LinkSource("gold", "g", "0", "pharaoh", False, sure=2, possible=1000, repeated=30, null_links=4, outside=5)
    whole = LinkSource("whole", "w", "0", "pharaoh", False, sure=2, possible=3, repeated=4, null_links=0, outside=0)
    few = LinkSource("few", "f", "0", "pharaoh", False, sure=1, possible=1, repeated=0, null_links=0, outside=1200)
    assert Bitext((), gold=gold, hypotheses=(whole, few)).remarks() == [
        "Links of gold (g) that are outside their sentence pairs, left out: 5 of 1,035.",
        "Links of few (f) that are outside their sentence pairs, left out: 1,200 of 1,201.",
    ]


def test_lenient_still_refuses_a_file_that_is_misread(tmp_path):
    pairs = load_bitext(write(tmp_path, "pairs", ["a b c ||| d e f g"] * 20))
    lines = ["1-1 3-4"] * 19 + ["1-1 9-9"]
    misread = error(load_links, write(tmp_path, "links", lines), pairs, lenient=True)
    assert "all but 1 links fit if words are counted from 1: use one_based=True (--one-based)" in misread
    assert load_links(tmp_path / "links", pairs, one_based=True, lenient=True).outside == 1
    swapped = error(load_links, write(tmp_path, "turned", ["0-0 3-2"] * 20), pairs, lenient=True)
    assert "all links fit if source and target are swapped" in swapped


def test_misnumbered_links_that_happen_to_fit_are_noticed(tmp_path):
    pairs = load_bitext(write(tmp_path, "pairs", ["a b c ||| d e f"] * 20))
    shifted = write(tmp_path, "links", ["1-1 2-2"] * 20)
    assert "no link is of a first word, and all links fit if words are counted from 1" in error(
        load_links, shifted, pairs
    )
    assert load_links(shifted, pairs, one_based=True).links[0].sure == {(0, 0), (1, 1)}
    assert len(load_links(write(tmp_path, "other", ["0-1", *["1-1 2-2"] * 19]), pairs).links) == 20


def test_written_links_are_read_again(tmp_path, bitext):
    links = [{(1, 2), (0, 0)}, set(), {(0, 0)}]
    write_links(tmp_path / "written", links)
    assert (tmp_path / "written").read_text() == "0-0 1-2\n\n0-0\n"
    assert [pair.sure for pair in load_links(tmp_path / "written", bitext).links] == links


def test_scores_are_those_of_the_definition():
    counts = LinkCounts(links=5, sure=4, hits_sure=2, hits_possible=3)
    assert (counts.error_rate, counts.precision, counts.recall) == (1 - 5 / 9, 3 / 5, 2 / 4)
    assert counts.f1 == pytest.approx(2 * 0.6 * 0.5 / 1.1)
    assert LinkCounts(3, 0, 0, 3).error_rate == 0
    assert LinkCounts(0, 4, 0, 0).error_rate == 1
    assert LinkCounts().error_rate != LinkCounts().error_rate  # NaN


def test_published_scores(data_file):
    """The scores of GIZA++ and fast_align (https://github.com/lilt/alignment-scripts): 21.4 % and 27.0 %."""
    pairs = load_bitext(data_file("align/deen.test.de"), data_file("align/deen.test.en"))
    gold = load_links(data_file("align/deen.alignment.talp"), pairs, one_based=True)
    for name, published in (("giza", "21.41 94.26 67.21"), ("fastalign", "27.02 84.54 64.06")):
        hypothesis = load_links(data_file(f"align/deen.{name}.gd.talp"), pairs)
        counts = score_links([pair.possible for pair in hypothesis.links], gold.links)
        scores = (counts.error_rate, counts.precision, counts.recall)
        assert " ".join(f"{100 * score:.2f}" for score in scores) == published


GOLD = ["1-1 2p2", "1-1 2-2 3-3", "1-1"]
NAACL = ["1 1 1 S", "1 2 2 P", "2 1 1 S", "2 2 2 S", "2 3 3 S", "3 1 1 S"]


@pytest.mark.parametrize(("gold", "one_based"), [(GOLD, True), (NAACL, False)])
def test_files_of_links_are_scored_without_the_sentences(tmp_path, gold, one_based):
    paths = {
        "all": write(tmp_path, "all", ["0-0 1-1", "0-0 1-1 2-2", "0-0", ""]),  # the last line is no pair
        "some": write(tmp_path, "some", ["0-0 0-1", "", "0-0"]),
    }
    of_gold, files = load_link_files(write(tmp_path, "gold", gold), paths, one_based=one_based)
    scores = score_files(of_gold, files, replicates=200)
    every, some = scores.table.to_dict("records")
    assert (scores.pairs, every["name"], some["name"]) == (3, "all", "some")
    # |A| = 6, |S| = 5, |A ∩ S| = 5, |A ∩ P| = 6; and 3, 5, 2, 2.
    assert [every["error_rate"], some["error_rate"], some["difference"]] == pytest.approx([0, 1 - 4 / 8, 1 - 4 / 8])
    assert [some["precision"], some["recall"]] == pytest.approx([2 / 3, 2 / 5])
    assert 0 <= some["difference_low"] <= 0.5 <= some["difference_high"]
    [finding] = scores_section(scores).findings
    assert (
        finding.text == "0.0 % is the error rate of all, on 3 sentence pairs."
    )  # the interval of the difference has 0


def test_files_of_links_that_do_not_fit_together_are_refused(tmp_path):
    gold = write(tmp_path, "gold", GOLD)
    short, zero = write(tmp_path, "short", ["0-0"]), write(tmp_path, "zero", ["1-1"] * 20)
    assert "short: 1 lines of links for 3 sentence pairs" in error(load_link_files, gold, {"x": short}, one_based=True)
    assert "use one_based=True" in error(load_link_files, zero, {"x": zero})
    possible = write(tmp_path, "possible", ["0p0"])
    assert "no sure link" in error(load_link_files, possible, {"x": possible})
