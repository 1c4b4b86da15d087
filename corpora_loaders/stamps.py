"""The size and the time of modification of a corpus file, by which a changed file is noticed."""

from __future__ import annotations

from pathlib import Path

from .errors import CorpusError, unreadable
from .lines import archive_of

Stamp = tuple[int, int]
"""The size of a file on disk, and the time of its last modification in nanoseconds."""


def stamp(path: str | Path) -> Stamp:
    """The size of a file on disk, and the time of its last modification in nanoseconds.

    Raises:
        CorpusError: the file cannot be read.
    """
    try:
        status = archive_of(path).stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return status.st_size, status.st_mtime_ns


def check_stamp(path: str | Path, expected: Stamp) -> None:
    """Check that a file is as it was when it was indexed.

    Raises:
        CorpusError: the file has changed, or cannot be read.
    """
    if stamp(path) != expected:
        raise changed(path)


def changed(path: str | Path) -> CorpusError:
    """The error for a file that has changed."""
    return CorpusError("the file has changed since it was indexed; start again", file=path)
