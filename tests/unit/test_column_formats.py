"""Formats with a word in each row: all layouts of a tree give the same tree, and mistakes are told with their line."""

from __future__ import annotations

import pytest

from attentionology import CorpusError, OptionError, load_text, load_treebank
from attentionology.corpora_loaders import stream
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.formats import FORMATS, detect_format
from attentionology.scripts.doctor import Doctor
from attentionology.scripts.show import Show
from attentionology.scripts.treebanks import Treebanks

TREE = [
    ("Ann", "PROPN", 2, "nsubj"),
    ("reads", "VERB", 0, "root"),
    ("old", "ADJ", 4, "amod"),
    ("books", "NOUN", 2, "obj"),
    (".", "PUNCT", 2, "punct"),
]
LAYOUTS = {
    "conllu": "{i}\t{w}\t_\t{t}\t_\t_\t{h}\t{r}\t_\t_",
    "conllu ": "{i}\t{w}\t{w}\t{t}\t{t}\t_\t{h}\t{r}\t{h}\t{r}",  # CoNLL-X
    "conllx8": "{i}\t{w}\t_\t{t}\t_\t_\t{h}\t{r}",
    "conll2009": "{i}\t{w}\t_\t_\t{t}\tX\t_\t_\t{h}\t1\t{r}\tx\t_\t_",
    "conll2008": "{i}\t{w}\t_\t{t}\tX\t_\t_\tX\t{h}\t{r}\t_\t_",
    "conll2008 ": "{i}\tall-{w}\t_\t{t}\tX\t{w}\t_\tX\t{h}\t{r}",  # of ten columns, with split forms
    "conllu-plus": "{w}\t{h}\t*\t{r}\t{t}",
    "malt-tab": "{w}\t{t}\t{h}\t{r}",
    "malt-tab ": "{w} {t} {h} {r}",
    "clark": "{w} {h}-{r}",
    "semeval2010": "{i}\t{w}\t_\t_\t{t}\tX\t_\t_\t{h}\t1\t{r}\tx\t_\t_\t_\t_\t_",
}
BEFORE = {"conllu-plus": "# global.columns = FORM HEAD A:B DEPREL UPOS\n", "semeval2010": "#begin document d\n"}


def rows(layout: str) -> str:
    return "".join(
        LAYOUTS[layout].format(i=number, w=word, t=tag, h=head, r=relation) + "\n"
        for number, (word, tag, head, relation) in enumerate(TREE, start=1)
    )


def text_of(layout: str) -> str:
    """Two sentences, of which the last one is not followed by a blank line."""
    return f"{BEFORE.get(layout, '')}{rows(layout)}\n{rows(layout)}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_layouts_give_the_same_tree(write, layout, monkeypatch):
    path = write(text_of(layout), "trees.txt")
    assert detect_format(path) == layout.strip()
    treebank = load_treebank(path)
    assert [sentence.id for sentence in treebank] == ["trees.txt:1", "trees.txt:2"]
    for sentence in treebank:
        assert list(zip(sentence.words, sentence.heads, sentence.relations, strict=True)) == [
            (word, head, relation) for word, _, head, relation in TREE
        ]
        assert sentence.tags == (tuple(tag for _, tag, _, _ in TREE) if "{t}" in LAYOUTS[layout] else ("_",) * 5)
    monkeypatch.setattr(stream, "HELD", 0)
    monkeypatch.setattr(stream, "MARKED", 1)
    assert load_treebank(path, format=layout.strip())[1] == treebank[1]  # read again from its place


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_wrong_number_of_columns_and_a_wrong_head_are_told_with_their_line(write, layout):
    fourth = text_of(layout).splitlines().index(rows(layout).splitlines()[3]) + 1
    extra = "\tx" if "\t" in LAYOUTS[layout] else " x"
    wide = text_of(layout).replace(rows(layout).splitlines()[3], rows(layout).splitlines()[3] + extra, 1)
    with pytest.raises(CorpusError, match=rf"trees.txt:{fourth}: .*expected ") as caught:
        load_treebank(write(wide, "trees.txt"), format=layout.strip())
    assert len(caught.value.mistakes) == 1
    far = [*TREE[:3], ("books", "NOUN", 9, "obj"), TREE[4]]
    last = LAYOUTS[layout].format(i=4, w=far[3][0], t=far[3][1], h=9, r=far[3][3])
    with pytest.raises(CorpusError, match=rf"trees.txt:{fourth}: .*head of word 4 is 9, which is outside 0 … 5"):
        load_treebank(write(text_of(layout).replace(rows(layout).splitlines()[3], last, 1), "trees.txt"))
    kept = load_treebank(write(wide, "trees.txt"), lenient=True)
    assert (len(kept), kept.left_out[0].line) == (1, fourth)


def test_rows_without_numbers_may_begin_with_a_hash(write):
    treebank = load_treebank(write("# global = 3-x\n# 2-nmod\n5 3-nummod\nmillion 0-root\n", "trees.txt"))
    assert treebank[0].words == ("#", "5", "million")
    treebank = load_treebank(write("# text = a\n#\t#\t2\tP\nmillion\tCD\t0\tROOT\n", "trees.txt"))
    assert (treebank[0].words, treebank[0].text) == (("#", "million"), "a")


def test_a_label_with_a_hyphen_is_split_at_the_first_one(write):
    assert load_treebank(write("Ann 2-nsubj-pass\nsings 0-root\n"))[0].relations == ("nsubj-pass", "root")


PLUS = "# global.columns = ID FORM MISC PARSEME:MWE HEAD\n" + (
    "1-2\tdu\t_\t*\t_\n1\tde\tA=b\t1:VID\t3\n2\tle\t_\t1;2:X\t3\n3\tlit\t_\t_\t0\n"
)


def test_columns_of_conllu_plus(write):
    [sentence] = load_treebank(write(PLUS))
    assert (sentence.words, sentence.heads, sentence.multiword) == (("de", "le", "lit"), (3, 3, 0), ((1, 2, "du"),))
    assert sentence.misc == ("A=b|PARSEME:MWE=1:VID", "PARSEME:MWE=1;2:X", "_")
    with pytest.raises(CorpusError, match=r":1: the columns of CoNLL-U Plus need FORM"):
        load_treebank(write(PLUS.replace("FORM", "WORD")))
    with pytest.raises(CorpusError, match=r":2: the column 'ID' is named twice"):
        load_treebank(write("# a\n" + PLUS.replace("FORM", "ID FORM")))


def test_blank_lines_end_the_sentences_of_a_single_column(write):
    treebank = load_treebank(write("# global.columns = FORM\n# sent_id = p\nM\nK\nV\n\n# sent_id = q\nA\n\n\nG\nT\n\n"))
    assert [(sentence.id, sentence.words) for sentence in treebank][:2] == [("p", ("M", "K", "V")), ("q", ("A",))]
    assert treebank[2].words == ("G", "T")


def test_a_split_form_has_the_part_of_speech_of_its_own_column(write):
    rows = [
        "1\tred-hot\t_\tJJ\tX\tred\t_\tJJ\t3\tA\t_",
        "2\t_\t_\t_\t_\t-\t_\tHYPH\t3\tB\t_",
        "3\t_\t_\t_\t_\thot\t_\tJJ\t0\tC\t_",
    ]
    [sentence] = load_treebank(write("\n".join(rows)))
    assert (sentence.words, sentence.tags) == (("red", "-", "hot"), ("JJ", "HYPH", "JJ"))


@pytest.mark.parametrize(
    ("row", "nearest"),
    [("a\tb\tc\td\te", "conllx8"), ("It\tis", "clark"), ("1\tx\tN\tN\tN\t_\t2\tSb\tx", "conllu, which has 10")],
)
def test_an_unknown_layout_names_the_nearest_format_and_the_conversion(write, row, nearest):
    with pytest.raises(
        CorpusError,
        match=rf":1: .*found {row.count(chr(9)) + 1}; the nearest format is {nearest}.*# global.columns = ID",
    ):
        load_treebank(write(row))


MENTIONS = """\
#begin document (d); part 000
1\tAnn\t_\t_\tNNP\t_\t_\t_\t2\t_\tsubj\t_\t_\t_\t_\t_\t(1)
2\tsaw\t_\t_\tVBD\t_\t_\t_\t0\t_\troot\t_\t_\t_\t_\t_\t_
3\ther\t_\t_\tPRP\t_\t_\t_\t4\t_\tposs\t_\t_\t_\t_\t_\t(2|(1)
4\tdog\t_\t_\tNN\t_\t_\t_\t2\t_\tobj\t_\t_\t_\t_\t_\t2)
#end document
"""


def test_documents_of_semeval2010_have_mentions_and_trees(write):
    path = write(MENTIONS)
    [document] = load_documents(path).documents
    assert [(document.text(each), each.entity, each.head) for each in document.mentions] == [
        ("Ann", "1", 0),
        ("her", "1", 2),
        ("her dog", "2", 3),
    ]
    assert (document.sentences[0].heads, document.head_rule[:29]) == ((2, 0, 4, 2), "the word whose syntactic head")
    without = MENTIONS.replace("\t2\t_\t", "\t_\t_\t").replace("\t0\t_\t", "\t_\t_\t").replace("\t4\t_\t", "\t_\t_\t")
    assert load_documents(write(without)).documents[0].sentences[0].heads == ()
    with pytest.raises(CorpusError, match=r":4: the head \(column 9\) is '7', not a number from 0 to 4"):
        load_documents(write(MENTIONS.replace("\t4\t_\tposs", "\t7\t_\tposs")))


LINE = '{"doc_key": "a", "sentences": [["Ann", "left"], ["She", "had", "won"]], "clusters": [[[0, 0], [2, 2]]]}\n'


def test_documents_of_json_lines(write):
    line = LINE.strip()
    documents = load_documents(write(f"{line}\n\n{line.replace('doc_key', 'key')}\n", "c.jsonl")).documents
    assert [document.id for document in documents] == ["a", "c.jsonl:3"]
    assert [(documents[0].text(each), each.entity) for each in documents[0].mentions] == [("Ann", "1"), ("She", "1")]
    for old, new in [("[2, 2]", "[2, 5]"), ("[2, 2]", "[2, 1]"), ("[2, 2]", "[2]"), ('"sentences"', '"words"')]:
        with pytest.raises(CorpusError, match=r"c\.jsonl:2: "):
            load_documents(write(f"{line}\n{line.replace(old, new)}\n", "c.jsonl"))


def test_a_treebank_is_no_running_text(write):
    for layout in ("conllu", "conll2009", "conll2008", "conllx8", "malt-tab", "conllu-plus"):
        with pytest.raises(CorpusError, match=r"this is a treebank in .*read it with load_treebank"):
            load_text(write(text_of(layout)))
    assert len(load_text(write("It is a text.\n1 2\tthree\n"))) == 2


def test_format_is_checked_by_all_commands(write):
    path = str(write(text_of("clark")))
    for command in (Treebanks(check=(path,), format="x"), Doctor(corpus=path, format="x")):
        with pytest.raises(OptionError, match="--format: unknown format 'x'"):
            command.run()
    with pytest.raises(OptionError, match="--format is for --corpus"):
        Show(text=("a",), head=("1-1",), format="clark").run()
    with pytest.raises(OptionError, match="--format is for --check"):
        Treebanks(format="clark").run()
    assert {each.name for each in FORMATS} >= {layout.strip() for layout in LAYOUTS}
