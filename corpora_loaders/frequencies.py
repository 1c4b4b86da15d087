"""Frequency lists: one form and its count per line."""

from __future__ import annotations

import re
from pathlib import Path

from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import numbered_lines

_COUNT = re.compile(r"[0-9]{1,18}")
"""Digits of other scripts, signs and underscores are no count, although Python would read them as numbers."""


def read_frequencies(path: str | Path) -> dict[str, int]:
    """Counts by form from lines ``form<tab or space>count``; empty lines are skipped.

    Raises:
        CorpusError: no such file, a line without a form and a whole count ≥ 0, a form given twice, or no line at all.
    """
    counts: dict[str, int] = {}
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        form, count = [*line.rsplit(None, 1), ""][:2]
        form = form.strip()
        if not form or not _COUNT.fullmatch(count):
            raise CorpusError(f"expected a form and its count, found {line[:60]!r}", file=path, line=number)
        if form in counts:
            raise CorpusError(f"{form!r} is listed twice", file=path, line=number)
        counts[form] = int(count)
    if not counts:
        raise CorpusError("there is nothing in it; expected lines of a form and its count", file=path)
    return counts
