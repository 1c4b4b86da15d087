"""Writing a file so that it survives a crash or a power loss whole, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from attentionology.storage.errors import AttentionologyError
from attentionology.storage.partial import delete, sweep, unfinished

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_NOT_FOR_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM)


class StorageError(AttentionologyError):
    """A file that cannot be written, read or deleted.

    Attributes:
        forbidden: whether the folder or the disk does not allow writing at all.
    """

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden


def write_durably(path: Path, content: bytes) -> None:
    """Write a file; its folder is made if need be.

    The content goes to a file beside the target, reaches the disk, and then takes the target's place. So at any moment,
    also after a power loss, the target has its old content or its new content, complete. What dead processes
    left unfinished in the folder is swept.

    Raises:
        StorageError: the file cannot be written. The target is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        with unfinished(path) as partial:
            try:
                partial.write_bytes(content)
                flush(partial)
                partial.replace(path)
            finally:
                delete(partial)
        flush(path.parent)
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written: {reason(error, path, needed=len(content))}",
            forbidden=error.errno in _FORBIDDEN,
        ) from error


def flush(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        if path.is_dir():  # a folder that may be written to but not read, or Windows
            return
        raise
    try:
        os.fsync(descriptor)
    except OSError as error:
        if not (path.is_dir() and error.errno in _NOT_FOR_FOLDERS):
            raise
    finally:
        os.close(descriptor)


def is_full(error: BaseException | None) -> bool:
    """Whether an error says that the disk, or the share of it that the user may fill, is full."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def reason(error: OSError, path: Path, *, needed: int) -> str:
    """Why something could not be written; for a full disk with how much was needed and how much is free.

    Args:
        error: what went wrong.
        path: on the disk that is full.
        needed: bytes that were to be written.
    """
    told = error.strerror or str(error)
    if not is_full(error):
        return told
    return f"{told} ({size(needed)} needed, {size(free_space(path))} free)"


def free_space(path: Path) -> int:
    """Bytes that are free on the disk of a path, which need not exist."""
    while not path.exists() and path != path.parent:
        path = path.parent
    with suppress(OSError):
        return shutil.disk_usage(path).free
    return 0


def size(n_bytes: int) -> str:
    """A number of bytes for people, with three digits or more: ``713 B``, ``64.2 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    amount = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:,.1f} TB"
