"""The form of results in the terminal, in figures and on the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pandas as pd

ARROWS = {
    "dep->head": "dep→head",
    "head->dep": "head→dep",
    "both": "both",
    "mention->antecedent": "m→ante",
    "antecedent->mention": "ante→m",
}


def head_name(layer: int, head: int) -> str:
    """The name of a head, such as ``8-10``: layer and head, 1-based as in the papers."""
    return f"{layer}-{head}"


_NAMES: ContextVar[Mapping[str, str] | None] = ContextVar("names of heads", default=None)


@contextmanager
def heads_named(names: Mapping[str, str]) -> Iterator[None]:
    """Let tables and figures show what people call some heads, given by the names of the heads, while a block runs."""
    token = _NAMES.set(names)
    try:
        yield
    finally:
        _NAMES.reset(token)


def shown_head(row: Mapping[str, Any]) -> str:
    """The head of a row as people read it: ``8-10``, or ``8-10 (objects)`` if it has a name."""
    head = name_head(row)
    name = (_NAMES.get() or {}).get(head)
    return head if name is None else f"{head} ({name})"


def percent(rate: float, *, sign: bool = False) -> str:
    """A rate as a percentage with one decimal; a dash for NaN."""
    if math.isnan(rate):
        return "–"
    return f"{100 * rate:+.1f}" if sign else f"{100 * rate:.1f}"


def number(value: float, digits: int = 3) -> str:
    """A number with ``digits`` decimals; a dash for NaN."""
    return "–" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"  # −0.0 + 0.0 is 0.0


def interval(low: float, high: float) -> str:
    """An interval in percent, such as ``[12.3, 45.6]``; empty if there is none."""
    # If all replicates agree (all words are right, or all are wrong), the bootstrap cannot tell how uncertain the
    # number is. An interval without width would suggest that it is certain, so there is none.
    return "" if math.isnan(low) or low == high else f"[{100 * low:.1f}, {100 * high:.1f}]"


def signed_number(value: float) -> str:
    """A number with its sign and three decimals; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:+.3f}"


def number_interval(low: float, high: float) -> str:
    """An interval of numbers, such as ``[0.123, 0.456]``; empty if there is none."""
    return f"[{low:.3f}, {high:.3f}]" if low < high else ""


def ranges(numbers: Sequence[int]) -> str:
    """Ascending whole numbers as ranges, such as ``1–3, 5``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}–{part[-1]}" for part in parts)


def best_head(row: Mapping[str, Any]) -> str:
    """The name of the best head; a dash if no head is right even once."""
    return shown_head(row) if row["correct"] else "–"


def number_equal(row: Mapping[str, Any]) -> str:
    """How many heads share the count of the best one, such as ``(2 equal)``; empty if none does."""
    return f"({row['tied']} equal)" if row["correct"] and row["tied"] > 1 else ""


def rare_in_parentheses(row: Mapping[str, Any]) -> str:
    """The number of decisions of a row, in parentheses if there are few; see `shown_rows`."""
    return f"{row['total']:,}" if row["is_frequent"] else f"({row['total']:,})"


def name_head(row: Mapping[str, Any]) -> str:
    """The name of the head of a row."""
    return head_name(row["layer"], row["head"])


def direction(row: Mapping[str, Any]) -> str:
    """The direction of a row in words and an arrow."""
    return ARROWS[row["direction"]]


def best_direction(row: Mapping[str, Any]) -> str:
    """The direction of the best head; a dash if there is no best head."""
    return ARROWS[row["direction"]] if row["correct"] else "–"


def best_offset(row: Mapping[str, Any]) -> str:
    """The best offset, such as ``(+1)``; empty if no offset is right even once."""
    return f"({row['offset']:+d})" if row["offset_correct"] else ""


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries, by the names of the columns."""
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def shown_rows(best: pd.DataFrame, min_count: int) -> Iterator[dict[str, Any]]:
    """Yield the rows in the order in which they are shown, ``is_frequent`` if they have ``min_count`` words."""
    # Frequent relations come first. `root` is left out here but not in the CSV file: a root has no head that attention
    # could point to, so its row is all zeros.
    rows = [row for row in rows_of(best) if row["relation"] != "root"]
    for is_frequent in (True, False):
        for row in rows:
            if (row["total"] >= min_count) == is_frequent:
                yield {**row, "is_frequent": is_frequent}
