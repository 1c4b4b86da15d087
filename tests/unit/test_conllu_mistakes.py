"""The mistakes of a CoNLL-U file, which are reported together."""

import pytest

from attentionology.corpora_loaders import CorpusError, load_treebank, read_conllu
from attentionology.corpora_loaders.coreference import load_documents
from tests.unit.test_conllu_file import GOOD, word


@pytest.fixture
def mistakes(tmp_path):
    """Read a file, and return the lines of the error without the path of the file."""

    def write_and_read(content):
        path = tmp_path / "file.conllu"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(CorpusError) as caught:
            list(read_conllu(path))
        return str(caught.value).replace(f"{path}:", "").split("\n")

    return write_and_read


def test_the_mistakes_of_a_file_are_reported_together(mistakes):
    content = (
        GOOD
        + (word(1, "a", "x") + word(2, "b", 9) + word(3, "c", 0, "") + word(5, "d") + "\n")
        + ("# sent_id = s3\n" + word(1, "e", 2) + word(2, "f", 1) + word(3, "g", 7) + word(4, "h", 4) + "\n")
        + ("# sent_id = lost\n\n" + GOOD + "one column\n" + word(1, "i") + "\n" + word("1-3", "j") + word(1, "j"))
    )
    assert mistakes(content) == [
        "4: sentence 'file.conllu:2': the head (column 7) of word 1 is 'x', not a number",
        "6: sentence 'file.conllu:2': the relation (column 8) of word 3 is '', not a name or _",
        "7: sentence 'file.conllu:2': expected word id 4, found '5'",
        "10: sentence 's3': the heads form a cycle: 1 'e' (line 10) → 2 'f' (line 11) → 1 'e' (line 10)",
        "12: sentence 's3': the head of word 3 is 7, which is outside 0 … 4; the blank line 14 ended the sentence",
        "13: sentence 's3': the heads form a cycle: 4 'h' (line 13) → 4 'h' (line 13)",
        "15: sentence 'lost': the sentence has comments but no words; the blank line 16 ended it; "
        "is the file complete?",
        "20: sentence 'file.conllu:5': expected 10 tab-separated columns, found 1; "
        "are the columns separated by spaces?",
        "23: sentence 'file.conllu:6': multiword token 1-3 ends after the last word",
    ]


@pytest.mark.parametrize("number", [2, 10, 11, 500])
def test_ten_mistakes_are_listed(mistakes, number):
    expected = [
        f"{5 * each - 1}: sentence 'file.conllu:{2 * each}': the head of word 1 is 5, which is outside 0 … 1; "
        f"the blank line {5 * each} ended the sentence"
        for each in range(1, number + 1)
    ]
    lines = mistakes("".join(GOOD + word(1, "a", 5) + "\n" for _ in range(number)))
    assert lines == expected[:10] + ["… only the first 10 mistakes are listed"] * (number > 10)


def test_a_mistake_causes_no_others(mistakes):
    skipped = word(1) + word(3, head=5) + word(4, head=1) + word(5, head=4)  # word 2 is missing
    spaces = word(1) + word(2).replace("\t", " ") + word("3.1") + word("4-5") + word(4, head=5) + word(5, head=1)
    assert mistakes(skipped + "\n" + spaces) == [
        "2: sentence 'file.conllu:1': expected word id 2, found '3'",
        "7: sentence 'file.conllu:2': expected 10 tab-separated columns, found 1; are the columns separated by spaces?",
    ]


def test_a_stray_blank_line_is_named_where_the_sentence_breaks(mistakes):
    content = GOOD + word(1, "The", 3) + word(2, "cats", 3) + "\n" + word(3, "sleep", 0) + word(4, ".", 3) + "\n" + GOOD
    assert mistakes(content) == [
        "4: sentence 'file.conllu:2': the head of word 1 is 3, which is outside 0 … 2; the blank line 6 ended the "
        "sentence",
        "5: sentence 'file.conllu:2': the head of word 2 is 3, which is outside 0 … 2; the blank line 6 ended the "
        "sentence",
        "7: sentence 'file.conllu:3': expected word id 1, found '3'; the blank line 6 ended the sentence before",
    ]


@pytest.mark.parametrize("row", [word("3-4", "du"), word("3.1", "e")], ids=["multiword token", "empty node"])
def test_a_stray_blank_line_before_a_row_that_is_no_word(mistakes, row):
    line, *_ = mistakes(GOOD + word(1) + word(2) + "\n\n" + row + word(4) + word(5))
    assert line.startswith("8: sentence 'file.conllu:3': ")
    assert line.endswith("; the blank line 6 ended the sentence before")


def test_a_mistake_and_then_bytes_that_are_not_utf8(mistakes):
    first, second = mistakes((GOOD + word(1, "a", 5) + "\n").encode() + word(1, "é").encode("latin-1"))
    assert first.startswith("4: sentence 'file.conllu:2': the head of word 1 is 5")
    assert second.startswith("6: the file is not UTF-8")


def test_what_is_before_the_first_mistake_can_be_read(tmp_path):
    path = tmp_path / "file.conllu"
    path.write_text(GOOD + GOOD + word(1, "a", 5) + "\n" + word(1, "a", 6))
    assert len(load_treebank(path, limit=2)) == 2
    for read in (load_treebank, load_documents):
        with pytest.raises(CorpusError, match=r":7: .* is 5, [^\0]*\n.*:9: .* is 6, ") as caught:
            read(path)
        assert (caught.value.file, caught.value.line, caught.value.sentence) == (path, 7, "file.conllu:3")
