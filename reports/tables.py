"""Tables as CSV, and results as JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Literal

import pandas as pd


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table without its index, and create the folder if necessary; see `csv_text`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(table), encoding="utf-8", newline="")


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
