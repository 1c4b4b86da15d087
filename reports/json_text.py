"""Writing results as JSON."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries of plain numbers and strings, with None for NaN."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def to_json(value: Any) -> str:
    """A value as JSON text, indented, with the characters of all scripts."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
