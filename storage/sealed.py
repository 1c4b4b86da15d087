"""Files that contain their own SHA-256, so that damage is noticed before anything is computed from them.

A cache is read long after it was written. In the meantime a disk may have failed, a copy may have been interrupted, or
a power loss may have left a file with the right size that is full of zeros. Such a file may still be readable, and then
every result computed from it would be wrong without any sign of it. So each file has a seal near its beginning,
``sha256:`` and 64 hexadecimal digits. They are the digest of the file's name and of its content, with zeros in place of
the digits themselves, since a digest cannot include itself.

The name is part of the digest so that files that were exchanged for one another are noticed as well. The seal is inside
the file, not in a second file next to it, because one file can be replaced in one indivisible step: content and digest
can never disagree after a crash (see `attentionology.storage.durable` for that step).

The seal may be anywhere in the first 64 kB of a file, whose format only needs room for a short text there. It is the
first entry of a JSON object, or of the metadata of a safetensors file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from .durable import StorageError, write_durably

BLANK = "sha256:" + 64 * "0"
"""The placeholder for the seal in content that is to be written."""

ANYWHERE = ""
"""The name to seal files with that users may rename and move."""

_SEAL = re.compile(rb"sha256:([0-9a-f]{64})")
_HEAD = 2**16
_ZEROS = 64 * b"0"


class DamagedError(StorageError):
    """The content of a file is not what was written."""


def cache_name(path: Path) -> str:
    """The name to seal a cache file with: those of its folder and of the file, so that the cache may be moved."""
    return f"{path.parent.name}/{path.name}"


def write_sealed(path: Path, content: bytes, name: str) -> str:
    """Write a file with its digest in place of the first `BLANK` in its content, and return the digest."""
    start, end = _seal_of(content)
    if content[start:end] != _ZEROS:
        raise ValueError("the content has no placeholder for the seal")
    digest = _digest(content, start, end, name)
    write_durably(path, b"".join([memoryview(content)[:start], digest.encode(), memoryview(content)[end:]]))
    return digest


def check(path: Path, name: str) -> str:
    """Check a file that `write_sealed` wrote, and return its digest."""
    return read_sealed(path, name)[1]


def read_sealed(path: Path, name: str) -> tuple[bytes, str]:
    """The content of a file that `write_sealed` wrote, and its digest."""
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
    start, end = _seal_of(content)
    if not end:
        raise DamagedError("it has no SHA-256 digest; either it is damaged, or an older version wrote it")
    digest = _digest(content, start, end, name)
    if digest.encode() != content[start:end]:
        raise DamagedError("its content does not match its SHA-256 digest")
    return content, digest


def digest_in(path: Path) -> str:
    """The digest that a file's seal holds; empty if it has no seal. Its content is not checked."""
    with path.open("rb") as file:
        match = _SEAL.search(file.read(_HEAD))
    return match.group(1).decode() if match else ""


def write_json(path: Path, facts: dict[str, Any], name: str, *, indent: int | None = None) -> str:
    """Write an object as sealed JSON, and return the digest of the file."""
    text = json.dumps({"seal": BLANK, **facts}, indent=indent, ensure_ascii=False)
    return write_sealed(path, text.encode() + b"\n", name)


def read_json(path: Path, name: str) -> dict[str, Any]:
    """Read an object that `write_json` wrote."""
    facts: dict[str, Any] = json.loads(read_sealed(path, name)[0])
    del facts["seal"]
    return facts


def _seal_of(content: bytes) -> tuple[int, int]:
    """The half-open range of the seal's digits; empty if there is no seal."""
    match = _SEAL.search(content, 0, _HEAD)
    return match.span(1) if match else (0, 0)


def _digest(content: bytes, start: int, end: int, name: str) -> str:
    """The digest of a name and of content with zeros in place of the seal's digits."""
    digest = hashlib.sha256(name.encode() + b"\0" + content[:start] + _ZEROS)
    digest.update(memoryview(content)[end:])
    return digest.hexdigest()
