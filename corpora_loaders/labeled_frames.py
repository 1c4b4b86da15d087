"""Labeled texts from the rows of a data frame, which are checked as those of a file are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from .labeled_formats import LabeledFile, Record

FRAME = "data frame"
"""What errors have in place of the name of a file."""


@dataclass(frozen=True)
class LabeledFrame(LabeledFile):
    """The rows of a data frame in place of the lines of a file; rows are counted from 1."""

    frame: Any = None

    def records(self) -> Iterator[Record | None]:
        """Yield the rows with their numbers.

        Raises:
            CorpusError: a column is not there; a label is missing; or a text is no string and no list of strings.
        """
        self._check_names("columns", list(map(str, self.frame.columns)), None)
        columns = {str(name): values for name, values in self.frame.items()}
        queries = repeat(None) if self.query is None else columns[self.query]
        rows = zip(columns[self.label], columns[self.text], queries, strict=False)
        for number, (label, text, query) in enumerate(rows, start=1):
            if label is None or (isinstance(label, float) and math.isnan(label)):
                raise self.fault("the label is empty", number)
            for name, given in [(self.text, text)] if self.query is None else [(self.text, text), (self.query, query)]:
                words = [given] if isinstance(given, str) else given
                if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
                    raise self.fault(f"{name!r} must be a string or a list of strings, not {given!r:.60}", number)
            yield number, str(label), _text(text), None if self.query is None else _text(query)


def is_frame(given: Any) -> bool:
    """Whether something is a data frame of pandas, or a table that another library can make one of."""
    return hasattr(given, "to_pandas") or (hasattr(given, "columns") and hasattr(given, "itertuples"))


def _text(given: Any) -> str | list[str]:
    return given if isinstance(given, str) else list(given)
