"""What the tests of ``attentionology probe`` have in common."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attentionology.scripts.cli import main


def run(*arguments):
    return main(["probe", *map(str, arguments)])


def table(folder, name="probe"):
    return pd.read_csv(folder / "tables" / f"{name}.csv")


def files_of(folder: Path) -> dict[str, bytes]:
    """What a run says, without times, paths and what it found in the cache."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".csv", ".svg", ".safetensors") or path.name == "probe.json"
    }
