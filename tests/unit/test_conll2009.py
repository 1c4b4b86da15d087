"""CoNLL-2009: the columns of annotators are read, and mistakes are told as those of CoNLL-U."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from attentionology.corpora_loaders import CorpusError, load_treebank, stream
from attentionology.corpora_loaders.conll2009 import read_conll2009
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.formats import detect_format
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.scripts.cli import main
from tests import tiny

# ID FORM LEMMA PLEMMA POS PPOS FEAT PFEAT HEAD PHEAD DEPREL PDEPREL FILLPRED PRED APRED…
TREES = """\
1 Marta Marta marta NNP NN gend=f _ 2 3 SBJ OBJ _ _ A0 _
2 mended mend mended VBD VBN tense=past _ 0 0 ROOT ROOT Y mend.01 _ _
3 old old ol JJ NN _ _ 4 2 NMOD SBJ _ _ _ A1
4 bicycles bicycle bicycles NNS NNS num=pl _ 2 2 OBJ NMOD Y bicycle.01 A1 _
5 . . . . . _ _ 2 4 P P _ _ _ _

1 Nobody nobody nobody NN NNP _ _ 2 0 SBJ ROOT _ _
2 waited wait wait VBD VBD _ _ 0 1 ROOT OBJ _ _

1 Tonight tonight tonight NN NN _ _ _ 0 _ ROOT _ _
2 rained rain rain VBD VBD _ _ 0 0 ROOT ROOT Y rain.01
""".replace(" ", "\t")


def trees_with(old: str, new: str) -> str:
    """The example with cells of one row replaced, which spaces separate here."""
    old, new = old.replace(" ", "\t"), new.replace(" ", "\t")
    assert TREES.count(old) == 1
    return TREES.replace(old, new)


def test_the_columns_of_annotators_are_read(write):
    path = write(TREES, "trees.txt")
    assert detect_format(path) == "conll2009"
    first, second, third = read_conll2009(path)
    assert first.id == "trees.txt:1"
    assert first.words == ("Marta", "mended", "old", "bicycles", ".")
    assert first.lemmas == ("Marta", "mend", "old", "bicycle", ".")
    assert first.tags == first.xpos == ("NNP", "VBD", "JJ", "NNS", ".")
    assert first.feats == ("gend=f", "tense=past", "_", "num=pl", "_")
    assert first.heads == (2, 0, 4, 2, 2)
    assert first.relations == ("SBJ", "ROOT", "NMOD", "OBJ", "P")
    assert (first.line, first.lines, first.file) == (1, (1, 2, 3, 4, 5), str(path))
    assert second.heads == (2, 0)
    assert (third.heads, third.relations, third.line) == ((None, 0), ("_", "ROOT"), 10)


def in_conll2009(conllu: str) -> str:
    """The trees of CoNLL-U in the columns of CoNLL-2009, with predictions that are all wrong, and an argument."""
    rows = []
    for line in conllu.splitlines():
        cells = line.split("\t")
        if len(cells) == 1:
            rows += [line] * (not line.startswith("#"))
        elif cells[0].isdecimal():
            number, form, lemma, tag, _, feats, head, relation, *_ = cells
            wrong = "1" if head != "1" else "0"
            rows.append(
                "\t".join([number, form, lemma, "?", tag, "?", feats, "?", head, wrong, relation, "?", "_", "_", "A"])
            )
    return "\n".join(rows) + "\n"


def test_the_same_trees_in_both_formats_are_equal(write):
    path = write(in_conll2009(SAMPLE_TREEBANK.read_text(encoding="utf-8")))
    sample, trees = load_treebank("sample"), load_treebank(path)
    assert len(trees) == len(sample)
    for one, other in zip(sample, trees, strict=True):
        for name in ("words", "lemmas", "tags", "feats", "heads", "relations"):
            assert getattr(one, name) == getattr(other, name)


def test_an_analysis_has_the_numbers_of_the_same_trees_in_conllu(write, tmp_path):
    trees = write(in_conll2009(SAMPLE_TREEBANK.read_text(encoding="utf-8")))
    model = tiny.save(tmp_path / "model", max_position_embeddings=200)
    tables = []
    for number, corpus in enumerate((str(trees), "sample")):
        out = tmp_path / f"run{number}"
        options = ["--analyses", "dependency", "--limit", "8", "--replicates", "0", "--out", str(out)]
        assert main(["analyze", "--model", model, "--corpus", corpus, *options]) == 0
        tables.append(pd.read_csv(out / "tables" / "dependency.csv"))
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            trees_with("OBJ NMOD Y bicycle.01 A1 _", "OBJ NMOD Y bicycle.01 A1"),
            ":4: .*found 15; the first row .* has 16",
        ),
        (trees_with("P P _ _ _ _", "P P _"), ":5: .*expected at least 14 tab-separated columns, found 13"),
        (trees_with("1 Nobody", "1-2 Nobody"), r":7: .*the id \(column 1\) '1-2' is not a number"),
        (trees_with("_ _ 2 0 SBJ", "_ _ x 0 SBJ"), r":7: .*the head \(column 9\) of word 1 is 'x'"),
        (trees_with("0 1 ROOT OBJ", "9 1 ROOT OBJ"), ":8: .*the head of word 2 is 9, which is outside 0 … 2"),
        (trees_with("0 1 ROOT OBJ", "1 1 ROOT OBJ"), ":7: .*the heads form a cycle"),
        (TREES.replace("\t2\t0\tSBJ\t", "\t2\t0\ta b\t"), r":7: .*the relation \(column 11\) of word 1 is 'a b'"),
        (trees_with("1 Nobody", "1 "), r":7: .*the form \(column 2\) is empty"),
    ],
)
def test_mistakes_name_file_line_and_column(write, text, message):
    path = write(text, "trees.txt")
    with pytest.raises(CorpusError, match=f"trees.txt{message}"):
        load_treebank(path, format="conll2009")
    kept = load_treebank(path, format="conll2009", lenient=True)
    assert len(kept) == 2
    assert [left_out.line for left_out in kept.left_out] == [int(message.split(":")[1])]


def test_sentences_are_read_again_from_their_places(write, monkeypatch):
    monkeypatch.setattr(stream, "HELD", 2)
    sentences = TREES.split("\n\n")[:2]
    path = write("\n\n".join(sentences * 20) + "\n\n")
    treebank = load_treebank(path)
    assert len(treebank) == 40
    assert [replace(each, id="", line=0, lines=()) for each in treebank[38:]] == [
        replace(each, id="", line=0, lines=()) for each in treebank[:2]
    ]
    assert [each.line for each in treebank[38:]] == [1 + 19 * 9, 7 + 19 * 9]


def test_a_tree_has_no_mentions(write):
    with pytest.raises(CorpusError, match="'conll2009' has no mentions"):
        load_documents(write(TREES))


def test_the_case_of_the_format(data_file):
    [sentence] = load_treebank(data_file("cases/conll09.txt"))
    assert sentence.heads == (2, 0, 4, 2, 2)
