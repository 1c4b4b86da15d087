"""A results folder that is complete or does not exist, and the files in it. Only files of a run are ever deleted."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from ..storage.durable import (
    PARTIAL,
    REPLACED,
    abandoned_paths,
    delete,
    flush,
    free_space,
    is_full,
    lock,
    size,
    sweep,
    unfinished_name,
    unfinished_path,
)
from ..storage.paths import RUN_RECORD, TargetError, check_place, read_paths, read_record
from .tables import to_json


class RunFolderError(TargetError, OSError):
    """The results folder cannot be created."""


class RunFolder:
    """Collects results in a folder next to the target, and renames it to the target at the end."""

    # Use it as a context manager around the whole computation, so that a target that cannot be created is noticed
    # early. Inside the block, `path` is the folder to write to. If the block raises an error, the collected files are
    # removed and the target is unchanged. Unfinished folders of runs that were killed are removed, too, but never one
    # that a living process may be writing (see `attentionology.storage.durable`).
    # reads: files and folders that the run reads. They must not be in the folder that is replaced.

    def __init__(self, target: str | Path, *, overwrite: bool = False, reads: Iterable[str | Path] = ()) -> None:
        self.overwrite = overwrite
        self._holding = ExitStack()
        try:
            self.target = check_place(target)
            self.reads = read_paths(reads)
            self.path = self.target  # until the block is entered
            _tidy(self.target.parent)
            obstacle = self._why_not_replaceable()
            if self.target.exists() and Path.cwd().is_relative_to(self.target):
                obstacle = "is the current folder, or holds it; choose another --out"
        except TargetError as error:
            raise RunFolderError(str(error)) from None
        except OSError as error:
            raise RunFolderError(f"{target}: {error.strerror or error}") from error
        if obstacle:
            raise RunFolderError(f"{target} {obstacle}")

    def _why_not_replaceable(self) -> str | None:
        """Return why the target cannot be written, in words that follow its name; None if it can."""
        target = self.target
        if not target.exists():
            return None
        if not target.is_dir():
            return "is a file, not a folder; choose another --out"
        if not self.overwrite:
            return "exists; choose another --out or add --overwrite"
        record = read_record(target)
        if record is None:
            return f"has no {RUN_RECORD} written by attentionology, so it is not the result of a run; it is left alone"
        if strange := strange_file(target, record):
            return f"holds {strange}, which no run has written; nothing was deleted. Move it or choose another --out"
        if read := next((path for path in self.reads if path.resolve().is_relative_to(target)), None):
            return f"holds {read}, which this run reads; nothing was deleted. Choose another --out"
        return None

    def __enter__(self) -> RunFolder:
        parent = self.target.parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self.path = self._holding.enter_context(unfinished_path(self.target, folder=True))
        except OSError as error:
            existing = next(folder for folder in self.target.parents if folder.exists())
            why = (error.strerror or str(error)) if existing.is_dir() else f"{existing} is a file, not a folder"
            raise RunFolderError(f"cannot create {self.target}: {why}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the collected files in the place of the target, or remove them after an error."""
        partial, self.path = self.path, self.target
        with self._holding:
            if error is not None:
                self._give_up(partial, error)
                return
            try:
                for path in (*sorted(partial.rglob("*")), partial):
                    flush(path)
            except OSError as flush_error:  # which counts like an error in the block
                self._give_up(partial, flush_error)
                raise
            self._finish(partial)

    def _give_up(self, partial: Path, error: BaseException) -> None:
        """Remove the collected files, and raise an error that says more if there was no room for them."""
        sizes = {path: path.stat().st_size for path in partial.rglob("*") if path.is_file()}
        written = sum(sizes.values())
        delete(partial)
        if isinstance(error, OSError) and error.errno == errno.EFBIG and error.filename is None and sizes:
            # The system does not say which file it is. The file has reached the limit, so no other one is larger.
            largest = max(sizes, key=sizes.__getitem__)
            name = self.target / largest.relative_to(partial)
            raise RunFolderError(
                f"{name}: {error.strerror}: only {size(sizes[largest])} of it could be written; the results were "
                "removed again"
            ) from error
        if not isinstance(error, OSError) or not is_full(error):
            return
        if error.filename is not None and not Path(os.fsdecode(error.filename)).is_relative_to(partial):
            return  # another disk is full, which the error names
        raise RunFolderError(
            f"{self.target}: {error.strerror}: {size(written)} of results had been written and were removed again; now "
            f"{size(free_space(partial.parent))} are free"
        ) from error

    def _finish(self, partial: Path) -> None:
        """Rename the collected results to the target."""
        obstacle = self._why_not_replaceable()  # another program may have created the target meanwhile
        if obstacle := obstacle or _kept_names(self.target, partial):
            beside = (self.target.with_name(f"{self.target.name}-{number}") for number in count(2))
            kept = next(path for path in beside if not path.exists())
            partial.rename(kept)
            raise RunFolderError(f"{self.target} {obstacle}; the finished results are in {kept}")
        if not self.target.exists():
            partial.rename(self.target)
        else:
            old = self.target.with_name(unfinished_name(self.target.name, REPLACED))
            with lock(old, wait=False):
                self.target.rename(old)
                try:
                    partial.rename(self.target)
                except OSError:
                    old.rename(self.target)
                    raise
                flush(self.target.parent)
                delete(old)
        flush(self.target.parent)


def _kept_names(old: Path, new: Path) -> str | None:
    """Take over the names of heads from the folder that is replaced, or say why they are not those of this run."""
    if not (old / NAMES_FILE).is_file() or (new / NAMES_FILE).exists():
        return None
    digests = [((read_record(folder) or {}).get("model") or {}).get("weights_sha256") for folder in (old, new)]
    if digests[0] is None or digests[0] != digests[1]:
        return f"holds {NAMES_FILE}, the names of heads of another model; nothing was deleted. Move it"
    shutil.copy2(old / NAMES_FILE, new / NAMES_FILE)
    return None


def _tidy(folder: Path) -> None:
    """Remove the unfinished folders of runs that were killed, and restore targets that were about to be replaced."""
    for path, name in abandoned_paths(folder, REPLACED):
        target = folder / name
        if not target.exists():  # the run was killed between the two renames of a replacement
            path.rename(target)
    sweep(folder, PARTIAL, REPLACED)


EVERY_RUN = ("report.html", "summary.json", RUN_RECORD)
"""The files that every run writes."""

NAMES_FILE = "heads.json"
"""The file with the names that people give to heads. It stays if a run of the same model replaces the folder."""

_OF_OLD_RUNS = re.compile(
    r"report\.html|summary\.json|run\.json|classifier\.safetensors|tables/[^/]+\.csv|figures/[^/]+\.(svg|png)"
    r"|probes/[^/]+/probe\.(json|safetensors)|model/[^/]+\.(json|safetensors|txt|model|jinja)"
)
"""The files that runs wrote before run records named them."""

_OF_FILE_MANAGERS = (".DS_Store", "Thumbs.db", "desktop.ini")


def address_of(page: Path, folder: Path) -> str:
    """The address of a page from the pages of a folder."""
    return quote(Path(os.path.relpath(page.resolve(), folder.resolve())).as_posix())


def files_of_run(folder: Path) -> list[str]:
    """The files to name in a run record: those in the folder and those of every run, as sorted relative paths."""
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return sorted(present.union(EVERY_RUN))


def identity_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What tells a run from others: the digests of its model and of its corpus files, and its options."""
    identity = {
        "model": record.get("model", {}).get("weights_sha256"),
        "corpus": [file.get("sha256") for file in record.get("corpus", {}).get("files", ())],
        "options": record.get("options"),
    }
    plain: dict[str, Any] = json.loads(to_json(identity))  # as a run record that was read has it
    return plain


def strange_file(folder: Path, record: dict[str, Any]) -> str | None:
    """A file in the folder of a run that the run has not written, as a relative path; None if there is none."""
    named = record.get("files")
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(folder).as_posix()
        is_expected = name in named if isinstance(named, list) else _OF_OLD_RUNS.fullmatch(name)
        if not is_expected and name != NAMES_FILE and path.name not in _OF_FILE_MANAGERS:
            return name
    return None
