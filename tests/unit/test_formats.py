"""The format of a corpus is one row of a table: detection, reading and what the engine asks follow from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentionology.corpora_loaders import CorpusError, Sentence, formats, load_treebank
from attentionology.corpora_loaders.beginning import Beginning, beginning_of_file
from attentionology.corpora_loaders.coreference.benchmarks import HEADER
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.formats import CONLLU, FORMATS, UNREAD, detect_format, format_of
from attentionology.engine.corpus import CorpusOptions, has_trees, read_corpus

CONLLU_ROW = "1\tIt\tit\tPRON\tPRP\t_\t0\troot\t_\t_"


BEGINNINGS = {
    CONLLU_ROW: "conllu",
    "\n# newdoc\n\n" + CONLLU_ROW: "conllu",
    CONLLU_ROW.replace("\t", "  "): "conllu",  # its reader says what is wrong
    "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_": "conllu",
    "0.1\tdu\t_\t_\t_\t_\t_\t_\t_\t_": "conllu",
    "#begin document (x);\n" + CONLLU_ROW: "conll2012",
    "# global.columns = ID FORM HEAD\n1\tIt\t0\n": "conllu-plus",
    "#begin document d\n1\tJan\t_\tjan\t_\tN\t_\t_\t2\t_\t_\tsu\t_\t_\t_\t(1)\n": "semeval2010",
    '{"sentences": [["Ann"]], "clusters": []}\n': "jsonlines",
    "It 2-nsubj": "clark",
    "It (2-nsubj)": "conll2012",
    "It\tPRP\t2\tSBJ": "malt-tab",
    "It PRP 2 SBJ": "malt-tab",
    "It PRP 2 -": "conll2012",
    "1\t1990\t1990\tCD\tCD\t_\t2\tnmod": "conllx8",
    "1\tIt\tit\tPRP\tPRP\tIt\tit\tPRP\t2\tSBJ\t_\tA1": "conll2008",
    "1\tIt\tit\tPRP\tPRP\tIt\tit\tPRP\t2\tSBJ": "conll2008",
    "1\tIt\tit\tPRP\tPRP\t_\t2\tSBJ\t3\tSBJ": "conllu",  # CoNLL-X with predictions
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


def test_which_formats_have_trees():
    with_trees = {known.name for known in FORMATS if known.has_trees}
    of_columns = {"conll2009", "conll2008", "conllx8", "conllu-plus", "malt-tab", "clark"}
    assert with_trees == {"conllu", *of_columns}
    assert {known.name for known in FORMATS if known.placed_trees} == {*with_trees, "semeval2010"}


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
    expected = "expected CoNLL-2012 columns, CoNLL-U with Entity= in MISC, GAP, SemEval-2010 columns, or JSON Lines"
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


ROW_2009 = "1\tIt\t_\t_\tPRON\tPRON\t_\t_\t2\t2\tnsubj\tnsubj\t_\t_"
UNREAD_FILES = {
    '{"text": "Ann (left"}\n': "1: this looks like JSON Lines without sentences and clusters, which",
    '<?xml version="1.0"?>\n<corpus/>\n': "1: this looks like XML",
}


@pytest.mark.parametrize("text", UNREAD_FILES)
@pytest.mark.parametrize("load", [load_treebank, load_documents, detect_format])
def test_a_format_that_is_not_read_is_named_in_one_line(write, text, load):
    with pytest.raises(CorpusError, match=UNREAD_FILES[text]) as caught:
        load(write(text))
    assert len(caught.value.mistakes) == 1
    known = ", ".join(each.name for each in FORMATS)
    assert str(caught.value).endswith(f"none of the formats that are read: {known}; convert it first")


def recognizers(text: str, write) -> list[str]:
    """The formats that recognize a file, also those that are not read."""
    beginning = beginning_of_file(write(text))
    read = [known.name for known in FORMATS if known.recognize(beginning)]
    return read + [known.name(beginning) for known in UNREAD if known.recognize(beginning)]


@pytest.mark.parametrize("text", [*BEGINNINGS, *UNREAD_FILES])
def test_no_two_formats_recognize_the_same_file(write, text):
    assert len(recognizers(text, write)) <= 1
    assert text not in UNREAD_FILES or recognizers(text, write)


CELLS = st.sampled_from(
    ["2-x", "N", "1", "2", "1-2", "0", "_", "-", "*", "(0)", "It", "x", '{"a":', "{", "<?xml", HEADER]
)
COMMENTS = st.sampled_from(["#begin document x", "# global.columns = ID FORM", "# text = a", "#"])


@given(comments=st.lists(COMMENTS, max_size=3), cells=st.lists(CELLS, min_size=1, max_size=16), tabs=st.booleans())
@settings(max_examples=500)
def test_no_two_formats_recognize_the_same_random_beginning(comments, cells, tabs):
    beginning = Beginning(tuple(comments), ("\t" if tabs else " ").join(cells), 1 + len(comments))
    found = [known for known in FORMATS if known.recognize(beginning)]
    assert len(found) + sum(known.recognize(beginning) for known in UNREAD) <= 1
    # A row of CoNLL-U may not be lost to another format, unless a comment says that it has one.
    looks_like_a_tree = tabs and len(cells) == 10 and cells[0] == "1" and cells[6] == "0"
    if looks_like_a_tree and not {"#begin document x", "# global.columns = ID FORM"} & {*comments}:
        assert found == [CONLLU]  # and hence none of those that are not read


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n{CONLLU_ROW}\n", "conllu"),
        (f"\n# ID FORM LEMMA\n{ROW_2009}\n", "conll2009"),
        (f"{ROW_2009}\tA0\tA1\n", "conll2009"),
        (f"{ROW_2009.replace('2', 'x')}\n", "conllu"),  # whose reader says how many columns there are
        ("#begin document 1\n" + "1\t0\t0\tIt\tPRP\t(TOP*)\t-\t-\t-\t-\t*\t*\t*\t*\t(0)\n", "conll2012"),
        ("{ (0)\n", "conll2012"),  # a bracket is a word
    ],
)
def test_files_that_look_alike_have_their_formats(write, text, name):
    assert detect_format(write(text)) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cr_only.conllu", "line ends must be LF or CR LF, not CR alone$"),
    ],
)
def test_cases_of_other_formats_are_refused_in_one_line(data_file, name, expected):
    path = str(data_file(f"cases/{name}"))
    with pytest.raises(CorpusError, match=expected) as caught:
        read_corpus(CorpusOptions(corpus=(path,)))
    assert len(str(caught.value)) - len(path) < 250
    assert "\n" not in str(caught.value)
