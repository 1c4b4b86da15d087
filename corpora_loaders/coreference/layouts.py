"""The columns of coreference corpora with brackets in the last column, and how a line is divided into them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..lines import WHOLE_NUMBER, text_lines
from ..tags import PTB, UPOS

BEGIN = re.compile(r"#\s*begin document\b\s*(?:\((?P<name>.*)\))?(?P<rest>.*)$")
END = re.compile(r"#\s*end document\b")
PIECE = re.compile(r"\([^()|]+\)?|[^()|]+\)")
EMPTY = ("-", "_", "*", "")
FULL = 5  # the least number of columns of a row that starts with document and part
_BLANKS = re.compile(r"[ \t]+")
_SAMPLE = 20  # the number of rows from which the meaning of the columns is inferred


class Layout(NamedTuple):
    """The index of the column that holds the word, its number, its tag and its parse; None if no column does."""

    word: int
    number: int | None = None
    tag: int | None = None
    parse: int | None = None
    head: int | None = None
    relation: int | None = None


SEMEVAL2010 = Layout(word=1, number=0, tag=4, head=8, relation=10)


def layout_of(path: Path) -> Layout:
    """Infer the columns of a file from its first rows: corpora use a selection of those of OntoNotes."""
    rows: list[list[str]] = []
    for _, _, text in text_lines(path):
        if not text.strip() or BEGIN.match(text) or END.match(text):
            continue
        if row := columns_of(text, len(rows[-1]) if rows else 0):
            rows.append(row)
        if len(rows) == _SAMPLE:
            break
    width = len(rows[0]) if rows else 2
    if width >= FULL:
        return Layout(word=3, number=2, tag=4 if width >= 6 else None, parse=5 if width >= 7 else None)
    columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
    for index in range(width - 2):
        if _are_word_numbers(columns[index]):
            return Layout(word=index + 1, number=index)
    before_brackets = width - 2
    if width > 2:  # the column before the brackets may have tags, if the one before it has words
        tags, words, known_tags = set(columns[before_brackets]), set(columns[before_brackets - 1]), UPOS | PTB
        if tags <= known_tags and len(words) > 1 and not words <= known_tags:
            return Layout(word=before_brackets - 1, tag=before_brackets)
    return Layout(word=before_brackets)


def _are_word_numbers(column: Sequence[str]) -> bool:
    """Whether a column counts words: it starts from 0 or 1, and then always adds one or starts again."""
    if not all(map(WHOLE_NUMBER.fullmatch, column)):
        return False
    numbers = [int(cell) for cell in column]
    counts_up = all(after in (before + 1, numbers[0]) for before, after in pairwise(numbers))
    is_constant = len(numbers) > 1 and len(set(numbers)) == 1  # such as a column of part numbers
    return numbers[0] in (0, 1) and counts_up and not is_constant


def columns_of(text: str, width: int) -> list[str] | None:
    """Return the columns of a row; None for a comment. The row before it has ``width`` columns, 0 if there is none."""
    columns = text.split("\t") if "\t" in text else _BLANKS.split(text.strip(" "))
    if len(columns) == width + 1 and not columns[-1].strip():  # white space at the end of the line
        columns.pop()
    last = columns[-1].strip()
    # The first word of a row may be #. Then, its last column has brackets or is empty.
    if text.startswith("#") and (len(columns) == 1 or not (last in EMPTY or PIECE.match(last))):
        return None
    return columns
