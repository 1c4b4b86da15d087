"""From tables of heads to measures and sentences, for the contributions of analyses to the explorer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...reports.columns import Schema
from ...reports.explorer.data import Measure
from ...reports.explorer.references import Values
from ...reports.format import head_name, interval, percent

DIGITS = 4
"""The number of decimals of the bounds of intervals. They come from a bootstrap, whose error is larger."""

_UNITS = {"share": "%", "points": "%", "nats": "nats"}


def head_measures(
    schema: Schema,
    table: pd.DataFrame,
    id_of: Callable[[str], str],
    facts: Mapping[str, str] | None = None,
    counted: Mapping[str, int] | None = None,
    **given: Any,
) -> Iterator[Measure]:
    """Yield the measures of a table with one row per head: those of its columns that the explorer shows."""
    # `id_of` returns the id of the measure of a column. It is no template, because ids have names of the corpus, which
    # may contain braces. In labels and notes, names of `facts` stand for these. `counted` has numbers of inputs by
    # column, where they are not in the table itself. What is given as an attribute of the measures replaces what the
    # columns say.
    ordered = table.sort_values(["layer", "head"])
    for column in schema.columns:
        name, *ends = column.names.split() or [""]
        if column.explored is None or name not in ordered or ordered[name].isna().all():
            continue
        shown = column.explored
        placeholders = {"column": name, **(facts or {})}
        note = shown.note or f"{column.meaning[0].upper()}{column.meaning[1:]}."
        has_bounds = len(ends) == 2 and ordered[ends].notna().all(axis=None)
        low, high = (finite_values(ordered[end], DIGITS) for end in ends) if has_bounds else (None, None)
        attributes: dict[str, Any] = {
            "id": id_of(name),
            "group": shown.group,
            "label": shown.label.format_map(placeholders),
            "kind": None,
            "unit": _UNITS.get(column.type, ""),
            "values": finite_values(ordered[name].to_numpy(dtype=float)),
            "low": low,
            "high": high,
            "n": int(ordered[shown.counted].iloc[0]) if shown.counted else (counted or {}).get(name),
            "center": shown.center,
            "note": note.format_map(placeholders),
            "low_is_best": shown.low_is_best,
        }
        yield Measure(**{**attributes, **given})


def finite_values(values: Iterable[float], digits: int | None = None) -> Values:
    """Return values, rounded if a number of digits is given, with None in place of those that are not finite."""
    rounded = (float(value) if digits is None else round(float(value), digits) for value in values)
    return tuple(value if math.isfinite(value) else None for value in rounded)


def names_of(table: pd.DataFrame) -> list[str]:
    """Return the names of the heads of a table, in the order of its rows."""
    return [head_name(layer, head) for layer, head in zip(table["layer"], table["head"], strict=True)]


def bounds(values: npt.NDArray[np.float64]) -> tuple[Values, Values]:
    """Return the bounds of the 95 % intervals of all heads, given values of shape (replicates, layers, heads)."""
    low, high = np.quantile(values, [0.025, 0.975], axis=0).reshape(2, -1)
    return finite_values(low, DIGITS), finite_values(high, DIGITS)


def share(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a share in percent, with its interval if it has one."""
    return f"{percent(value)} % {interval(low, high)}".rstrip()


def points(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a difference in percentage points with its sign, and with its interval if it has one."""
    return f"{percent(value, sign=True)} points {interval(low, high)}".rstrip()


def address(**state: str | None) -> str:
    """Return the address of a view of the explorer. Values that are None are left out."""
    return "#" + "&".join(f"{name}={quote(value, safe='/:>,')}" for name, value in state.items() if value is not None)
