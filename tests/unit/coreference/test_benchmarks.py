"""GAP and WinoBias: corpora that ask questions of their own."""

from __future__ import annotations

import pytest

from attentionology.corpora_loaders import CorpusError
from attentionology.corpora_loaders.coreference import ANTI, FEMININE, MASCULINE, PRO, detect_format, load_documents

HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
TEXT = "Ann Lee's dog met Bob-Ray (U.S.); later he left."


def row(name="g-1", pronoun=("he", 40), a=("Ann Lee", 0, "FALSE"), b=("Bob-Ray", 18, "TRUE"), text=TEXT):
    fields = [name, text, *pronoun, *a, *b, "http://x"]
    return "\t".join(map(str, fields)) + "\n"


def asked(document):
    return list(document.questions)


@pytest.fixture
def load(tmp_path):
    def write_and_load(content, name="gap.tsv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return load_documents(path)

    return write_and_load


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
