"""Correlations, which are NaN where they say nothing."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

FEWEST_POINTS = 5
"""The number of points below which there is no correlation. Two points always give ±1, and four give +1 or −1 by chance
alone in one of twelve cases."""


Correlation = Literal["spearman", "pearson"]
CORRELATIONS: tuple[Correlation, ...] = get_args(Correlation)


def correlation(
    measure: Correlation, x: npt.NDArray[Any], y: npt.NDArray[Any], *, fewest: int = FEWEST_POINTS
) -> float:
    """Return Spearman's ρ or Pearson's r; NaN for fewer points than ``fewest``, or where one side does not vary.

    If a value is NaN, so is the correlation.
    """
    if len(x) < fewest or not (np.ptp(x) > 0 and np.ptp(y) > 0):  # SciPy before 1.14 refuses NaN
        return float("nan")
    # SciPy is not annotated, and the result that type checkers infer lacks the attribute.
    found: Any = stats.spearmanr(x, y) if measure == "spearman" else stats.pearsonr(x, y)
    return float(found.statistic)
