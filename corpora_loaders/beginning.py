"""The beginning of a file, by which the formats of annotated corpora are told from each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from .coreference.conll2012 import BEGIN
from .lines import located_lines

_MOST_LINES = 1000  # the number of lines in which the first row is searched


@dataclass(frozen=True)
class Beginning:
    """The beginning of a file, by which its format is recognized."""

    comments: tuple[str, ...] = ()  # the lines before the first row that start with ``#``
    row: str = ""  # the first line that is neither blank nor a comment
    line: int = 0  # the number of that line, from 1

    @property
    def cells(self) -> list[str]:
        """The cells of the row, which white space separates. Line ends may be CR alone."""
        return self.row.partition("\r")[0].split()

    @property
    def begins_document(self) -> bool:
        """Whether a comment begins a document, as in CoNLL-2012 and SemEval-2010."""
        return any(map(BEGIN.match, self.comments))


def beginning_of_file(path: str | Path) -> Beginning:
    """Read the beginning of a file."""
    comments: list[str] = []
    for line, _, text in islice(located_lines(path), _MOST_LINES):
        if text.startswith("#"):
            comments.append(text)
        elif text.strip():
            return Beginning(tuple(comments), text, line)
    return Beginning(tuple(comments))
