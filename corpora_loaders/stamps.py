"""The sizes and the times of corpus files, by which a changed file is noticed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .errors import CorpusError, unreadable
from .lines import archive_of

Stamp = tuple[int, int]
"""The size of a file on disk, and the time of its last modification in nanoseconds."""


def stamp(path: str | Path) -> Stamp:
    """The size and the time of a file, by which a change is noticed."""
    try:
        status = archive_of(path).stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return status.st_size, status.st_mtime_ns


def changed(path: str | Path | None) -> CorpusError:
    """The error for a file that has changed."""
    return CorpusError("the file has changed since it was read first; start again", file=path)


def check_stamps(stamps: Mapping[str, Stamp]) -> None:
    """Check that files are as they were."""
    for path, expected in stamps.items():
        if stamp(path) != expected:
            raise changed(path)


@contextmanager
def unchanged(stamps: Mapping[str, Stamp]) -> Iterator[None]:
    """Check files before and after they are read again. A fault that was not there before is a change, too."""
    check_stamps(stamps)
    try:
        yield
    except CorpusError as error:
        if isinstance(error.__cause__, OSError):  # for example, the file is gone
            raise
        raise changed(error.file) from error
    check_stamps(stamps)
