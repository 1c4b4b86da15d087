"""How results are written for people, the same in terminal, figures and page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

ARROWS = {
    "dep->head": "dep→head",
    "head->dep": "head→dep",
    "mention->antecedent": "m→ante",
    "antecedent->mention": "ante→m",
}


def head_name(layer: int, head: int) -> str:
    """``8-10``: layer and head, 1-based as in the papers."""
    return f"{layer}-{head}"


def percent(rate: float, *, sign: bool = False) -> str:
    """A rate as a percentage with one decimal; a dash where there is none."""
    if math.isnan(rate):
        return "–"
    return f"{100 * rate:+.1f}" if sign else f"{100 * rate:.1f}"


def number(value: float, digits: int = 3) -> str:
    """A number with so many decimals; a dash where there is none."""
    return "–" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def interval(low: float, high: float) -> str:
    """``[12.3, 45.6]`` in percent; empty where there is none.

    Where all replicates agree (all words right, or all wrong) the bootstrap cannot tell how sure the number
    is, and an interval of no width would say that it is certain.
    """
    return "" if math.isnan(low) or low == high else f"[{100 * low:.1f}, {100 * high:.1f}]"


def ranges(numbers: Sequence[int]) -> str:
    """``1–3, 5``: ascending whole numbers."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts)


def best_head(row: dict[str, Any]) -> str:
    """Name of the best head; a dash where no head gets anything right."""
    return head_name(row["layer"], row["head"]) if row["correct"] else "–"


def best_direction(row: dict[str, Any]) -> str:
    """Direction of the best head; a dash where there is none."""
    return ARROWS[row["direction"]] if row["correct"] else "–"


def best_offset(row: dict[str, Any]) -> str:
    """``(+1)``, empty where no offset gets anything right."""
    return f"({row['offset']:+d})" if row["offset_correct"] else ""


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table by the names of its columns."""
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def shown_rows(best: pd.DataFrame, min_count: int) -> Iterator[tuple[dict[str, Any], bool]]:
    """Rows in the order to show them, each with whether it has ``min_count`` words.

    Frequent relations first. ``root`` is left out: no head can point to a root, so its row is all zeros (it
    stays in the CSV).
    """
    rows = [row for row in rows_of(best) if row["relation"] != "root"]
    for frequent in (True, False):
        for row in rows:
            if (row["total"] >= min_count) == frequent:
                yield row, frequent
