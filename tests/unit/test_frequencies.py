"""Frequency lists."""

from __future__ import annotations

import gzip

import pytest

from attentionology.corpora_loaders import CorpusError, read_frequencies


def test_forms_and_counts(tmp_path):
    file = tmp_path / "f.tsv.gz"
    file.write_bytes(gzip.compress(b"the\t100\n##s 7\n\nNew York\t3\n"))
    assert read_frequencies(file) == {"the": 100, "##s": 7, "New York": 3}


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
def test_bad_lines(tmp_path, text, message):
    file = tmp_path / "f.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=message):
        read_frequencies(file)
