"""Files that contain their own SHA-256, so that damage is noticed before anything is computed from them.

A damaged file in a cache may still be readable, and then every result computed from it would be wrong without any sign
of it. The seal, ``sha256:`` and 64 hexadecimal digits, is inside the file and not beside it, because one file can be
replaced in one indivisible step: content and digest can never disagree after a crash.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .durable import StorageError, write_durably

BLANK = "sha256:" + 64 * "0"
"""The placeholder for the seal in content that is to be written."""

ANYWHERE = ""
"""The name to seal files with that users may rename and move."""

_SEAL = re.compile(rb"sha256:([0-9a-f]{64})")
_HEAD = 2**16  # how many bytes at the beginning of a file are searched for its seal
_ZEROS = 64 * b"0"


class DamagedError(StorageError):
    """The content of a file is not what was written."""


def write_sealed(path: Path, content: bytes | Sequence[bytes | memoryview], name: str | None = None) -> str:
    """Write a file with its digest in place of the first `BLANK` in its content, and return the digest.

    Of content in several pieces, the first one holds the placeholder. Large pieces are not copied.
    """
    head, *rest = [content] if isinstance(content, bytes) else content
    head = bytes(head)
    start, end, digest = _seal_of(path, [head, *rest], name)
    if head[start:end] != _ZEROS:
        raise ValueError("the content has no placeholder for the seal")
    write_durably(path, [memoryview(head)[:start], digest.encode(), memoryview(head)[end:], *rest])
    return digest


def check(path: Path, name: str | None = None) -> str:
    """Check a file that `write_sealed` wrote, and return its digest."""
    _, digest = read_sealed(path, name)
    return digest


def read_sealed(path: Path, name: str | None = None) -> tuple[bytes, str]:
    """Return the content of a file that `write_sealed` wrote, and its digest."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise DamagedError("it is a folder") from None
    except OSError as error:
        if error.errno == errno.EIO:
            raise DamagedError("the disk cannot read it") from error
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error
    start, end, digest = _seal_of(path, [content], name)
    if not end:
        raise DamagedError("it has no SHA-256 digest; either it is damaged, or an older version wrote it")
    if content[start:end] != digest.encode():
        raise DamagedError("its content does not match its SHA-256 digest")
    return content, digest


def _seal_of(path: Path, content: Sequence[bytes | memoryview], name: str | None) -> tuple[int, int, str]:
    """Return the half-open range of the seal's digits, which is (0, 0) if there is no seal, and the right digits.

    Of content in several pieces, the seal is in the first.
    """
    # The digest has zeros in place of the seal, since it cannot include itself. It covers the name, so that files that
    # were exchanged are noticed: by default that of the folder and the file, so that a cache may be moved as a whole.
    head, *rest = content
    match = _SEAL.search(head, 0, _HEAD)
    start, end = match.span(1) if match else (0, 0)
    name = f"{path.parent.name}/{path.name}" if name is None else name
    digest = hashlib.sha256(name.encode() + b"\0" + bytes(head[:start]) + _ZEROS)
    for piece in (memoryview(head)[end:], *rest):
        digest.update(piece)
    return start, end, digest.hexdigest()


def digest_in(path: Path) -> str:
    """Return the digest that a file's seal holds; empty if it has no seal. Its content is not checked."""
    with path.open("rb") as file:
        match = _SEAL.search(file.read(_HEAD))
    return match.group(1).decode() if match else ""


def write_json(path: Path, facts: dict[str, Any], name: str | None = None, *, indent: int | None = None) -> str:
    """Write an object as sealed JSON, and return the digest of the file."""
    text = json.dumps({"seal": BLANK, **facts}, indent=indent, ensure_ascii=False)
    return write_sealed(path, text.encode() + b"\n", name)


def read_json(path: Path, name: str | None = None) -> dict[str, Any]:
    """Read an object that `write_json` wrote."""
    content, _ = read_sealed(path, name)
    facts: dict[str, Any] = json.loads(content)
    del facts["seal"]
    return facts
