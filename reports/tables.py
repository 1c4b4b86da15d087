"""Tables as CSV."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table without its index; the folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, lineterminator="\n")
