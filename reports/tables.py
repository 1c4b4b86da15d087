"""Tables as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table without its index; the folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, lineterminator="\n")


def write_controls(controls: Sequence[pd.DataFrame], key: Sequence[str], path: Path) -> None:
    """Write the best heads of randomly initialised copies, numbered from 1; nothing if there are none.

    Args:
        controls: the best-heads table of each copy.
        key: the columns that tell its rows apart.
        path: the file.
    """
    if controls:
        numbered = [control.assign(copy=k) for k, control in enumerate(controls, start=1)]
        columns = ["copy", *key, "direction", "layer", "head", "correct", "total", "accuracy"]
        write_csv(pd.concat(numbered)[columns], path)
