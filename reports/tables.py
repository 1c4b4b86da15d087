"""Tables as CSV, and results as JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal

import pandas as pd

_PARQUET: ContextVar[bool] = ContextVar("parquet", default=False)


@contextmanager
def also_as_parquet() -> Iterator[None]:
    """Let `write_csv` write each table as parquet, too, while the block runs."""
    token = _PARQUET.set(True)
    try:
        yield
    finally:
        _PARQUET.reset(token)


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table without its index, and create the folder if necessary; see `csv_text` and `also_as_parquet`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(table), encoding="utf-8", newline="")
    if _PARQUET.get():
        # Without this, a column of numbers and texts, such as one with a dash, would be refused.
        mixed = {name: "string" for name, column in table.items() if column.dtype == object}
        table.astype(mixed).to_parquet(path.with_suffix(".parquet"), index=False)


def csv_text(table: pd.DataFrame) -> str:
    """Return a table as CSV without its index."""
    # Cells are written unchanged, even if a spreadsheet would read them as formulas (`=1+1`), because programs that
    # read the file must get what the corpus says.
    texts = [column for _, column in table.items() if not pd.api.types.is_numeric_dtype(column)]
    returns = any(isinstance(cell, str) and "\r" in cell for column in texts for cell in column)
    # The csv module does not quote a carriage return that does not end a line.
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return table.to_csv(index=False, lineterminator="\n", quoting=quoting)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries of plain numbers and strings, with None for NaN."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def to_json(value: Any) -> str:
    """A value as JSON text, indented, with the characters of all scripts."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
