"""CoNLL-2012 column files, worked by hand."""

from __future__ import annotations

import gzip

import pytest

from attentionology.corpora_loaders import CorpusError
from attentionology.corpora_loaders.documents import load_documents


@pytest.fixture
def load(write):
    """Write and load a file, whose last document is ended if it has begun; bytes are written as they are."""

    def write_and_load(content, name="file.conll", **options):
        if isinstance(content, str):
            _, begun, last = content.rpartition("begin document")
            content += "\n#end document\n" * (bool(begun) and "#end document" not in last)
        return load_documents(write(content, name), **options)

    return write_and_load


def rows(cells, doc="d", columns=12):
    """One sentence; each cell is ``word brackets``."""
    lines = []
    for number, cell in enumerate(cells):
        word, brackets = cell.rsplit(" ", 1)
        filler = ["-"] * (columns - 5)
        lines.append("\t".join([doc, "0", str(number), word, *filler, brackets]))
    return "\n".join(lines) + "\n"


def shown(document):
    return [(document.text(m), m.entity, m.start, m.stop) for m in document.mentions]


def test_documents_parts_and_sentences(load):
    content = (
        "#begin document (a/b); part 000\n" + rows(["Ann (1)", "left -"]) + "\n" + rows(["She (1)"]) + "#end document\n"
        "#begin document (a/b); part 001\n" + rows(["Bob (1)", "too (1)"]) + "#end document\n"
    )
    corpus = load(content)
    first, second = corpus.documents
    assert (first.id, second.id) == ("a/b", "a/b part 1")
    assert [s.words for s in first.sentences] == [("Ann", "left"), ("She",)]
    assert [(s.document, s.line) for s in first.sentences] == [("a/b", 2), ("a/b", 5)]
    assert shown(first) == [("Ann", "1", 0, 1), ("She", "1", 2, 3)]
    assert [m.line for m in first.mentions] == [2, 5]
    counts = corpus.counts()
    assert (counts["documents"], counts["mentions"], counts["entities"], counts["singletons"]) == (2, 4, 2, 0)


def test_nested_crossing_and_doubled_spans(load):
    content = "#begin document (x);\n" + rows(["the (1|(2|(3", "cat 2)", "and 3)|(4|(5)|(5)", "dog 1)|(1)", "it 4)"])
    corpus = load(content)
    assert shown(corpus.documents[0]) == [
        ("the cat", "2", 0, 2),
        ("the cat and", "3", 0, 3),
        ("the cat and dog", "1", 0, 4),
        ("and", "5", 2, 3),
        ("and dog it", "4", 2, 5),
        ("dog", "1", 3, 4),
    ]
    assert corpus.counts()["mentions_repeated"] == 1


SPECIAL = {
    "a closing bracket belongs to the last open one of its entity": (
        rows(["a (7", "b (7", "c 7)", "d 7)"]), [("a b c d", "7", 0, 4), ("b c", "7", 1, 3)],
    ),
    "brackets without a bar between them": (
        "#begin document (x);\n" + rows(["a (1(2", "b 1)2)"]), [("a b", "1", 0, 2), ("a b", "2", 0, 2)],
    ),
    "a mention beyond its sentence": (
        "#begin document x\n" + rows(["a (7", "b -"]) + "\n" + rows(["c 7)"]), [("a b c", "7", 0, 3)],
    ),
    "a blank behind the last column": (
        "#begin document (d);\nd\t0\t0\ta\t(1)\nd\t0\t1\t.\t-\t\n", [("a", "1", 0, 1)],
    ),
    "gzip, a byte-order mark and lines of Windows": (
        gzip.compress(f"\ufeff#begin document (x);\n{rows(['a (1)'])}#end document\n".replace("\n", "\r\n").encode()),
        [("a", "1", 0, 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SPECIAL)
def test_mentions_are_read(load, case):
    content, mentions = SPECIAL[case]
    corpus = load(content)
    assert shown(corpus.documents[0]) == mentions
    assert corpus.counts()["mentions_across_sentences"] == (case == "a mention beyond its sentence")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("#begin document (x);\n" + rows(["a (1)", "b -"]), 3),
        ("#begin document (x);\n" + rows(["a (1)", "b -"]) + "\n\n# a comment\n", 6),
        (
            "#begin document (x);\n" + rows(["a (1)"]) + "\n#begin document (y);\n" + rows(["a (1)"]) + "#end document",
            4,
        ),
        ("#begin document (x);\n", 1),
    ],
    ids=["rows", "blank lines", "between documents", "no rows"],
)
def test_a_document_that_begins_must_end(load, content, line):
    message = f"file.conll:{line}: '#end document' is missing for the document that begins in line 1; "
    with pytest.raises(CorpusError, match=message):
        load(content.encode(), lenient=True)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ("0 1 3", "4: expected word number 2, or 0 in a new sentence, found 3"),
        ("0 1 2 1", "5: expected word number 3, or 0 in a new sentence, found 1"),
        ("0 1 1", "4: expected word number 2, or 0 in a new sentence, found 1"),
        ("1 2 1 2 0", "6: expected word number 3, or 1 in a new sentence, found 0"),
        ("0 1 _ 3", "5: expected word number 2, or 0 in a new sentence, found 3"),
        ("0 1 _ 2 _ 0 1", "5: word number 2 goes on from the sentence before; the blank line 4 ended it"),
        ("0 1 _ 0 1 _ _ 2", "9: word number 2 goes on from the sentence before; the blank line 7 ended it"),
    ],
)
def test_word_numbers_that_jump(load, numbers, message):
    content = "".join("\n" if number == "_" else f"d 0 {number} w - (1)\n" for number in numbers.split())
    with pytest.raises(CorpusError, match=f"file.conll:{message}$"):
        load("#begin document (d);\n" + content, lenient=True)


def test_word_numbers_may_count_through_a_document(load):
    content = "d 0 0 a - (1)\nd 0 1 b - -\n\n\nd 0 2 c - -\n\nd 0 3 d - -\n#end document\n"
    first, second = load(("#begin document (d);\n" + content) * 2).documents
    assert [s.words for s in first.sentences] == [s.words for s in second.sentences] == [("a", "b"), ("c",), ("d",)]


@pytest.mark.parametrize("begin", ["#begin document\n", "#begin document ();\n", "", "# begin document\n"])
def test_a_document_may_have_no_name(load, begin):
    document = load(begin + rows(["a (1)"])).documents[0]
    assert document.id == "file.conll:1"
    assert shown(document) == [("a", "1", 0, 1)]


def test_word_numbers_that_start_again_start_a_sentence(load):
    document = load("#begin document (x); part 000\n" + rows(["a (1)", "b -"]) + rows(["c (1)"])).documents[0]
    assert [s.words for s in document.sentences] == [("a", "b"), ("c",)]


@pytest.mark.parametrize(
    "line",
    [
        "the (0)",
        "0\tthe\t(0)",
        "d\tthe\t(0)",
        "d\t0\tthe\t(0)",
        "0\tthe\tDT\t(0)",
        "d\t0\t0\tthe\t(0)",
        "d\t0\t0\tthe\tDT\t(0)",
        "d  0   0     the  DT    (TOP*)   (0)",
        "d\t0\t0\tthe\tDT\t*\t_\t_\t_\t_\t_\t_\t_\t_\t(0)",
    ],
)
def test_from_two_to_fifteen_columns(load, line):
    document = load("#begin document (doc); part 000\n" + line + "\n").documents[0]
    assert document.words == ("the",)
    assert shown(document) == [("the", "0", 0, 1)]
    assert document.sentences[0].xpos == (("DT",) if line.count("DT") and line.startswith("d") else ())


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a (1", "b -"], "2: a mention of entity '1' is opened but not closed"),
        (["a -", "b 1)"], "3: a mention of entity '1' is closed but was not opened"),
        (["a (1", "b 2)"], "3: a mention of entity '2' is closed"),
        (["a (1)", "b (1))"], "3: the last column is '(1))'"),
        (["a (1)", "b 1"], "3: the last column is '1'"),
        (["a (1)", "b (1)|"], "3: the last column is '(1)|'"),
        (["a (1)", "b ()"], "3: the last column is '()'"),
    ],
)
def test_malformed_brackets_are_errors_with_their_line_or_counted(load, cells, message):
    content = "#begin document (x);\n" + rows([*cells, "it (9)"])
    with pytest.raises(CorpusError, match=r"file.conll:") as error:
        load(content)
    assert f"file.conll:{message}" in str(error.value)
    corpus = load(content, lenient=True)
    both = cells == ["a (1", "b 2)"]  # one is not closed, the other was not opened
    assert corpus.counts()["malformed_brackets"] == (2 if both else 1)
    assert ("it", "9", 2, 3) in shown(corpus.documents[0])
    assert any("Malformed brackets, ignored: " in remark for remark in corpus.remarks())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("#begin document (x);\nd\t0\t0\ta\t-\nd\t0\t1\tb\n", "x.conll:3: expected more than 4 columns, found 4"),
        ("#begin document (x);\n" + rows(["a -"]) + rows(["", "b -"][1:], columns=9).replace("\t0\tb", "\t1\tb"),
         "x.conll:3: expected 12 columns as in the row before, found 9"),
        ("#begin document (x);\nword\n", "x.conll:2: expected at least a word and its brackets"),
        ("#begin document (d/e);\nd/e\t(1)\nd/e\t(1)\n", "x.conll:1: there is no column of words"),
        ("#begin document (x);\n#end document\n", "x.conll: the file contains no document"),
        ("#begin document (x);\n" + rows(["a -"]), "x.conll: the file contains no mentions"),
        ("#begin document (x);\nd 0 0 a NN (TOP(NP* - - - - - (1)\n", "x.conll:2: the parse leaves 2 brackets open"),
        ("#begin document (x);\nd 0 0 a NN (NP*)) - - - - - (1)\n", "x.conll:2: the parse closes more brackets"),
        ("#begin document (x);\nd 0 0 a NN (NP* - - - - - (1)\nd 0 1 b NN NP - - - - - (1)\n",
         "x.conll:3: the parse of word 2 is 'NP'"),
        ("#begin document (x);\nd\t0\t0\t\tNN\t(1)\n", "x.conll:2: the word (column 4) is empty"),
    ],
)  # fmt: skip
def test_faults_name_file_and_line(load, content, message):
    with pytest.raises(CorpusError) as error:
        load(content, name="x.conll")
    assert message in str(error.value)


def test_twice_the_same_document_gets_a_number(load):
    once = "#begin document (x);\n" + rows(["a (1)"]) + "#end document\n"
    corpus = load(once + once)
    assert [document.id for document in corpus.documents] == ["x", "x#2"]
    assert [(s.id, s.document) for s in corpus] == [("x:1", "x"), ("x:1#2", "x#2")]
    assert corpus.counts()["renamed_documents"] == corpus.counts()["repeated_documents"] == 1
    assert "Documents with the id and the words of an earlier one, which count once more: 1." in corpus.remarks()
    other = load(once + once.replace("\ta\t", "\tb\t").replace("a (1)", "b (1)"))
    assert other.counts()["renamed_documents"] == 1
    assert "repeated_documents" not in other.counts()


def test_limit_counts_documents(load):
    once = "#begin document (x);\n" + rows(["a (1)"]) + "#end document\n"
    assert len(load(once * 3, limit=2).documents) == 2


def test_parse_gives_heads_and_tags_give_types(load):
    lines = [
        ("The", "DT", "(TOP(S(NP(NP*", "(1"),
        ("mayor", "NN", "*)", "-"),
        ("of", "IN", "(PP*", "-"),
        ("Rome", "NNP", "(NP*)))", "1)|(2)"),
        ("left", "VBD", "(VP*", "-"),
        ("her", "PRP$", "(NP*", "(3|(1)"),
        ("office", "NN", "*))))", "3)"),
    ]
    content = "".join(
        f"d 0 {number} {word} {tag} {parse} - - - - * {cell}\n" for number, (word, tag, parse, cell) in enumerate(lines)
    )
    document = load("#begin document (d); part 000\n" + content).documents[0]
    assert [(document.words[m.head or 0], m.type) for m in document.mentions] == [
        ("mayor", "nominal"), ("Rome", "proper"), ("her", "pronoun"), ("office", "nominal"),
    ]  # fmt: skip
    assert document.head_rule == "head rules on the constituents"
    assert document.type_rule == "by Penn Treebank tag of the head word"


def test_an_empty_last_column_means_no_mention(load):
    """As in the files of LitBank."""
    filler = "\t".join("_" * 8)
    content = f"#begin document (1_x_brat); part 0\nx\t0\t0\tThe\t{filler}\t(1\nx\t0\t1\tdog\t{filler}\t1)\n"
    content += f"x\t0\t2\tate\t{filler}\t\nx\t0\t3\t.\t{filler}\t\n"
    for start in (content, content.replace("(1\n", "\n").replace("1)\n", "(1)\n")):
        document = load(start).documents[0]
        assert document.words == ("The", "dog", "ate", ".")
        assert len(document.mentions) == 1
        assert document.type_rule.startswith("by form")


@pytest.mark.parametrize(("row", "tags"), [("x 0 {0} {2}", ()), ("{0} {1} {2}", ("NNP", "VBD", "PRP"))])
def test_columns_of_short_files(load, row, tags):
    cells = [("John", "NNP", "(1)"), ("saw", "VBD", "-"), ("him", "PRP", "(1)")]
    lines = "".join(row.format(*one) + "\n" for one in cells)
    document = load("#begin document (x);\n" + lines).documents[0]
    assert [s.words for s in document.sentences] == [("John", "saw", "him")]
    assert document.sentences[0].xpos == tags


def test_comments_and_odd_blanks(load):
    content = "# sent_id = 1\n#begin document part7_story\n# text = a b\nd 0 0 a\u3000b (1)\nd 0 1 c -\n"
    document = load(content).documents[0]
    assert document.id == "part7_story"
    assert document.words == ("a\u3000b", "c")


def test_a_column_without_stars_is_no_parse(load):
    content = "#begin document (x);\nd 0 0 dogs NNS dog - (1)\nd 0 1 bark VBP bark - -\n"
    assert load(content).documents[0].head_rule.startswith("the last word of the first")


def test_sentences_without_a_parse_have_heads_by_chunk(load):
    parsed = "d 0 0 the DT (NP* - (1\nd 0 1 dog NN * - -\nd 0 2 house NN *) - 1)\n"
    document = load("#begin document (x);\n" + parsed + "\nd 0 0 the DT * - (1\nd 0 1 cat NN * - 1)\n").documents[0]
    assert [document.words[m.head or 0] for m in document.mentions] == ["house", "cat"]
    assert document.head_rule.startswith("head rules on the constituents; where there are none, the last word")


def test_a_bad_parse_names_its_line_and_can_be_ignored(load):
    content = "#begin document (x);\nd 0 0 the DT (NP* - (1\nd 0 1 cat NN *) - 1)\nd 0 2 ! . foo - -\n"
    with pytest.raises(CorpusError, match=r"file.conll:4: the parse of word 3 is 'foo'"):
        load(content)
    corpus = load(content, lenient=True)
    assert corpus.counts()["malformed_brackets"] == 1
    assert corpus.documents[0].mentions[0].head == 1


def test_deep_parses_and_long_documents_are_read(load):
    deep = "(NP" * 3000 + "*" + ")" * 3000
    assert load(f"#begin document (x);\nd 0 0 a NN {deep} - (1)\n").documents[0].mentions[0].head == 0
