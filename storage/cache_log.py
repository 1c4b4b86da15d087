"""What happened to the files of a cache during a run, for the run record and for warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from .durable import StorageError, delete
from .sealed import DamagedError

Read = TypeVar("Read")


class DiscardedFile(NamedTuple):
    """A cache file that was deleted because it could not be trusted."""

    path: Path
    reason: str


@dataclass
class CacheLog:
    """Reads and writes the files of a cache, and records what a reader of the results should know."""

    discarded: list[DiscardedFile] = field(default_factory=list)
    not_kept: list[Path] = field(default_factory=list)  # what could not be written because the cache is read-only

    def read(self, path: Path, reader: Callable[[Path], Read]) -> Read | None:
        """Read a file; None if it does not exist, or was discarded because it is damaged."""
        try:
            return reader(path)
        except FileNotFoundError:
            return None
        except DamagedError as error:
            self.discard(path, str(error))
            return None

    def discard(self, path: Path, reason: str) -> None:
        """Delete a file, or a folder of that name, and record the reason."""
        delete(path)
        if path.exists() or path.is_symlink():
            raise StorageError(f"{path}: {reason}, and it cannot be deleted; choose another cache", forbidden=True)
        self.discarded.append(DiscardedFile(path, reason))

    def keep(self, path: Path, write: Callable[[], object]) -> bool:
        """Write a file that the run does not depend on, and return whether it could be written."""
        try:
            write()
        except StorageError as error:
            if not error.forbidden:
                raise
            if path not in self.not_kept:
                self.not_kept.append(path)
            return False
        return True

    def add(self, other: CacheLog) -> None:
        """Add the records of another log."""
        self.discarded += other.discarded
        self.not_kept += [path for path in other.not_kept if path not in self.not_kept]

    def warnings(self) -> list[str]:
        """Return warnings for the reader, one for each folder and reason."""
        names_by_cause: dict[tuple[Path, str], list[str]] = {}
        for path, reason in self.discarded:
            names_by_cause.setdefault((path.parent, reason), []).append(path.name)
        warnings = []
        for (folder, reason), (first, *others) in names_by_cause.items():
            warning = f"The cache file {folder / first} could not be used and was made again: {reason}."
            if others:
                files = "1 more file" if len(others) == 1 else f"{len(others):,} more files"
                warning += f" The same is true of {files} in this folder."
            warnings.append(warning)
        if self.not_kept:
            folder = self.not_kept[0].parent
            warnings.append(f"The cache {folder} is read-only: what was trained is not kept there for later runs.")
        return warnings

    def describe(self) -> dict[str, Any]:
        """Return the record of all discarded and missing files, for ``run.json``."""
        return {
            "discarded": [{"file": str(path), "reason": reason} for path, reason in self.discarded],
            "not_kept": [str(path) for path in self.not_kept],
        }
