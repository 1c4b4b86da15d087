"""The paths that users name: which of them are the same, and what may be written to them.

One policy holds for all paths that are written. What exists is replaced only with ``overwrite``, and only if it is what
would be written there: a file, or the folder of a run. What is read is never replaced, under whatever name. Nothing is
written into the folder of a run, which has the files of its record and no others.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .durable import StorageError

RUN_RECORD = "run.json"
"""The name of the run record. Every finished folder holds it, and only such a folder may be overwritten."""


class TargetError(StorageError):
    """Nothing may be written to a path."""


def path_identity(path: str | Path) -> tuple[int, int] | str:
    """Return what a file or folder has in common under all of its names; of what does not exist, its full path."""
    with suppress(OSError, ValueError):
        status = Path(path).stat()
        if status.st_ino:  # which some file systems do not have
            return status.st_dev, status.st_ino
    return os.path.realpath(path)


def find_repetition(names: Iterable[str | Path]) -> tuple[str, str] | None:
    """Return both names of the first that is named twice, of files, folders, or models and treebanks on a server."""
    name_of: dict[tuple[int, int] | str, str] = {}
    for name in map(str, names):
        identity = path_identity(name)
        if identity in name_of:
            return name_of[identity], name
        name_of[identity] = name
    return None


def check_file(
    path: str | Path, *, overwrite: bool = False, reads: Iterable[str | Path] = (), out: str | Path | None = None
) -> Path:
    """Return the file that a path leads to, which may be written.

    Args:
        path: the path, of a file or of what does not exist yet.
        overwrite: whether a file may be replaced.
        reads: the files and folders that the command reads.
        out: the results folder that the command writes.

    Raises:
        TargetError: the file may not be written.
    """
    target = _place(path, reads, out)
    if not target.exists():
        return target
    if not target.is_file():
        raise TargetError(f"{path} is {'a folder' if target.is_dir() else 'a device'}, not a file")
    for read in read_paths(reads):
        if target.is_relative_to(read.resolve()):  # such as a file of the model
            raise TargetError(f"{path} is a file of {read}, which this command reads; it is left alone")
    if not overwrite:
        raise TargetError(f"{path} exists; use --overwrite to replace it")
    return target


def check_kept_folder(path: str | Path, *, reads: Iterable[str | Path] = (), out: str | Path | None = None) -> Path:
    """Return the folder that a path leads to, in which files are kept for later runs, such as a cache.

    Raises:
        TargetError: the path is not a folder, or one in which nothing may be written; see `check_file`.
    """
    target = _place(path, reads, out)
    if target.exists() and not target.is_dir():
        raise TargetError(f"{path} is a file, not a folder")
    if read_record(target) is not None:
        raise TargetError(f"{path} is the folder of a run, in which nothing else is kept; choose another folder")
    return target


def _place(path: str | Path, reads: Iterable[str | Path], out: str | Path | None) -> Path:
    """Return what a path leads to if it is a place for what is not in the results folder of the command."""
    target = check_place(path, reads)
    if out is not None and target.is_relative_to(Path(out).resolve()):
        raise TargetError(f"{path} would be in the results folder {out}; choose another path for one of them")
    return target


def check_place(path: str | Path, reads: Iterable[str | Path] = ()) -> Path:
    """Return what a path leads to, links followed, unless nothing may be written there whatever it is.

    Raises:
        TargetError: the path begins with ``~`` or leads in a circle, is read, or lies in the folder of a run or in a
            file.
    """
    try:
        expanded = Path(path).expanduser()
        target = Path(path).resolve()
        is_circle = target.is_symlink()  # Python 3.12 raises RuntimeError for a circle of links; 3.13 returns the link
    except RuntimeError:
        expanded, target, is_circle = Path(path), Path(path), True
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror or error}") from error
    if is_circle:
        raise TargetError(f"{path}: its symbolic links form a circle")
    if expanded != Path(path):
        raise TargetError(f"{path}: no shell has put your home folder in place of ~; write {expanded}")
    if target.exists() and path_identity(target) in map(path_identity, read_paths(reads)):
        raise TargetError(f"{path} is read by this command; it is left alone")
    for folder in target.parents:
        if folder.is_file():
            raise TargetError(f"cannot create {path}: {folder} is a file, not a folder")
        record = read_record(folder)
        # The runs of a survey lie in its folder, are files of its record, and may be made again.
        if record and (target / RUN_RECORD).relative_to(folder).as_posix() not in (record.get("files") or ()):
            raise TargetError(f"{path} would lie in {folder}, the folder of a run, which has no other files")
    return target


def read_paths(reads: Iterable[str | Path]) -> list[Path]:
    """Return the files and folders among the names of what is read; of a file in an archive, the archive."""
    found = []
    for path in map(Path, reads):
        if path.exists():
            found.append(path)
        elif archive := next(filter(Path.is_file, path.parents), None):
            found.append(archive)
    return found


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the run record in a folder; None if there is none, or if another program has written it."""
    try:
        record = json.loads((folder / RUN_RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    command, versions = record.get("command"), record.get("versions")
    is_ours = isinstance(command, str) and re.split("[ .]", command, maxsplit=1)[0] == "attentionology"
    return record if is_ours and isinstance(versions, dict) and "attentionology" in versions else None
