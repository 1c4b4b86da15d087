"""Packages that add things to the toolkit, with what pip writes beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(folder: Path, name: str, files: Mapping[str, str], points: str, version: str = "0.1.0") -> Path:
    """Put the files of a package and its entry points into a folder for the import path, and return the folder."""
    information = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    written = {**files, f"{information}/METADATA": metadata, f"{information}/entry_points.txt": points}
    for path, text in written.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder
