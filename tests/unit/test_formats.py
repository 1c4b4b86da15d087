"""The format of a corpus is one row of a table: detection, reading and what the engine asks follow from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attentionology.corpora_loaders import CorpusError, Sentence, load_treebank
from attentionology.corpora_loaders.coreference import FORMATS, detect_format, format_of, formats, load_documents
from attentionology.corpora_loaders.coreference.benchmarks import HEADER
from attentionology.engine.corpus import CorpusOptions, has_trees, read_corpus

CONLLU_ROW = "1\tIt\tit\tPRON\tPRP\t_\t0\troot\t_\t_"


BEGINNINGS = {
    CONLLU_ROW: "conllu",
    "\n# newdoc\n\n" + CONLLU_ROW: "conllu",
    CONLLU_ROW.replace("\t", "  "): "conllu",  # its reader says what is wrong
    "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_": "conllu",
    "0.1\tdu\t_\t_\t_\t_\t_\t_\t_\t_": "conllu",
    "#begin document (x);\n" + CONLLU_ROW: "conll2012",
    "#begin document x\nx 0 0 It PRP * - - - - * (0)": "conll2012",
    "x\t0\t0\tIt\tPRP\t*\t_\t_\t_\t(0)": "conll2012",
    "1023_x\t0\t0\tIt\tPRP\t*\t2\t_\t_\t_": "conll2012",
    "1\t0\t0\tIt\tPRP\t(0)": "conll2012",
    "It (0)": "conll2012",
    "1_0 *": "conll2012",
    HEADER + "\tA": "gap",
    "\n" + HEADER + "\tA": "conllu",  # the header is not in line 1
    "": "conllu",
    "# only\n# comments": "conllu",
    "a word": "conllu",
    "#\n" * 1000 + "It (0)": "conllu",  # only the first thousand lines are looked at
}


@pytest.mark.parametrize("text", BEGINNINGS)
def test_formats_are_told_by_their_first_lines(write, text):
    path = write(text)
    assert detect_format(path) == format_of(path).name == BEGINNINGS[text]
    beginning = formats.beginning_of_file(path)
    assert sum(known.recognize(beginning) for known in FORMATS) <= 1


def test_which_formats_have_trees():
    assert {known.name: known.has_trees for known in FORMATS} == {"conllu": True, "conll2012": False, "gap": False}


@pytest.mark.parametrize("damaged", ["1_0", "2", "x", "0", "", "1a", "-"])
@pytest.mark.parametrize("head", ["0", "_"])
def test_a_damaged_first_id_is_an_error_of_a_treebank(write, damaged, head):
    row = f"{damaged}\tIt\tit\tPRON\tPRP\t_\t{head}\troot\t_\t_"
    path = write(f"# sent_id = s\n{row}\n2\truns\trun\tVERB\tVBZ\t_\t1\tdep\t_\t_\n\n", "corpus")
    assert has_trees(CorpusOptions(corpus=(str(path),)))
    for load in (load_treebank, load_documents):
        with pytest.raises(CorpusError, match=rf"corpus:2: sentence 's': .*id.* '{damaged}'"):
            load(path)


def test_files_without_mentions_are_told_all_formats(write):
    expected = "expected CoNLL-2012 columns, CoNLL-U with Entity= in MISC, or GAP"
    with pytest.raises(CorpusError, match=expected):
        load_documents(write(CONLLU_ROW + "\n\n"))


def test_a_format_is_added_with_one_row(write, monkeypatch):
    def read_trees(path):
        for number, line in enumerate(Path(path).read_text().splitlines()[1:], start=1):
            words = tuple(line.split())
            yield Sentence(f"n{number}", words, heads=tuple(range(len(words))), relations=("next",) * len(words))

    new = replace(FORMATS[0], name="chain", recognize=lambda beginning: beginning.row == "CHAIN", read_trees=read_trees)
    path = write("CHAIN\na b c\nd e\n")
    options = CorpusOptions(corpus=(str(path),))
    with pytest.raises(CorpusError, match="expected 10 tab-separated columns"):
        read_corpus(options)
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, new))
    assert detect_format(path) == "chain"
    assert has_trees(options)
    treebank = read_corpus(options)
    assert [sentence.words for sentence in treebank] == [("a", "b", "c"), ("d", "e")]
    assert treebank.relations == {"next": 5}
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, replace(new, read_trees=None)))
    assert not has_trees(options)
