"""Treebanks of one or several files, and the sample, which is read here line by line and by hand."""

import bz2
import gzip
import hashlib
import lzma

import numpy as np
import pytest

from attentionology.corpora_loaders import CorpusError, Sentence, load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.scripts.cli import main
from tests.corpora import sample_blocks, word, zip_files


def sentence(*words, name=None, comments=()):
    """CoNLL-U text; each word is ``form head relation``."""
    lines = [f"# sent_id = {name}\n"] if name else []
    lines += [f"# {comment}\n" for comment in comments]
    lines += [word(number, *cells.split()) for number, cells in enumerate(words, start=1)]
    return "".join([*lines, "\n"])


CATS = sentence("cats 2 nsubj", "sleep 0 root", name="cats")
DOGS = sentence("dogs 2 nsubj", "bark 0 root", "loudly 2 advmod", name="dogs")


def test_counts(write):
    content = (
        "# newdoc id = d1\n"
        + CATS
        + "# newdoc id = d2\n"
        + sentence("so _ _", "no 0 root", "yes 0 root", name="cats")
        + DOGS.replace("1\tdogs", "1-2\td'b\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdogs").replace(
            "3\t", "2.1\te\t_\t_\t_\t_\t_\t_\t2:dep\t_\n2.2\te\t_\t_\t_\t_\t_\t_\t2:dep\t_\n3\t"
        )
    )
    assert load_treebank(write(content)).counts() == {
        "sentences": 3,
        "words": 8,
        "multiword_tokens": 1,
        "empty_nodes": 2,
        "words_without_head": 1,
        "words_without_relation": 0,
        "sentences_without_single_root": 1,
        "sentences_with_several_roots": 1,
        "documents": 2,
        "relations": 3,
        "renamed_sentence_ids": 1,
    }


def test_several_roots_and_missing_relations_are_remarked(write):
    usual = load_treebank(write(CATS + sentence("so _ _", "yes 0 root")))
    assert usual.remarks() == ["Empty nodes, not part of the text: 0."]
    several = sentence("so 3 _", "then 0 root", "yes 0 root", "no 3 _", "well _ _")
    unusual = load_treebank(write(CATS + several + sentence("without _ _", "trees _ _") + DOGS))
    counts = unusual.counts()
    assert (counts["words_without_relation"], counts["sentences_with_several_roots"]) == (2, 1)
    assert counts["sentences_without_single_root"] == 2  # one of them has none, which is not remarked
    assert unusual.remarks()[1:] == [
        "Words with a head whose relation is _, counted as a relation of this name: 2.",
        "Sentences with several roots: 1.",
    ]


def test_files_are_checked(write, tmp_path, capsys):
    good, bad = write(CATS + sentence("so 0 root", "yes 0 root")), tmp_path / "bad.conllu"
    bad.write_text(DOGS + sentence("a 5 dep", "b 2 dep"))
    assert main(["treebanks", "--check", str(good)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  Empty nodes, not part of the text: 0.",
        "  Sentences with several roots: 1.",
    ]
    assert main(["treebanks", "--check", str(bad), str(good), str(tmp_path / "none")]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("Treebank(2 sentences")
    line = len(DOGS.splitlines()) + 1
    places = [text.removeprefix(f"attentionology: {tmp_path}/").split(": ")[0] for text in shown.err.splitlines()]
    assert places == [f"bad.conllu:{line}", f"bad.conllu:{line + 1}", "none"]
    assert main(["treebanks", "French", "--check", str(good)]) == 2


def test_relations_of_words_with_a_head_are_counted_most_frequent_first_and_then_by_name(write):
    bank = load_treebank(write(sentence("a 2 z", "b 0 root", "c 2 a", "d 2 a", "e 2 c", "f _ det", "g _ _") + CATS))
    assert list(bank.relations.items()) == [("a", 2), ("root", 2), ("c", 1), ("nsubj", 1), ("z", 1)]


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())], ids=["plain", "gzip"])
def test_sha256_is_that_of_the_bytes_on_disk(write, pack):
    path = write(pack(CATS))
    [file] = load_treebank(path, limit=1).files
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_document_ends_with_its_file(write):
    paths = [write("# newdoc id = d\n" + CATS, "1.conllu"), write(DOGS, "2.conllu")]
    assert [s.document for s in load_treebank(paths)] == ["d", None]


@pytest.mark.parametrize(
    ("limit", "ids", "sizes"),
    [
        (1, ["cats"], [1]),
        (2, ["cats", "dogs"], [2]),
        (3, ["cats", "dogs", "b.conllu:1"], [2, 1]),
        (99, ["cats", "dogs", "b.conllu:1", "b.conllu:2"], [2, 2]),
    ],
)
def test_limit_counts_across_files(write, limit, ids, sizes):
    paths = [write(CATS + DOGS, "z.conllu"), write(sentence("Yes 0 root") * 2, "b.conllu")]
    bank = load_treebank(iter(map(str, paths)), limit=limit)
    assert [s.id for s in bank] == ids
    words = [5 if sizes[0] == 2 else 2, *sizes[1:]]
    read = zip(map(str, paths), sizes, words, strict=False)
    assert [(f.path, f.sentences, f.words) for f in bank.files] == list(read)


def test_nothing_beyond_the_limit_is_read(write):
    path = write(CATS + "broken\n")
    assert len(load_treebank([path, path.with_name("missing")], limit=1)) == 1


def test_repeated_sentence_ids_are_renamed_and_counted(write):
    bank = load_treebank([write(CATS + DOGS + CATS, "a.conllu"), write(CATS, "b.conllu")])
    assert [s.id for s in bank] == ["cats", "dogs", "cats#2", "cats#3"]
    assert bank.renamed == 2


def test_files_of_the_same_name_are_told_apart(write):
    unnamed = sentence("Yes 0 root")
    bank = load_treebank([write("# newdoc\n" + unnamed + "\n" * k, f"{k}/a.conllu") for k in range(2)])
    assert [s.id for s in bank] == ["a.conllu:1", "a.conllu:1#2"]
    assert bank.counts()["documents"] == 2


def test_the_same_file_twice_is_refused(write):
    with pytest.raises(CorpusError, match=r"the same file as .*a.conllu; its content would count twice") as caught:
        load_treebank([write(CATS, "a.conllu"), write(CATS, "b.conllu")])
    assert str(caught.value.file).endswith("b.conllu")


def test_origin_holds_the_comments_on_license_and_source_of_the_first_sentence(write):
    comments = ["License = CC0", "source_url = x", "meta::licence = BY", "genre = news", "source ="]
    later = sentence("No 0 root", comments=["source = y"])
    [file] = load_treebank(write(sentence("Yes 0 root", comments=comments) + later)).files
    assert file.origin == {"License": "CC0", "source_url": "x", "meta::licence": "BY"}


def test_surface_tokens_replace_syntactic_words_on_request(write):
    path = write(CATS.replace("1\tcats", "1-2\tcatsleep\t_\t_\t_\t_\t_\t_\t_\t_\n1\tcats") + DOGS)
    syntactic, surface = load_treebank(path), load_treebank(path, tokens="surface")
    assert [s.words[0] for s in syntactic] == ["cats", "dogs"]
    assert [s.words for s in surface] == [("catsleep",), ("dogs", "bark", "loudly")]
    assert (syntactic.files[0].words, surface.files[0].words) == (5, 4)
    assert dict(surface.relations) == {"root": 2, "nsubj": 1, "advmod": 1}


def test_a_treebank_released_without_its_words_is_refused(write):
    path = write(sentence("_ 2 nsubj", "_ 0 root") * 2)
    with pytest.raises(CorpusError, match="without its words") as caught:
        load_treebank(path)
    assert caught.value.file == path


def test_a_lone_underscore_among_words_is_a_word(write):
    assert load_treebank(write(sentence("_ 0 root") + CATS))[0].words == ("_",)


@pytest.mark.parametrize("content", ["", "\n\n", "# newdoc id = d\n\n"], ids=["nothing", "blank", "comment"])
def test_a_file_without_sentence_is_refused(write, content):
    path = write(content, "empty.conllu")
    with pytest.raises(CorpusError, match="no sentence") as caught:
        load_treebank([write(CATS), path])
    assert caught.value.file == path


@pytest.mark.parametrize(
    ("options", "message"), [({"limit": 0}, "limit"), ({"tokens": "words"}, "tokens"), ({"paths": []}, "no file")]
)
def test_impossible_requests_are_refused(write, options, message):
    with pytest.raises(ValueError, match=message):
        load_treebank(**{"paths": write(CATS), **options})


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"heads": (2, 7, 0)}, CorpusError, "^a.conllu:4: sentence 's': the head of word 2 'b' is 7, outside 0 … 3$"),
        ({"heads": (2, -1, 0)}, CorpusError, "the head of word 2 'b' is -1, outside 0 … 3$"),
        ({"heads": (0, 2, 1)}, CorpusError, "word 2 'b' is its own head$"),
        ({"heads": (2, 0)}, CorpusError, "there are 3 words but 2 heads$"),
        ({"heads": ("2", "0", "2")}, TypeError, "the head of word 1 'a' is '2', not a whole number or None$"),
        ({"heads": (2, 0, 2.0)}, TypeError, "the head of word 3 'c' is 2.0, not a whole number or None$"),
        ({"heads": (2, 0, True)}, TypeError, "the head of word 3 'c' is True, not a whole number or None$"),
        ({"heads": "202"}, TypeError, "expected one value per word as heads, not the string '202'$"),
        ({"relations": "abc"}, TypeError, "expected one value per word as relations, not the string 'abc'$"),
        ({"words": "abc"}, TypeError, "expected words, not the string 'abc'; Sentence.from_text splits a text$"),
        ({"words": ("a", 5, "c")}, TypeError, "word 2 of sentence 's' is 5, not a string$"),
    ],
)
def test_a_sentence_refuses_what_is_no_tree_of_words(fields, error, message):
    with pytest.raises(error, match=message):
        Sentence(**{"id": "s", "words": ("a", "b", "c"), "file": "a.conllu", "line": 4, **fields})


@pytest.mark.parametrize("heads", [(), (None, 1, 2), (0, 0, 0), tuple(np.array([3, 3, 0]))])
def test_a_sentence_may_have_any_forest_or_no_tree(heads):
    assert Sentence("s", ("a", "b", "c"), heads=heads).heads == heads


@pytest.fixture(scope="module")
def sample():
    return load_treebank(SAMPLE_TREEBANK)


@pytest.fixture(scope="module")
def blocks():
    """The rows of each sentence, as lists of ten columns, range lines included."""
    return [[line.split("\t") for line in block.splitlines() if not line.startswith("#")] for block in sample_blocks()]


def test_the_readme_gives_its_size(sample):
    counts = sample.counts()
    readme = " ".join(SAMPLE_TREEBANK.with_name("README.md").read_text(encoding="utf-8").split())
    assert f"{counts['sentences']} English sentences in ten short connected documents" in readme
    assert f"{counts['words']:,} words" in readme
    assert f"{counts['multiword_tokens']} multiword tokens" in readme
    assert f"sentences of {min(map(len, sample))} to {max(map(len, sample))} words" in readme
    assert (counts["sentences"], counts["words"], counts["multiword_tokens"]) == (157, 2809, 34)
    assert (min(map(len, sample)), max(map(len, sample)), counts["documents"]) == (3, 49, 10)


def test_all_rows_are_read(sample, blocks):
    assert [list(sentence.words) for sentence in sample] == [
        [row[1] for row in rows if row[0].isdigit()] for rows in blocks
    ]
    assert sample.counts()["multiword_tokens"] == sum("-" in row[0] for rows in blocks for row in rows)


def test_text_is_what_the_tokens_spell(sample, blocks):
    for sentence, rows in zip(sample, blocks, strict=True):
        text, covered = "", 0
        for number, form, *_, misc in rows:
            if "-" in number:
                covered = int(number.split("-")[1])
            elif int(number) <= covered:
                continue
            text += form + ("" if "SpaceAfter=No" in misc.split("|") else " ")
        assert text.rstrip() == sentence.text


BROKEN = sentence("a 0 root", "b 9 dep")


def test_sentences_with_mistakes_are_left_out_counted_and_listed(write):
    path = write(CATS + BROKEN + "# sent_id = lost\n\n" + DOGS + BROKEN.replace("9", "x\t").strip() + "\n\n")
    with pytest.raises(CorpusError, match="outside 0 … 2"):
        load_treebank(path)
    bank = load_treebank(path, lenient=True)
    assert [each.id for each in bank] == ["cats", "dogs"]
    lines = path.read_text().splitlines()
    found = [(each.id, each.file, each.line, each.reason) for each in bank.left_out]
    assert found == [
        (f"{path.name}:2", str(path), len(CATS.splitlines()) + 2, "the head of word 2 is 9, which is outside 0 … 2; "
         f"the blank line {len((CATS + BROKEN).splitlines())} ended the sentence"),
        ("lost", str(path), lines.index("# sent_id = lost") + 1, "the sentence has comments but no words; the blank "
         f"line {lines.index('# sent_id = lost') + 2} ended it; is the file complete?"),
        (f"{path.name}:4", str(path), len(lines) - 1, "expected 10 tab-separated columns, found 11"),
    ]  # fmt: skip
    assert bank.counts()["left_out_sentences"] == 3
    assert bank.counts()["sentences"] == bank.files[0].sentences == 2
    listed = bank.remarks()[-1]
    assert listed.startswith(f"Sentences with mistakes, left out: 3 ({path}:{found[0][2]}: the head of word 2")
    assert "left_out_sentences" not in load_treebank(write(CATS), lenient=True).counts()


def test_a_file_of_mistakes_alone_is_refused_even_so(write):
    paths = [write(CATS + BROKEN, "good.conllu"), write(BROKEN * 3, "bad.conllu")]
    with pytest.raises(CorpusError) as caught:
        load_treebank(paths, lenient=True)
    assert [mistake.split(": ")[0] for mistake in caught.value.mistakes] == [f"{paths[1]}:{n}" for n in (2, 5, 8)]


def test_what_is_no_mistake_of_a_sentence_is_an_error_even_so(write):
    with pytest.raises(CorpusError, match="not UTF-8"):
        load_treebank(write(CATS.encode() + b"\xff\n"), lenient=True)


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, lambda text: zip_files(("a", text.decode()))]
)
def test_a_compressed_copy_is_the_same_file(write, pack):
    """Its bytes are others, but its content would count twice."""
    plain, packed = write(CATS, "a.conllu"), write(pack(CATS.encode()), "b.conllu")
    with pytest.raises(CorpusError, match=r"b\.conllu: this is the same file as .*a\.conllu") as caught:
        load_treebank([plain, packed])
    assert caught.value.file == packed
    assert len(load_treebank([plain, write(pack(DOGS.encode()), "c.conllu")])) == 2
