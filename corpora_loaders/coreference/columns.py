"""The columns of CoNLL-2012 files: which of them holds the word, its number, its tag and its parse.

The format has no fixed number of columns. OntoNotes has one row for each word with the columns document, part, word
number (from 0), word, tag, parse, lemma, frame, sense, speaker, named entity, predicate arguments (as many as the
sentence has predicates), coreference. Other corpora use a selection of these columns and rarely say which. Only the
last column is the same everywhere: it holds the brackets of mentions, such as ``(12``, ``12)``, ``(12)`` or, if several
start or end at the word, ``(12|(3)``. The other columns are inferred from how many there are:

* 5 or more columns: document, part, number and word come first. If there are 6 or more, the tag is the next one; if
  there are 7 or more, the parse follows it.
* 3 or 4 columns: the word follows a column of word numbers that start from 0 or 1. If there is no such column, the word
  is in the column before the last, or in the one before that if it is followed by tags.
* 2 columns: word, coreference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ..lines import WHOLE_NUMBER, numbered_lines
from .types import PTB, UPOS

BEGIN = re.compile(r"#\s*begin document\b\s*(?:\((?P<name>.*)\))?(?P<rest>.*)$")
END = re.compile(r"#\s*end document\b")
PIECE = re.compile(r"\([^()|]+\)?|[^()|]+\)")
EMPTY = ("-", "_", "*", "")
FULL = 5
"""The least number of columns of a row that starts with document and part."""

_BLANKS = re.compile(r"[ \t]+")
_SAMPLE = 20  # the number of rows from which the meaning of the columns is inferred


@dataclass(frozen=True)
class Layout:
    """The index of the column that holds the word, its number, its tag and its parse; None if no column does."""

    word: int
    number: int | None = None
    tag: int | None = None
    parse: int | None = None


def layout_of(path: Path) -> Layout:
    """Infer the columns of a file from its first rows."""
    rows: list[list[str]] = []
    for _, text in numbered_lines(path):
        if text.strip() and not BEGIN.match(text) and not END.match(text):
            columns = columns_of(text, len(rows[-1]) if rows else 0)
            rows += [columns] if columns else []
        if len(rows) == _SAMPLE:
            break
    width = len(rows[0]) if rows else 2
    if width >= FULL:
        return Layout(word=3, number=2, tag=4 if width >= 6 else None, parse=5 if width >= 7 else None)
    cells = list(zip(*(row for row in rows if len(row) == width), strict=True))
    number = next((index for index in range(width - 2) if _are_word_numbers(cells[index])), None)
    if number is not None:
        return Layout(word=number + 1, number=number)
    word = width - 2
    if width > 2:
        known, last, previous = UPOS | PTB, set(cells[word]), set(cells[word - 1])
        if last <= known and len(previous) > 1 and not previous <= known:
            return Layout(word=word - 1, tag=word)
    return Layout(word=word)


def _are_word_numbers(column: Sequence[str]) -> bool:
    """Whether a column counts words: it starts from 0 or 1, and then always adds one or starts again."""
    if not all(map(WHOLE_NUMBER.fullmatch, column)):
        return False
    numbers = [int(cell) for cell in column]
    counts_up = all(after in (before + 1, numbers[0]) for before, after in pairwise(numbers))
    return numbers[0] in (0, 1) and counts_up and (len(numbers) == 1 or len(set(numbers)) > 1)


def columns_of(text: str, width: int) -> list[str] | None:
    """The columns of a row; None for a comment.

    A line that starts with ``#`` may also be a row whose first word is ``#``; it is one if its last column has brackets
    or is empty. White space at the end of the line is not a column if the row before, which has ``width`` columns, had
    no such column.
    """
    columns = text.split("\t") if "\t" in text else _BLANKS.split(text.strip(" "))
    if len(columns) == width + 1 and not columns[-1].strip():
        columns.pop()
    last = columns[-1].strip()
    if text.startswith("#") and (len(columns) == 1 or not (last in EMPTY or PIECE.match(last))):
        return None
    return columns
