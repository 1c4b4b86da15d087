"""Results as JSON."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries of plain numbers and strings; a rate over nothing is None."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def to_json(value: Any) -> str:
    """JSON as written to every file: indented, readable in any script, strict about NaN."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
