"""Differences of statistics between two runs, with intervals and p values that are adjusted for their number.

* The standard error of a difference is the standard deviation of the differences of the replicates. Replicate r draws
  the same sentences in both runs, so whatever makes a sentence easy or difficult for both of them cancels out. If the
  runs read different sentences, the draws are independent, and the same formula gives the standard error of a
  difference between two samples.
* The p value and the 95 % interval are those of a normal distribution with this standard error. To count the replicates
  beyond 0 would not do: with 1,000 replicates such a p value is 0 or at least 0.001, and the correction for 45
  relations asks for p values around 0.05 / 45 ≈ 0.001. Quantiles of the replicates would do for the interval, but the
  replicates of a choice among few heads take few values, and an interval that leaves out 0 beside a p value of 0.6
  helps no reader; both cover equally well in simulations. The normal distribution is a good approximation for a
  difference of two accuracies over many sentences, and a poor one for a few decisions, which is one reason for the
  smallest number of decisions below which a group is not tested. An interval of a difference of shares is cut to the
  possible range, from −1 to 1. The p value does not depend on the cut.
* Shares of decisions that were not chosen for, such as minimal pairs, are tested by McNemar's exact test if both sides
  have made the same decisions: of those that only one side gets right, as many should be right on either side.
* Holm's step-down procedure (1979) adjusts the p values of a family. The probability that any group of the family
  without a difference gets an adjusted p value below 0.05 is then at most 5 %, however the groups depend on each other.
  The intervals are not adjusted: each holds with 95 % confidence alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..counting.best_head import STANDARD_ERRORS
from ..counting.comparable import Comparable, Measured, mcnemar
from ..counting.resampling import FEWEST_UNITS

Array = npt.NDArray[Any]

LEVEL = 0.05
"""A difference is significant if its adjusted p value is below this level."""

_ROUNDING = 1e-12
"""The bound below which a variation counts as rounding of a value that is constant in exact arithmetic."""

_NAN = float("nan")


def is_significant(p: float) -> bool:
    """Whether a p value is below `LEVEL`, so that a sentence may claim what it tests."""
    return p < LEVEL


@dataclass(frozen=True, eq=False)
class Difference:
    """The difference of one statistic between two runs, first minus second."""

    # first, second: the statistic in each run; None if the run does not have it.
    # low, high: the 95 % interval of the difference; NaN if there is none.

    group: str  # what the statistic is about, for example a relation
    first: Measured | None
    second: Measured | None
    difference: float = _NAN  # the value of the first run minus that of the second; NaN if one of them is undefined
    low: float = _NAN
    high: float = _NAN
    p: float = _NAN  # the two-sided p value of no difference; NaN if there is none
    p_holm: float = _NAN  # the p value adjusted for all tested groups of the family; NaN if the group is not among them
    reason: str = ""  # why a number is missing; empty if none is
    # the decisions that only one of the runs gets right, if the p value is that of `mcnemar`
    only_first: int | None = None
    only_second: int | None = None

    @property
    def tested(self) -> bool:
        """Whether there is an adjusted p value."""
        return not math.isnan(self.p_holm)

    @property
    def significant(self) -> bool:
        """Whether the adjusted p value is below `LEVEL`."""
        return is_significant(self.p_holm)


def without_deviations(row: Difference) -> Difference:
    """Return a difference whose statistics have no deviations, which are not needed to show it, to save memory."""
    first, second = (
        measured and replace(measured, deviations=np.zeros(0), decisions={}) for measured in (row.first, row.second)
    )
    return replace(row, first=first, second=second)


def differences(
    first: Comparable | None,
    second: Comparable | None,
    *,
    min_count: int,
    names: tuple[str, str] = ("A", "B"),
    is_paired: bool = False,
) -> tuple[Difference, ...]:
    """Return the differences of all groups of a family; reasons for missing numbers call the runs by the ``names``.

    If the runs have read the same inputs (``is_paired``), decisions are compared one by one where the runs have them.
    """
    in_first = {measured.group: measured for measured in first.measured} if first else {}
    in_second = {measured.group: measured for measured in second.measured} if second else {}
    units = {run.unit for run in (first, second) if run}
    largest = {"%": 1.0, "points": 2.0}.get(units.pop(), math.inf) if len(units) == 1 else math.inf  # that is possible
    rows: dict[str, Difference] = {}
    tested = []
    for group in dict.fromkeys([*in_first, *in_second]):
        row, can_be_tested = _difference(group, in_first.get(group), in_second.get(group), names, largest)
        if is_paired and not math.isnan(row.difference):
            row, can_be_tested = _exactly_tested(row, can_be_tested)
        if can_be_tested and min(in_first[group].n, in_second[group].n) < min_count:
            row = replace(row, reason=f"not tested: fewer than {min_count:,} in one of the runs")
        elif can_be_tested and min(in_first[group].units, in_second[group].units) < FEWEST_UNITS:
            row = replace(row, reason=f"not tested: effectively fewer than {FEWEST_UNITS} inputs in one of the runs")
        elif can_be_tested:
            tested.append(group)
        rows[group] = row
    for group, p_holm in zip(tested, holm([rows[group].p for group in tested]), strict=True):
        rows[group] = replace(rows[group], p_holm=p_holm)
    return tuple(rows.values())


def _difference(
    group: str, first: Measured | None, second: Measured | None, names: tuple[str, str], largest: float
) -> tuple[Difference, bool]:
    """Return the difference of one group without its adjusted p value, and whether the group can be tested.

    The interval is cut at the ``largest`` difference that is possible.
    """
    row = Difference(group, first, second)
    if first is None or second is None:
        return replace(row, reason=f"only {names[0] if second is None else names[1]} has this group"), False
    for measured, name in zip((first, second), names, strict=True):
        if math.isnan(measured.value):
            return replace(row, reason=f"{name} has no value for this group, of n = {measured.n:,}"), False
    row = replace(row, difference=first.value - second.value)

    n_replicates = min(len(first.deviations), len(second.deviations))
    deviations = first.deviations[:n_replicates], second.deviations[:n_replicates]
    is_defined = np.isfinite(deviations[0] - deviations[1])
    if is_defined.sum() < 2:
        return replace(row, reason="no interval: there are no bootstrap replicates"), False
    of_first, of_second = (of_run[is_defined] for of_run in deviations)
    standard_error = float((of_first - of_second).std(ddof=1))
    if standard_error < _ROUNDING:
        return _constant(row, of_first, of_second)
    margin = STANDARD_ERRORS * standard_error
    z = abs(row.difference) / standard_error
    p = math.erfc(z / math.sqrt(2))  # two-sided, of a normal distribution
    low, high = max(row.difference - margin, -largest), min(row.difference + margin, largest)
    return replace(row, low=low, high=high, p=p), True


def _exactly_tested(row: Difference, can_be_tested: bool) -> tuple[Difference, bool]:
    """Return a difference with the p value of `mcnemar` if both sides have made the same decisions."""
    of_first, of_second = (measured.decisions if measured else {} for measured in (row.first, row.second))
    if not of_first or of_first.keys() != of_second.keys():
        return row, can_be_tested
    only_first = sum(right and not of_second[name] for name, right in of_first.items())
    only_second = sum(right and not of_first[name] for name, right in of_second.items())
    reason = "" if row.reason.startswith("not tested") else row.reason  # an interval may be missing all the same
    p = mcnemar(only_first, only_second)
    return replace(row, p=p, only_first=only_first, only_second=only_second, reason=reason), True


def _constant(row: Difference, of_first: Array, of_second: Array) -> tuple[Difference, bool]:
    """Return a difference that is the same in every replicate, and whether the group can be tested."""
    if abs(row.difference) >= _ROUNDING:
        return replace(row, reason="no interval: the difference is the same in every replicate"), False
    row = replace(row, difference=0.0, low=0.0, high=0.0, p=1.0)
    if np.ptp(of_first) < _ROUNDING and np.ptp(of_second) < _ROUNDING:
        return replace(row, reason="not tested: neither value varies from replicate to replicate"), False
    return row, True


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p values for their number by the step-down procedure of Holm (1979), and return them in the same order."""
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return adjusted
