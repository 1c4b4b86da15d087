"""Lines of files: their longest length, and line ends of old Macintosh computers, whatever reads them."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from attentionology import CorpusError, load_labeled, load_text, load_treebank
from attentionology.corpora_loaders import lines
from attentionology.corpora_loaders.documents import load_documents
from attentionology.corpora_loaders.lines import LONGEST_LINE, located_lines
from tests.corpora import chain

READERS: dict[str, Any] = {"conllu": load_treebank, "txt": load_text, "jsonl": load_labeled, "conll": load_documents}


@pytest.mark.parametrize("ending", READERS)
def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    path = tmp_path / f"long.{ending}.gz"
    path.write_bytes(gzip.compress(b"x" * 1001))
    with pytest.raises(CorpusError, match=r"the line has more than 1,000 bytes, which is the limit") as caught:
        READERS[ending](path)
    assert (caught.value.file, caught.value.line) == (path, 1)


def test_the_limit_counts_the_bytes_of_one_line(tmp_path, monkeypatch):
    assert LONGEST_LINE >= 2**22  # War and Peace in one line
    monkeypatch.setattr(lines, "LONGEST_LINE", 8)
    path = tmp_path / "a.txt"
    path.write_text("1234567\n" * 3 + "12345678")
    assert [line for _, _, line in located_lines(path)] == ["1234567"] * 3 + ["12345678"]
    assert [offset for _, offset, _ in located_lines(path)] == [8, 16, 24, 32]
    assert [number for number, _, _ in located_lines(path, offset=16, lines=2)] == [3, 4]
    path.write_text("1234567\n12345678\n")
    with pytest.raises(CorpusError) as caught:
        list(located_lines(path))
    assert caught.value.line == 2


@pytest.mark.parametrize("first", ["# sent_id = a\n# text = Ann reads .\n", ""])
def test_a_treebank_with_carriage_returns_alone_is_refused_in_one_short_line(tmp_path, first):
    path = tmp_path / "mac.conllu"
    path.write_bytes((first + chain(["Ann", "reads", "."]) * 500).replace("\n", "\r").encode())
    with pytest.raises(CorpusError) as caught:
        load_treebank(path)
    assert str(caught.value) == f"{path}:1: line ends must be LF or CR LF, not CR alone"


def test_documents_with_carriage_returns_alone_are_refused(tmp_path):
    path = tmp_path / "mac.conll"
    path.write_bytes(b"#begin document (d)\rAnn (1)\rshe (1)\r#end document\r")
    with pytest.raises(CorpusError, match=r"mac\.conll:1: .*line ends must be LF or CR LF"):
        load_documents(path)


def test_a_carriage_return_within_a_comment_is_no_line_end(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_bytes(("# note = one\rtwo\n" + chain(["Ann", "reads"])).encode())
    assert len(load_treebank(path)) == 1


def test_an_error_quotes_no_more_than_the_beginning_of_an_id():
    assert len(str(CorpusError("no", sentence="x" * 10**5))) < 200
