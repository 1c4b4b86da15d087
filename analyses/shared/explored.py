"""From tables of heads to the values of measures, for the contributions of analyses to the explorer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...reports.explorer.data import Values
from ...reports.format import head_name, interval, percent

DIGITS = 4
"""The number of decimals of the bounds of intervals. They come from a bootstrap, whose error is larger."""


def defined(values: Iterable[float], digits: int | None = None) -> Values:
    """Return values with None in place of NaN."""
    plain = (float(value) for value in values)
    return tuple(
        None if not math.isfinite(value) else value if digits is None else round(value, digits) for value in plain
    )


def values_of(table: pd.DataFrame, column: str) -> Values:
    """Return one column of a table with one row per layer and head, in the order of the heads."""
    return defined(table.sort_values(["layer", "head"])[column].to_numpy(dtype=float))


def names_of(table: pd.DataFrame) -> list[str]:
    """Return the names of the heads of a table, in the order of its rows."""
    return [head_name(layer, head) for layer, head in zip(table["layer"], table["head"], strict=True)]


def bounds(values: npt.NDArray[np.float64]) -> tuple[Values, Values]:
    """Return the bounds of the 95 % intervals of heads."""
    low, high = np.quantile(values, [0.025, 0.975], axis=0).reshape(2, -1)
    return defined(low, DIGITS), defined(high, DIGITS)


def share(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a share in percent, with its interval if it has one."""
    return f"{percent(value)} % {interval(low, high)}".rstrip()


def points(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a difference in percentage points with its sign, and with its interval if it has one."""
    return f"{percent(value, sign=True)} points {interval(low, high)}".rstrip()


def address(**state: str | None) -> str:
    """Return the address of a view of the explorer. Values that are None are left out."""
    return "#" + "&".join(f"{name}={quote(value, safe='/:>,')}" for name, value in state.items() if value is not None)
