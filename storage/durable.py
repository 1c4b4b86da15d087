"""Writing files so that a crash or a power loss leaves either the old or the new content, never a mixture.

Three steps are needed, in this order:

1. The content is written to another file in the same folder. A crash in the meantime leaves the target untouched.
2. That file is flushed to the disk (``fsync``) *before* it is renamed. An operating system keeps written data in
   memory for seconds and may write names and contents to the disk in any order. Without the flush, a power loss after
   the rename can leave a target that is empty, or that has the right size but is full of zeros.
3. The file is renamed to the target, which replaces the old content in one indivisible step, and then the folder is
   flushed, too, because the new name is part of the folder's data. Until then, a power loss may undo the rename and
   bring back the old content, although the caller believes that the file is written.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from .errors import AttentionologyError
from .partial import delete, sweep, unfinished

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_NOT_FOR_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM)


class StorageError(AttentionologyError):
    """A file cannot be written, read or deleted."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        super().__init__(message)
        self.forbidden = forbidden  # whether writing is not allowed at all, for example on a read-only disk


def write_durably(path: Path, content: bytes) -> None:
    """Write a file, and create its folder. Unfinished files that dead processes left in the folder are deleted."""
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
        why = reason(error, path, needed=len(content))
        raise StorageError(f"{path}: cannot be written: {why}", forbidden=error.errno in _FORBIDDEN) from error


def flush(path: Path) -> None:
    """Wait until the content of a file, or the list of names in a folder, is on the disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        if path.is_dir():  # the folder may be written to but not read, or the system is Windows
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
    """Whether an error reports that the disk, or the quota of the user, is full."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def reason(error: OSError, path: Path, *, needed: int) -> str:
    """The reason why something could not be written; for a full disk, with the space needed and the space free."""
    message = error.strerror or str(error)
    if not is_full(error):
        return message
    return f"{message} ({size(needed)} needed, {size(free_space(path))} free)"


def free_space(path: Path) -> int:
    """The number of free bytes on the disk that holds a path, which need not exist."""
    while not path.exists() and path != path.parent:
        path = path.parent
    with suppress(OSError):
        return shutil.disk_usage(path).free
    return 0


def size(n_bytes: int) -> str:
    """A number of bytes in a readable form: ``713 B``, ``64.2 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    amount = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:,.1f} TB"
