"""Writing files so that a crash or a power loss leaves either the old or the new content, never a mixture.

A process that is killed leaves unfinished files behind, which are deleted later, but never while their writer may be
alive. The writer holds a lock (of filelock), which the system releases when the process ends, however it ends.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from .errors import AttentionologyError

PARTIAL, REPLACED = "partial", "replaced"
"""Suffixes of paths that are not finished yet, and of paths that have been replaced and are about to be deleted."""

_HOST = re.sub(r"\W+", "_", socket.gethostname())[:60] or "unknown"
_LOCK = re.compile(
    r"\.(?P<target>.+)\.attentionology-(?P<host>\w+)-\d+-[0-9a-f]{8}\.(?P<kind>partial|replaced)\.lock", re.S
)
_LONGEST = 120  # the bytes of the target's name that are kept, so that the new name stays below the usual limit of 255

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class StorageError(AttentionologyError):
    """A file cannot be written, read or deleted."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden  # whether writing is not allowed at all, for example on a read-only disk


def write_durably(path: Path, content: bytes | Sequence[bytes | memoryview]) -> None:
    """Write a file, and create its folder. Unfinished files that dead processes left in the folder are deleted.

    Content in several pieces is written one piece after the other, without a copy of the whole.
    """
    # The content must be on the disk *before* the rename. Otherwise, a power loss could leave a target that is empty,
    # or has the right size and is full of zeros. The folder is flushed because the new name is part of its data.
    pieces = [content] if isinstance(content, bytes) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        with unfinished_path(path) as partial:
            try:
                write_pieces(partial, pieces)
                flush(partial)
                partial.replace(path)
            finally:
                delete(partial)
        flush(path.parent)
    except OSError as error:
        why = reason(error, path, needed=sum(memoryview(piece).nbytes for piece in pieces))
        raise StorageError(f"{path}: cannot be written: {why}", forbidden=error.errno in _FORBIDDEN) from error


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write the content of a file, which is in pieces."""
    with path.open("wb") as file:
        file.writelines(pieces)


def flush(path: Path) -> None:
    """Wait until the content of a file is on the disk, or the list of names in a folder, if the system allows that."""
    with suppress(OSError) if path.is_dir() else nullcontext():  # Windows cannot open folders
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_full(error: BaseException | None) -> bool:
    """Whether an error reports that the disk, or the quota of the user, is full."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def reason(error: OSError, path: Path, *, needed: int) -> str:
    """Return why something could not be written; for a full disk, with the space needed and the space free."""
    message = error.strerror or str(error)
    if not is_full(error):
        return message
    return f"{message} ({size(needed)} needed, {size(free_space(path))} free)"


def free_space(path: Path) -> int:
    """Return the number of free bytes on the disk that holds a path, which need not exist."""
    while not path.exists() and path != path.parent:
        path = path.parent
    with suppress(OSError):
        return shutil.disk_usage(path).free
    return 0


def size(n_bytes: int) -> str:
    """Return a number of bytes in a readable form: ``713 B``, ``64.2 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    amount = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:,.1f} TB"


def unfinished_name(target: str, kind: str = PARTIAL) -> str:
    """Return a new name for the unfinished form of a path: ``.TARGET.attentionology-HOST-PID-RANDOM.KIND``."""
    short = os.fsencode(target)[:_LONGEST].decode("utf-8", "ignore")
    return f".{short}.attentionology-{_HOST}-{os.getpid()}-{secrets.token_hex(4)}.{kind}"


@contextmanager
def unfinished_path(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Create an empty file or folder next to the target, and hold its lock until a block has renamed or deleted it."""
    path = target.with_name(unfinished_name(target.name))
    with lock(path, wait=True):  # before the path exists, so that nobody finds it without its lock
        if folder:
            path.mkdir()
        else:
            path.touch(exist_ok=False)
        yield path


@contextmanager
def lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of a file or folder during a block, which receives whether the lock is held.

    The lock is a file beside it, ``.NAME.lock``, which is deleted at the end.
    """
    from filelock import FileLock  # which takes longer to be imported than all other modules of this package

    file = lock_file(path)
    # Threads share the lock, because a thread may release what another one has acquired. A marker in place of a lock,
    # on file systems without locks, would outlive a process that is killed.
    guard = FileLock(file, thread_local=False, fallback_to_soft=False)
    is_held = False
    with suppress(OSError):  # another process holds it, or the file system does not support locks or is read-only
        guard.acquire(blocking=wait)
        is_held = True
    try:
        yield is_held
    finally:
        if is_held:
            # Whoever waits for the deleted file notices that it is gone, and makes another one. Windows deletes no
            # file that is open, so there it stays. It also stays if an unfinished path could not be deleted, which is
            # found again by it.
            if not (_LOCK.fullmatch(file.name) and path.exists()):
                with suppress(OSError):
                    file.unlink()
            guard.release()


def lock_file(path: Path) -> Path:
    """Return the file that is the lock of a file or folder."""
    return path.with_name(f".{path.name.removeprefix('.')}.lock")


def abandoned_paths(folder: Path, kind: str = PARTIAL) -> Iterator[tuple[Path, str]]:
    """Yield the unfinished paths in a folder whose writers are certainly dead, each with the name of its target."""
    # A process id would be weaker evidence than a lock: ids are reused. Some network file systems keep the locks of
    # each host separately, so the paths of other hosts are never touched, and neither are paths that have no lock: they
    # could not be locked, or are those of a version before 0.4, which locked the path itself.
    entries: list[Path] = []
    with suppress(OSError):
        entries = sorted(folder.iterdir())
    for file in entries:
        match = _LOCK.fullmatch(file.name)
        if not match or (match["host"], match["kind"]) != (_HOST, kind):
            continue
        path = file.with_suffix("")
        with lock(path, wait=False) as is_held:
            if is_held and path.exists():  # only the process that holds the lock handles the path
                yield path, match["target"]


def sweep(folder: Path, *kinds: str) -> None:
    """Delete the unfinished paths that dead processes left in a folder, but not in folders inside it."""
    for kind in kinds or (PARTIAL,):
        for path, _ in abandoned_paths(folder, kind):
            delete(path)


def delete(path: Path) -> None:
    """Delete a file or a folder as far as possible. Of a symbolic link, only the link is deleted."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
