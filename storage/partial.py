"""Unfinished files and folders: their names, their locks, and the deletion of those whose writer is dead.

A process that is killed leaves unfinished files behind. They must be deleted some day, but never while their writer is
alive. So the name of an unfinished path includes its host and its process, and the writer holds a file lock (``flock``)
on it for as long as it writes. The operating system releases the lock when the process ends, however it ends. If
another process can take the lock, the writer is therefore dead. A process id would be weaker evidence: ids are reused,
and containers that share a folder do not see each other's processes.

Some network file systems keep the locks of each host separately. So the paths of other hosts are never deleted, and
neither are paths on file systems without locks.
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
except ImportError:  # Windows has no such locks, so nothing is deleted there
    fcntl = None  # type: ignore[assignment]

PARTIAL, REPLACED = "partial", "replaced"
"""Suffixes of paths that are not finished yet, and of paths that have been replaced and are about to be deleted."""

_HOST = re.sub(r"\W+", "_", socket.gethostname())[:60] or "unknown"
_NAME = re.compile(r"\.(?P<target>.+)\.attentionology-(?P<host>\w+)-\d+-[0-9a-f]{8}\.(?P<kind>partial|replaced)", re.S)
_LONGEST = 120  # the bytes of the target's name that are kept, so that the new name stays below the usual limit of 255


def unfinished_name(target: str, kind: str = PARTIAL) -> str:
    """A new name for the unfinished form of a file or folder: ``.TARGET.attentionology-HOST-PID-RANDOM.KIND``."""
    short = os.fsencode(target)[:_LONGEST].decode("utf-8", "ignore")
    return f".{short}.attentionology-{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.{kind}"


@contextmanager
def unfinished(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Create an empty file or folder next to the target, and hold its lock until a block has renamed or deleted it."""
    while True:
        path = target.with_name(unfinished_name(target.name))
        if folder:
            path.mkdir()
        else:
            path.touch(exist_ok=False)
        with locked(path, wait=True):
            # Another process may have deleted the path between its creation and the lock.
            if path.exists():
                yield path
                return


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of a file or folder during a block, which receives whether the lock is held."""
    descriptor, held = _open(path), False
    if descriptor is None:
        yield held
        return
    with suppress(OSError):  # another process holds it, or the file system does not support locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        held = True
    try:
        yield held
    finally:
        os.close(descriptor)  # which releases the lock


def _open(path: Path) -> int | None:
    # NFS only locks files that are open for writing, and folders cannot be opened so.
    for flags in (os.O_RDWR, os.O_RDONLY) if fcntl is not None else ():
        with suppress(OSError):
            return os.open(path, flags | os.O_CLOEXEC)
    return None


def abandoned(folder: Path, kind: str = PARTIAL) -> Iterator[tuple[Path, str]]:
    """Yield the unfinished paths in a folder whose writers are certainly dead, each with the name of its target."""
    entries: list[Path] = []
    with suppress(OSError):
        entries = sorted(folder.iterdir())
    for path in entries:
        parts = _NAME.fullmatch(path.name)
        if not parts or (parts["host"], parts["kind"]) != (_HOST, kind):
            continue
        with locked(path, wait=False) as held:
            if held and path.exists():  # only the process that holds the lock handles the path
                yield path, parts["target"]


def sweep(folder: Path, *kinds: str) -> None:
    """Delete the unfinished paths that dead processes left in a folder, but not in folders inside it."""
    for kind in kinds or (PARTIAL,):
        for path, _ in abandoned(folder, kind):
            delete(path)


def delete(path: Path) -> None:
    """Delete a file or a folder as far as possible. Of a symbolic link, only the link is deleted."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
