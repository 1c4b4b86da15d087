"""Files in the cache of huggingface_hub, where the name of a file is its checksum."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path

from ...corpora_loaders.lines import file_sha256
from ...storage.durable import StorageError, write_durably


def sha256_if_intact(path: Path, checksum: str | None) -> str | None:
    """Return the SHA-256 of a file in the cache; None if the file does not have the checksum that it should have.

    Args:
        path: the file, usually a link to one that has its checksum as its name.
        checksum: the checksum that a file should have that is not a link; None if it is not known.
    """
    sha256 = file_sha256(path)
    # Not `resolve`: the file that is named by its checksum may itself be a link into a store with names of its own.
    expected = path.readlink().name if path.is_symlink() else checksum or ""
    actual = expected
    if re.fullmatch(r"[0-9a-f]{64}", expected):
        actual = sha256
    elif re.fullmatch(r"[0-9a-f]{40}", expected):
        content = path.read_bytes()
        actual = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return sha256 if actual == expected else None


def discard(path: Path) -> None:
    """Remove a file from the cache, and the files that it links to."""
    while path.is_symlink():
        target = path.parent / path.readlink()
        path.unlink()
        path = target
    path.unlink(missing_ok=True)


def remember(folder: Path, revision: str, commit: str) -> None:
    """Record which commit a branch or tag stands for, in the file where huggingface_hub looks it up offline.

    huggingface_hub writes that file before it fetches any other. Here it is written after all files have been fetched,
    so that a model that is found offline is complete.
    """
    reference = folder.parents[1] / "refs" / revision
    with suppress(OSError, StorageError):  # a cache that cannot be written serves this run all the same
        if revision != commit and not (reference.is_file() and reference.read_bytes() == commit.encode()):
            write_durably(reference, commit.encode())
