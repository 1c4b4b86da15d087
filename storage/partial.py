"""Unfinished files and folders: how they are named, who is writing them, and which of them nobody is.

A process that is killed leaves what it was writing behind. An unfinished path is therefore named after its host and
process, and its writer holds a file lock on it (``flock``) for as long as it writes. The operating system drops the
lock when the process ends, however it ends. A lock that can be taken is thus the proof that the writer is dead: unlike
a process id, it is never reused, and it is also right between containers that share a folder but do not see each
other's processes. Some network file systems keep locks on each host separately, so a path of another host is never
swept, and neither is one on a file system without locks.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks, so nothing is swept there
    fcntl = None  # type: ignore[assignment]

PARTIAL, REPLACED = "partial", "replaced"
"""Suffixes: of what is not finished yet, and of what is about to be deleted because it has been replaced."""

_HOST = re.sub(r"\W+", "_", socket.gethostname()) or "unknown"
_NAME = re.compile(r"\.(?P<target>.+)\.attentionology-(?P<host>\w+)-\d+-[0-9a-f]{8}\.(?P<kind>partial|replaced)", re.S)
_LONGEST = 120  # bytes of the target's name that are kept, so that the whole name stays below the usual limit of 255


def unfinished_name(target: str, kind: str = PARTIAL) -> str:
    """A new name for the unfinished form of a file or folder: ``.TARGET.attentionology-HOST-PID-RANDOM.KIND``."""
    short = os.fsencode(target)[:_LONGEST].decode("utf-8", "ignore")
    return f".{short}.attentionology-{_HOST[:60]}-{os.getpid()}-{secrets.token_hex(4)}.{kind}"


@contextmanager
def unfinished(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """An empty file or folder beside the target, marked as in use until the block ends.

    The block is expected to rename or delete it.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        path = target.with_name(unfinished_name(target.name))
        if folder:
            path.mkdir()
        else:
            path.touch(exist_ok=False)
        with locked(path, wait=True):
            # Another process may have swept the path in the moment between its creation and the lock.
            if path.exists():
                yield path
                return


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of a file or folder; yields whether it is held.

    Args:
        path: what to lock. Locks of folders exclude each other like those of files.
        wait: wait for another process to release the lock instead of going on without it.
    """
    descriptor = _open(path) if fcntl is not None else None
    if descriptor is None:
        yield False
        return
    try:
        yield _lock(descriptor, wait=wait)
    finally:
        os.close(descriptor)  # which releases the lock


def _open(path: Path) -> int | None:
    for flags in (os.O_RDWR, os.O_RDONLY):  # locks on NFS take a file that is open for writing; folders cannot be
        with suppress(OSError):
            return os.open(path, flags | os.O_CLOEXEC)
    return None


def _lock(descriptor: int, *, wait: bool) -> bool:
    assert fcntl is not None  # noqa: S101 a descriptor is opened only where there are locks
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another process has it, or the file system knows no locks
        return False
    return True


def abandoned(folder: Path, kind: str = PARTIAL) -> Iterator[tuple[Path, str]]:
    """Unfinished paths in a folder whose writer is certainly dead, each with the name of its target.

    The lock of a path is held while it is yielded, so that only one process deals with it.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in entries:
        parts = _NAME.fullmatch(path.name)
        if not parts or (parts["host"], parts["kind"]) != (_HOST[:60], kind):
            continue
        with locked(path, wait=False) as held:
            if held and path.exists():
                yield path, parts["target"]


def sweep(folder: Path, *kinds: str) -> None:
    """Delete what dead processes left unfinished in a folder.

    Args:
        folder: where to look. Folders inside it are not searched.
        kinds: what to look for, by default `PARTIAL`.
    """
    for kind in kinds or (PARTIAL,):
        for path, _ in abandoned(folder, kind):
            delete(path)


def delete(path: Path) -> None:
    """Delete a file or a folder as far as possible; a symbolic link is deleted, not what it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
