"""What happened to the files of a cache in one run, for the run record and the reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from attentionology.storage.durable import StorageError
from attentionology.storage.partial import delete
from attentionology.storage.sealed import DamagedError

Read = TypeVar("Read")


class Discarded(NamedTuple):
    """A file that was thrown away, to be made again."""

    path: Path
    reason: str


@dataclass
class CacheLog:
    """Reads and writes the files of a cache, and remembers what a reader of the results must know.

    Attributes:
        discarded: files that were thrown away because they could not be trusted.
        not_kept: files that could not be written because the cache is read-only.
    """

    discarded: list[Discarded] = field(default_factory=list)
    not_kept: list[Path] = field(default_factory=list)

    def read(self, path: Path, reader: Callable[[Path], Read]) -> Read | None:
        """What a reader makes of a file; None if there is no such file or it is damaged and was discarded.

        Raises:
            StorageError: the file cannot be read, or is damaged and cannot be deleted.
        """
        try:
            return reader(path)
        except FileNotFoundError:
            return None
        except DamagedError as error:
            self.discard(path, str(error))
            return None

    def discard(self, path: Path, reason: str) -> None:
        """Delete a file (or whatever is in its place) and remember why.

        Raises:
            StorageError: it cannot be deleted.
        """
        delete(path)
        if path.exists() or path.is_symlink():
            raise StorageError(f"{path}: {reason}, and it cannot be deleted; choose another cache", forbidden=True)
        self.discarded.append(Discarded(path, reason))

    def keep(self, path: Path, write: Callable[[], object]) -> bool:
        """Write a file that the run can do without; returns whether that was allowed.

        Raises:
            StorageError: it is allowed, and fails.
        """
        try:
            write()
        except StorageError as error:
            if not error.forbidden:
                raise
            if path not in self.not_kept:
                self.not_kept.append(path)
            return False
        return True

    def warnings(self) -> list[str]:
        """Sentences for the reader, one per folder and reason."""
        groups: dict[tuple[Path, str], list[str]] = {}
        for path, reason in self.discarded:
            groups.setdefault((path.parent, reason), []).append(path.name)
        said = []
        for (folder, reason), names in groups.items():
            more = len(names) - 1
            also = f" The same is true of {more:,} more file{'s' if more > 1 else ''} in this folder." if more else ""
            said.append(f"The cache file {folder / names[0]} could not be used and was made again: {reason}.{also}")
        if self.not_kept:
            folder = self.not_kept[0].parent
            said.append(f"The cache {folder} is read-only: what was trained is not kept there for later runs.")
        return said

    def describe(self) -> dict[str, Any]:
        """The same, file by file."""
        return {
            "discarded": [{"file": str(path), "reason": reason} for path, reason in self.discarded],
            "not_kept": [str(path) for path in self.not_kept],
        }
