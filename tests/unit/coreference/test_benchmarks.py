"""GAP and WinoBias, which ask questions of their own, and corpora that contradict themselves."""

from __future__ import annotations

import pytest

from attentionology.corpora_loaders import CorpusError
from attentionology.corpora_loaders.coreference import ANTI, FEMININE, MASCULINE, PRO
from attentionology.corpora_loaders.coreference.benchmarks import COLUMNS
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.formats import detect_format
from tests.corpora import empty, word

HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
TEXT = "Ann Lee's dog met Bob-Ray (U.S.); later he left."


def row(name="g-1", pronoun=("he", 40), a=("Ann Lee", 0, "FALSE"), b=("Bob-Ray", 18, "TRUE"), text=TEXT):
    fields = [name, text, *pronoun, *a, *b, "http://x"]
    return "\t".join(map(str, fields)) + "\n"


def asked(document):
    return list(document.questions)


@pytest.fixture
def load(write):
    return lambda content, name="gap.tsv", **options: load_documents(write(content, name), **options)


def test_gap_words_and_mentions(load, tmp_path):
    document = load(HEADER + row()).documents[0]
    assert detect_format(tmp_path / "gap.tsv") == "gap"
    assert document.words == (
        "Ann", "Lee", "'s", "dog", "met", "Bob-Ray", "(", "U.S", ".", ")", ";", "later", "he", "left", ".",
    )  # fmt: skip
    assert [(document.text(m), m.type) for m in document.mentions] == [
        ("Ann Lee", "proper"), ("Bob-Ray", "proper"), ("he", "pronoun"),
    ]  # fmt: skip
    [question] = asked(document)
    assert document.text(question.anaphor) == "he"
    assert [(document.text(c), c.entity == question.anaphor.entity) for c in question.candidates] == [
        ("Ann Lee", False), ("Bob-Ray", True),
    ]  # fmt: skip
    assert document.labels == (MASCULINE,)
    assert document.line == 2


def test_gap_names_are_cut_out_of_words(load):
    text = "McAnn-she and Bo"
    line = row(pronoun=("she", 6), a=("Ann", 2, "TRUE"), b=("Bo", 14, "FALSE"), text=text)
    document = load(HEADER + line).documents[0]
    assert document.words == ("Mc", "Ann", "-", "she", "and", "Bo")
    assert document.labels == (FEMININE,)


def test_gap_pronoun_of_neither(load):
    document = load(HEADER + row(b=("Bob-Ray", 18, "FALSE"))).documents[0]
    [question] = asked(document)
    assert all(c.entity != question.anaphor.entity for c in question.candidates)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (row().replace("\thttp://x", ""), "gap.tsv:2: sentence 'g-1': expected 11 tab-separated columns, found 10"),
        (row(pronoun=("he", "x")), "Pronoun-offset is 'x', not a number"),
        (row(pronoun=("he", "²")), "Pronoun-offset is '²', not a number"),
        (row(pronoun=("he", "9" * 5000)), "not a number"),
        (row(pronoun=("he", 41)), "Pronoun is 'he', but the text has 'e ' at 41"),
        (row(a=("Ann Lee", 900, "FALSE")), "A is 'Ann Lee', but the text has '' at 900"),
        (row(a=("", 0, "FALSE")), "A is ''"),
        (row(a=("Ann Lee", 0, "yes")), "A-coref and B-coref must be TRUE or FALSE"),
        (row(a=("Ann Lee", 0, "TRUE")), "both TRUE"),
        (row(name=""), "gap.tsv:2: the ID is empty"),
    ],
)
def test_gap_faults(load, line, message):
    with pytest.raises(CorpusError) as error:
        load(HEADER + line)
    assert "gap.tsv:2: " in str(error.value)
    assert message in str(error.value)


def test_gap_needs_its_header(load):
    with pytest.raises(CorpusError, match=r"gap.tsv:1: expected the columns ID, Text"):
        load(HEADER.replace("B-coref", "C-coref") + row())


def winobias(name, text, cells):
    words = text.split()
    lines = [
        "\t".join([name, "0", str(n), word, *["-"] * 5, "Speaker#1", *["*"] * 4, cells.get(n, "-")])
        for n, word in enumerate(words)
    ]
    return f"#begin document ({name}); part 000\n" + "\n".join(lines) + "\n\n#end document\n"


def test_winobias_finds_the_other_occupation(load):
    pro = winobias(
        "nw/dev_type1/stereotype//0",
        "The construction worker paid the nurse because he liked her work .",
        {0: "(1", 2: "1)", 7: "(1)"},
    )
    anti = winobias(
        "nw/dev_type2/not_stereotype//1", "The CEO called a tailor and asked him twice .", {0: "(3", 1: "3)", 7: "(3)"}
    )
    corpus = load(pro + anti, name="wino.conll")
    assert corpus.counts()["mentions"] == 4  # what is marked
    first, second = corpus.documents
    [question] = asked(first)
    assert first.text(question.anaphor) == "he"
    assert [first.text(c) for c in question.candidates] == ["The construction worker", "the nurse"]
    assert [c.entity == question.anaphor.entity for c in question.candidates] == [True, False]
    assert first.labels == (PRO, f"type 1, {PRO}", MASCULINE)
    assert first.family.endswith("because * liked * work .")
    assert any("the other was found by the paper's list" in remark for remark in corpus.remarks())
    [question] = asked(second)
    assert [second.text(c) for c in question.candidates] == ["The CEO", "a tailor"]
    assert second.labels == (ANTI, f"type 2, {ANTI}", MASCULINE)


def test_winobias_asks_for_every_pronoun_and_for_none_without_a_choice(load):
    two = winobias(
        "nw/test_type1/stereotype//0", "The cook thanked the baker and she ate her bread .",
        {0: "(1", 1: "1)", 6: "(1)", 8: "(1)"},
    )  # fmt: skip
    alone = winobias("nw/dev_type1/stereotype//1", "The cook ate her bread .", {0: "(1", 1: "1)", 3: "(1)"})
    first, second = load(two + alone, name="wino.conll").documents
    assert [first.text(q.anaphor) for q in first.questions or ()] == ["she", "her"]
    assert first.labels[-1] == FEMININE
    assert second.questions == ()


ENTITIES = "# newdoc id = x\n# global.Entity = eid-etype-head-other\n"


def noun(number, misc="_"):
    return word(number, "w", 0 if number == 1 else 1, upos="NOUN", misc=misc)


def full(name, number, form, parse="*", cell="-", part=0):
    return f"{name}\t{part}\t{number}\t{form}\tNN\t{parse}\t-\t-\t-\tSpeaker\t*\t{cell}\n"


WINOBIAS = "#begin document (nw/dev_type1/stereotype//0); part 000\n"
BEGIN = "#begin document (a); part 000\n"
GAP = "Ann Lee met Bob before he left."


def gap(a=("Ann Lee", 0), b=("Bob", 12), pronoun=("he", 23)):
    fields = ["g", GAP, *pronoun, *a, "TRUE", *b, "FALSE", "http://x"]
    return "\t".join(COLUMNS) + "\n" + "\t".join(map(str, fields)) + "\n"


FAULTS = {
    "a bracket on an empty node past the sentence": (
        ENTITIES + noun(1, "Entity=(e1--1-)") + noun(2) + empty("9.1", "Entity=(e1--1-)") + "\n",
        "x:5: sentence 'x:1': empty node 9.1 is out of order: it follows word 2",
    ),
    "an empty node above its word": (
        ENTITIES + empty("1.1", "Entity=(e1--1-)") + noun(1, "Entity=(e1--1-)") + "\n",
        "x:3: sentence 'x:1': empty node 1.1 is out of order: it follows word 0",
    ),
    "an empty node twice": (
        ENTITIES + noun(1, "Entity=(e1--1-)") + empty("1.1", "Entity=(e1--1-)") * 2 + "\n",
        "x:5: sentence 'x:1': empty node 1.1 is out of order",
    ),
    "GAP with both names in one place": (
        gap(b=("Ann Lee", 0)),
        "x:2: sentence 'g': A 'Ann Lee' and B 'Ann Lee' have the same head word",
    ),
    "GAP with a name in the place of the pronoun": (
        gap(b=("he", 23)),
        "x:2: sentence 'g': B 'he' and Pronoun 'he' have the same head word",
    ),
    "GAP with one name inside the other": (
        gap(b=("Lee", 4)),
        "x:2: sentence 'g': A 'Ann Lee' and B 'Lee' have the same head word",
    ),
    "a row after the end of its document": (
        BEGIN + full("a", 0, "Ann", cell="(1)") + "#end document\n" + full("a", 0, "she", cell="(1)"),
        "x:4: the row follows '#end document'",
    ),
    "an entity at a multiword token": (
        ENTITIES + "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1--1-)\n" + noun(1, "Entity=(e2--1-)") + noun(2) + "\n",
        "x:3: sentence 'x:1': multiword token 1-2 has Entity=",
    ),
    "WinoBias with both occupations right": (
        WINOBIAS
        + "".join(
            full("nw/dev_type1/stereotype//0", n, form, cell="(1)" if form in ("cook", "baker", "he") else "-")
            for n, form in enumerate(("cook", "met", "baker", "and", "he", "left"))
        )
        + "#end document\n",
        "x:6: sentence 'nw/dev_type1/stereotype//0': the pronoun refers to all occupations",
    ),
    "a parse that starts late": (
        BEGIN + full("a", 0, "so", "*", "(1)") + full("a", 1, "left", "(TOP*)") + "#end document\n",
        "x:3: the parse has no constituent that contains word 2 and the words before it",
    ),
    "a parse that is complete and goes on": (
        BEGIN + full("a", 0, "Ann", "(TOP(NP*))", "(1)") + full("a", 1, "left", "(VP*)") + "#end document\n",
        "x:3: the parse has no constituent that contains word 2 and the words before it",
    ),
    "a parse that is complete before the last word": (
        BEGIN + full("a", 0, "Ann", "(TOP(NP*))", "(1)") + full("a", 1, ".", "*") + "#end document\n",
        "x:3: the parse has no constituent that contains word 2 and the words before it",
    ),
}


def rows_of(text):
    """Rows of ``a0`` (word 0 of document a) or ``a0.1`` (of its part 1), with a bar between sentences."""
    sentences = (sentence.split() for sentence in text.split("|"))
    return "\n".join(
        "".join(full(row[0], row[1], "Ann", cell="(1)", part=row[3:] or 0) for row in sentence)
        for sentence in sentences
    )


OTHERS = [
    (BEGIN, "a0 | b0", "x:4: a row of document 'b'"),
    (BEGIN, "a0 b1", "x:3: a row of document 'b'"),
    (BEGIN, "a0 | a0.1", "x:4: a row of part 1 of document 'a'"),
    (BEGIN, "b0 | b0 | c0", "x:6: a row of document 'c'"),
    (BEGIN, "b0 | c0 | b0", "x:6: a row of document 'b'"),
    (BEGIN, "b0 | c0 d1", "x:5: a row of document 'd'"),
    (BEGIN, "b0 | c0.1", "x:4: a row of part 1 of document 'c'"),
    ("#begin document\n", "a0 | b0", "x:4: a row of document 'b'"),
    ("", "a0 | b0", "x:3: a row of document 'b'"),
]


@pytest.mark.parametrize(("begin", "rows", "message"), OTHERS)
def test_rows_of_another_document_are_told_with_their_line_also_if_brackets_may_be_wrong(load, begin, rows, message):
    for lenient in (False, True):
        with pytest.raises(CorpusError, match=f"{message} is among rows of another document"):
            load(begin + rows_of(rows), "x", lenient=lenient)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told_with_file_and_line(load, fault):
    content, message = FAULTS[fault]
    with pytest.raises(CorpusError) as error:
        load(content, "x")
    assert message in str(error.value)


def test_lenient_ignores_a_parse_that_goes_on(load):
    corpus = load(FAULTS["a parse that is complete and goes on"][0], lenient=True)
    assert corpus.account.faults == 1
    assert corpus.documents[0].words == ("Ann", "left")


def test_a_document_may_be_called_otherwise_than_its_rows_say(load):
    content = "#begin document (a); part 000\n" + full("b", 0, "Ann", cell="(1)") + "#end document\n"
    content += "#begin document (a); part 001\n" + full("b", 0, "Ann", cell="(1)", part=1) + "#end document\n"
    assert len(load(content).documents) == 2


def test_sentences_may_have_names_of_their_own(load):
    """As in test cases of the reference scorer: in one document test1, test2, none of them its name."""
    sentences = [full(f"test{n}", 0, "Ann", cell="(1") + full(f"test{n}", 1, "Lee", cell="1)") for n in (1, 2, 3)]
    content = "#begin document (LuoTestCase); \n" + "\n".join(sentences) + "#end document\n"
    (document,) = load(content).documents
    assert document.words == ("Ann", "Lee") * 3
    assert [len(mention.spans) for mention in document.mentions] == [1, 1, 1]
    assert {mention.entity for mention in document.mentions} == {"1"}
