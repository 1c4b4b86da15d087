"""Frequency lists: a form and its count in each line."""

from __future__ import annotations

import re
from pathlib import Path

from .errors import CorpusError
from .lines import numbered_lines

_COUNT = re.compile(r"[0-9]{1,18}")
"""A count. `int` would also accept signs, underscores and digits of other scripts."""


def read_frequencies(path: str | Path) -> dict[str, int]:
    """Read the count of each form from lines that consist of a form, a tab or space, and a count.

    Blank lines are skipped.

    Raises:
        CorpusError: the file cannot be read or has no counts, a line is not a form and a whole number, or a form occurs
            twice.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders import read_frequencies
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "counts.txt")
        ...     _ = path.write_text("the\\t1204\\nlighthouse\\t3\\n")
        ...     read_frequencies(path)
        {'the': 1204, 'lighthouse': 3}
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
        raise CorpusError("the file is empty; expected a form and its count in each line", file=path)
    return counts
