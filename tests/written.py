"""What commands have written, as bytes by the names of files."""

from __future__ import annotations

from pathlib import Path


def contents(folder: Path, below: str = "") -> dict[str, bytes]:
    """All files of a folder, or of one in it."""
    where = folder / below
    return {path.relative_to(where).as_posix(): path.read_bytes() for path in where.rglob("*") if path.is_file()}


def without_record(folder: Path) -> dict[str, bytes]:
    """All files of a run but its record, which has times."""
    return {name: content for name, content in contents(folder).items() if name != "run.json"}


def results(folder: Path) -> dict[str, bytes]:
    """What a run says, without times, paths and what it found in the cache."""
    endings = (".csv", ".tex", ".svg", ".safetensors", "probe.json")
    return {name: content for name, content in contents(folder).items() if name.endswith(endings)}
