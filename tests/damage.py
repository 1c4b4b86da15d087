"""Ways in which a file of a cache can be damaged, for tests of everything that reads one back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zero_half(path: Path) -> None:
    """As a power loss may leave it: the size is right."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + bytes(len(content) - len(content) // 2))


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def flip_last_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def flip_seal(path: Path) -> None:
    """The digest is of something else."""
    content = path.read_bytes()
    start = content.index(b"sha256:") + len("sha256:")
    other = b"0" if content[start : start + 1] != b"0" else b"1"
    path.write_bytes(content[:start] + other + content[start + 1 :])


def garble_seal(path: Path) -> None:
    """The digest is no digest, all else as it was."""
    content = path.read_bytes()
    start = content.index(b"sha256:") + len("sha256:")
    path.write_bytes(content[:start] + b"?" * 64 + content[start + 64 :])


def garbage(path: Path) -> None:
    path.write_bytes(b"\xff{]\x00" * (path.stat().st_size // 4 + 1))


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    shutil.copy(__file__, path)


DAMAGE: list[Callable[[Path], None]] = [
    truncate, empty, zero_half, zero, flip_last_bit, flip_seal, garble_seal, garbage, become_a_folder
]  # fmt: skip
