"""Treebanks, texts and bitexts that stay in their files: the same results as from memory, in bounded memory."""

import gzip
import os
import tempfile
import tracemalloc
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attentionology
from attentionology.analyses.contract import OptionGroup
from attentionology.analyses.shared.input_options import LimitOptions
from attentionology.analyses.surface.options import SurfaceOptions
from attentionology.corpora_loaders import CorpusError, PlainText, load_text, load_treebank, stream
from attentionology.corpora_loaders.alignment import Bitext, add_links, load_bitext, load_links, loading
from attentionology.corpora_loaders.unique_names import Names
from attentionology.engine.counting.parts import content_of_inputs, parts_of
from attentionology.engine.counting.passes import Limits, plan_passes, run_passes
from attentionology.extractors import make_segments
from tests import tiny
from tests.corpora import assert_same
from tests.unit.test_engine import request
from tests.unit.test_streamed_treebank import in_files, sentence


@pytest.fixture(scope="module")
def encoder():
    return tiny.encoder(max_position_embeddings=200)


@pytest.fixture
def path(tmp_path):
    written = tmp_path / "a.conllu"
    written.write_text("".join(sentence(2 + k % 5, "same", head="_" if k % 3 else None) for k in range(20)))
    return written


@pytest.mark.parametrize("max_length", [None, 12], ids=["nothing skipped", "some skipped"])
def test_a_run_has_the_results_of_a_loaded_treebank(encoder, path, max_length):
    options: list[OptionGroup] = [LimitOptions(max_length=max_length), SurfaceOptions(gradients="none")]
    with in_files(4):
        lazy = attentionology.analyze(encoder, path, analyses=("dependency", "surface"), options=options)
    loaded = attentionology.analyze(encoder, load_treebank(path), analyses=("dependency", "surface"), options=options)
    assert lazy.record["corpus"] == loaded.record["corpus"]
    assert lazy.record["sentences"] == loaded.record["sentences"]
    assert bool(lazy.record["sentences"]["skipped"]) == (max_length is not None)
    assert 0 < lazy.record["sentences"]["words_without_head"] <= 13
    pd.testing.assert_frame_equal(lazy["dependency"].best, loaded["dependency"].best)


def test_skipped_inputs_are_kept_without_their_words(encoder, path):
    counts = run_passes(plan_passes([request("a", load_treebank(path))]), encoder, limits=Limits(max_length=12))
    [log] = counts.logs.values()
    first = log.skipped[0].sentence
    assert (first.words, first.heads, first.relations) == ((), (), ())
    assert (first.id, first.line, first.file) in {(read.id, read.line, read.file) for read in load_treebank(path)}


def peak(path) -> int:
    """The peak of the memory that indexing and two passes allocate, in bytes."""
    tracemalloc.start()
    treebank = load_treebank(path)
    for _ in range(2):
        words = sum(map(len, treebank))
    assert words == treebank.counts()["words"]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.slow
def test_memory_does_not_grow_with_the_treebank(tmp_path):
    text = [sentence(5, f"s{k}", form=f"w{k}") for k in range(4000)]
    short, long = tmp_path / "short.conllu", tmp_path / "long.conllu"
    short.write_text("".join(text[:1000]))
    long.write_text("".join(text))
    with in_files(64), patch.object(Names, "MOST_NEW", 512):
        peak(short)  # what is allocated only once
        assert peak(long) - peak(short) < 3000 * 150, "bytes; a loaded sentence would take about 1,800"


def check_same(paths, limit=None):
    """Compare a text in its files with one in memory."""
    with patch.object(stream, "HELD", 10**9):
        held = load_text(paths, limit=limit)
    lazy = load_text(paths, limit=limit)
    made = PlainText(tuple(held), held.files)
    assert_same(lazy, made)
    assert lazy.documents() == made.documents() == list(lazy.each_document()) == list(made.each_document())
    assert lazy == held


LINES = st.lists(st.sampled_from(["one", "two  three", "", " ", "caf\u00e9 \u2028 x", "a\tb\r"]), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=3), st.integers(1, 4), st.none() | st.integers(1, 9))
def test_everything_is_the_same(contents, size, limit):
    with tempfile.TemporaryDirectory() as folder, in_files(size):
        paths = [Path(folder, f"{number}.txt") for number in range(len(contents))]
        for number, (path, lines) in enumerate(zip(paths, contents, strict=True)):
            content = "\n".join([*lines, str(number)]).encode()  # so that no two files are the same
            path.write_bytes(gzip.compress(content) if number == 1 else content)
        check_same(paths, limit)


@pytest.mark.parametrize("count", [None, 3])
def test_segments_are_those_of_a_loaded_text(count, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("the man saw the dog\nthe dog saw\n\nthe man and the garden\n\nthe end of the day\n" * 3)
    encoder = tiny.encoder()
    loaded = make_segments(encoder, load_text(path), count, max_length=8)
    with in_files(2):
        lazy = make_segments(encoder, load_text(path), count, max_length=8)
    assert lazy == loaded
    assert lazy.text_documents == 7


def load(source, target=None, *, gold=None, one_based=False, hypotheses=None, limit=None, lenient=False):
    """The same as `load_bitext`, with everything in memory."""
    read = load_bitext(source, target, limit=limit)
    held = Bitext(tuple(read.pairs), read.files, total=read.total, first_number=read.first_number)
    links = None if gold is None else load_links(gold, held, one_based=one_based, lenient=lenient)
    others = {name: load_links(path, held, lenient=lenient) for name, path in (hypotheses or {}).items()}
    return add_links(held, links, others)


def error_of(read, *arguments, **options):
    """The error of a loader with its location; None if there is none."""
    try:
        read(*arguments, **options)
    except CorpusError as error:
        return str(error), str(error.file), error.line
    return None


def check_pairs(*files, **options):
    """Compare a lazily read bitext with a loaded one, unless both have one error."""
    expected = error_of(load, *files, **options)
    assert error_of(load_bitext, *files, **options) == expected
    if expected is not None:
        return None
    loaded, lazy = load(*files, **options), load_bitext(*files, **options)
    assert_same(lazy, loaded)
    assert (lazy.gold, lazy.hypotheses) == (loaded.gold, loaded.hypotheses)
    assert (lazy.total, lazy.first_number) == (loaded.total, loaded.first_number)
    return lazy


def write(folder, name, lines):
    path = Path(folder, name)
    content = "".join(f"{line}\n" for line in lines).encode("latin-1")
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


WORDS = st.lists(st.sampled_from(["a", "bb", "c,"]), min_size=1, max_size=3)
FORMS = ["two files", "|||", "\t"]


@st.composite
def bitexts(draw):
    """The lines of both sides, and for each of two files of links what pair k is linked by."""
    pairs = draw(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=9))

    def links(source, target):
        one = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1), st.booleans())
        return st.lists(one, max_size=4)

    linked = [[draw(links(*pair)) for pair in pairs] for _ in range(2)]
    linked[0][0].append((0, 0, True))  # gold links need a sure link
    linked[0][-1].append((0, 0, True))  # and a naacl file must mention the last pair
    return pairs, linked


def talp(links, base=0):
    return [" ".join(f"{s + base}{'-' if sure else 'p'}{t + base}" for s, t, sure in pair) for pair in links]


def naacl(links, first=1):
    return [
        f"{first + number} {s + 1} {t + 1} {'S' if sure else 'P'}"
        for number, pair in enumerate(links)
        for s, t, sure in pair
    ]


@settings(max_examples=40, deadline=None)
@given(
    bitexts(),
    st.sampled_from(FORMS),
    st.sampled_from(["", ".gz"]),
    st.sampled_from(["talp", "talp from 1", "naacl"]),
    st.sampled_from([None, 1, 7]),
    st.integers(1, 4),
    st.none() | st.integers(1, 9),
)
def test_pairs_and_links_are_the_same(bitext, form, suffix, numbering, snum, size, limit):
    pairs, (gold, other) = bitext
    sides = [[" ".join(pair[side]) for pair in pairs] for side in range(2)]
    if snum is not None:
        sides = [[f"<s snum={snum + k}> {line} </s>" for k, line in enumerate(side)] for side in sides]
    with tempfile.TemporaryDirectory() as folder, in_files(size):
        if form == "two files":
            files = [write(folder, f"s{suffix}", sides[0]), write(folder, f"t{suffix}", sides[1] + ["x"])]
            assert "line k must translate line k" in error_of(load_bitext, *files)[0]
            assert check_pairs(*files) is None
            write(folder, f"t{suffix}", sides[1])
        else:
            files = [write(folder, f"both{suffix}", map(form.join, zip(*sides, strict=True)))]
        if len(files) == 2 and sides[0] == sides[1]:
            assert check_pairs(*files) is None
            return
        lines = {"talp": talp(gold), "talp from 1": talp(gold, 1), "naacl": naacl(gold, snum or 1)}[numbering]
        options = {"one_based": numbering == "talp from 1", "limit": limit}
        gold_file, other_file = write(folder, f"gold{suffix}", lines), write(folder, "other", talp(other))
        lazy = check_pairs(*files, gold=gold_file, hypotheses={"other": other_file}, **options)
        check_pairs(*files, limit=limit)
        if lazy is not None:
            shorter = write(folder, "shorter", ["a ||| b" for _ in pairs])  # so most links are outside their pairs
            options = {"gold": gold_file, "hypotheses": {"other": other_file}, "lenient": True, **options}
            if snum is None:
                check_pairs(shorter, **options)


PAIRS = ["a b ||| x y z", "c ||| z", "d e f ||| u", "g ||| v"]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_same_links_are_left_out(tmp_path, size):
    gold, other = write(tmp_path, "gold", ["0-0 2p0", "", "0-1 0-0", "0-0", ""]), ["", "0-0 1-1", "", "0-0"]
    options = {"gold": gold, "hypotheses": {"other": write(tmp_path, "other", other)}, "lenient": True}
    with in_files(size):
        lazy = check_pairs(write(tmp_path, "pairs", PAIRS), **options)
    assert lazy is not None
    assert [sorted(pair.gold.possible) for pair in lazy] == [[(0, 0)], [], [(0, 0)], [(0, 0)]]
    assert [sorted(pair.hypotheses[0][1]) for pair in lazy] == [[], [(0, 0)], [], [(0, 0)]]
    assert lazy.remarks() == [
        f"Links of {name} ({tmp_path / name}) that are outside their sentence pairs, left out: {counts}."
        for name, counts in (("gold", "2 of 5"), ("other", "1 of 3"))
    ]


@pytest.mark.parametrize("name", ["s", "t", "gold", "other"])
@pytest.mark.parametrize("change", ["content", "time"])
def test_a_file_that_was_changed_is_refused_by_its_name(tmp_path, name, change):
    files = write(tmp_path, "s", ["a", "b", "c"]), write(tmp_path, "t", ["x", "y", "z"])
    gold, other = write(tmp_path, "gold", ["0-0"] * 3), write(tmp_path, "other", ["0-0"] * 3)
    with in_files(2):
        read = load_bitext(*files, gold=gold, hypotheses={"other": other})
        assert len(list(read)) == 3
        if change == "content":
            write(tmp_path, name, ["broken broken broken", ""])
        else:
            os.utime(tmp_path / name, ns=(1, 1))
        with pytest.raises(CorpusError, match=rf"{name}: the file has changed since it was read first"):
            list(read)


def test_equality_and_parts_are_decided_without_reading(tmp_path):
    pairs, gold = write(tmp_path, "pairs", PAIRS * 3), write(tmp_path, "gold", ["0-0"] * 12)
    with in_files(2), patch("attentionology.engine.counting.parts.WINDOW", 5):
        first, second = (load_bitext(pairs, gold=gold) for _ in range(2))
        with patch.object(loading.PairSource, "__call__", side_effect=AssertionError):
            passes = plan_passes([request("a", first), request("b", second)])
            parts = parts_of(passes)
        assert [(part.start, part.stop) for part in parts] == [(0, 5), (5, 10), (10, 12)]
        loaded = load(pairs, gold=gold)
        for part in parts:
            assert list(part.run.inputs) == list(loaded.sentences[part.start : part.stop])
            of_loaded = content_of_inputs(loaded.sentences[part.start : part.stop])
            assert content_of_inputs(part.run.inputs) == of_loaded, "the key of the part"


def test_real_links_are_the_same(data_file):
    files, gold = (
        [data_file(f"align/deen.test.{side}") for side in ("de", "en")],
        data_file("align/deen.alignment.talp"),
    )
    hypotheses = {name: data_file(f"align/deen.{name}.gd.talp") for name in ("giza", "fastalign")}
    with in_files(100):
        assert check_pairs(*files, gold=gold, one_based=True, hypotheses=hypotheses, limit=150) is not None
