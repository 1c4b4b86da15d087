"""Plain text: paragraphs, documents, and what is wrong with a file; frequency lists."""

from __future__ import annotations

import gzip

import pytest

from attentionology.corpora_loaders import CorpusError, load_text, read_frequencies


def test_a_paragraph_per_line_and_a_blank_line_between_documents(tmp_path):
    (tmp_path / "a.txt").write_text("One two.\nThree  four\tfive\n\n \t\n\nSix")
    text = load_text(tmp_path / "a.txt")
    assert [p.words for p in text] == [("One", "two."), ("Three", "four", "five"), ("Six",)]
    assert [p.id for p in text] == ["a.txt:1", "a.txt:2", "a.txt:6"]
    assert [p.line for p in text] == [1, 2, 6]
    assert [p.text for p in text][1] == "Three  four\tfive"
    assert [[p.id for p in document] for document in text.documents()] == [["a.txt:1", "a.txt:2"], ["a.txt:6"]]
    assert text.counts() == {"sentences": 3, "words": 6, "documents": 2}
    assert (text.files[0].sentences, text.files[0].words) == (3, 6)
    assert not text.relations
    assert text.unit == "paragraphs"


def test_a_document_ends_with_its_file(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbftwo\r\n\xe2\x80\xa8three\r\n"))
    text = load_text([tmp_path / "a.txt", tmp_path / "b.txt.gz"])
    assert [[p.words for p in d] for d in text.documents()] == [[("one",)], [("two",), ("three",)]]
    assert [f.sentences for f in text.files] == [1, 2]


def test_files_of_the_same_name_are_told_apart(write, tmp_path):
    text = load_text([write(folder, f"{folder}/a.txt") for folder in ("x", "y")])
    assert len({p.id for p in text}) == len(text.documents()) == 2
    assert text[1].document == f"{tmp_path}/y/a.txt:1"


def test_limit_counts_paragraphs(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n\n3\n")
    (tmp_path / "b.txt").write_text("4\n")
    assert [p.words for p in load_text([tmp_path / "a.txt", tmp_path / "b.txt"], limit=3)] == [("1",), ("2",), ("3",)]
    assert len(load_text([tmp_path / "a.txt", tmp_path / "b.txt"], limit=3).files) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n\n", r"a\.txt: the file contains no text"),
        (b"one\ncaf\xe9\n", r"a\.txt:2: the file is not UTF-8"),
        (b"One.\rTwo.\r", r"a\.txt:1: found a carriage return within a line"),
        (b"One.\nTwo.\rThree.\n", r"a\.txt:2: found a carriage return within a line"),
        ("One.\n".encode("utf-16-le"), r"a\.txt:1: expected text, found a NUL byte"),
        ("One.\n".encode("utf-16"), r"a\.txt:1: the file is UTF-16"),
        ("\ufeffOne.\n".encode("utf-32-le"), r"a\.txt:1: the file is UTF-32"),
        ("\ufeffOne.\n".encode("utf-32-be"), r"a\.txt:1: the file is UTF-32"),
    ],
)
def test_files_that_are_no_text(write, content, message):
    with pytest.raises(CorpusError, match=message):
        load_text(write(content, "a.txt"))


def test_forms_and_counts(write):
    assert read_frequencies(write(gzip.compress(b"the\t100\n##s 7\n\nNew York\t3\n"))) == {
        "the": 100,
        "##s": 7,
        "New York": 3,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 1\nthe\n", r":2: .*expected a form and its count, found 'the'"),
        ("the many\n", r":1: .*expected a form and its count"),
        ("the -1\n", r":1: .*expected a form and its count"),
        ("the 1_0\n", r":1: .*expected a form and its count"),
        ("the ١٢\n", r":1: .*expected a form and its count"),
        ("the 1\nof +5\n", r":2: .*expected a form and its count"),
        ("the " + "9" * 5000, r":1: .*expected a form and its count"),
        ("\t5\n", r":1: .*expected a form and its count"),
        ("the 1\nthe 2\n", r":2: .*'the' is listed twice"),
        ("\n\n", r"the file is empty"),
    ],
)
def test_bad_lines(write, text, message):
    with pytest.raises(CorpusError, match=message):
        read_frequencies(write(text))
