"""Contrasts: the accuracy of each attention head in one group of documents minus that in another.

Every head has a contrast, and the largest of hundreds is large by chance alone. Two corrections are made for that:

* Simultaneous intervals. Each bootstrap replicate yields, over all heads and directions, the largest deviation of a
  contrast from its estimate in units of its standard error (max-\\|t\\|; Romano & Wolf 2005). The 95 % quantile of
  these maxima is the number of standard errors on each side of an estimate. All intervals of that width hold at once
  with 95 % confidence, and therefore so does that of whichever head was chosen.
* Held-out contrasts. The head is chosen on one half of the documents, and its contrast is measured on the other half.

Both resample families of documents. The two versions of a sentence (pro- and anti-stereotypical) must be in one family:
a head that ignores the pronoun's gender gets both right or both wrong, so that its contrast varies far less than the
difference of two independent samples would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders.coreference import ANTI, FEMININE, MASCULINE, PRO
from ..shared.best_head import drawn, interval, rate
from ..shared.outcomes import Counts
from .antecedents import DIRECTIONS

STEREOTYPES = (
    (PRO, ANTI),
    (f"type 1, {PRO}", f"type 1, {ANTI}"),
    (f"type 2, {PRO}", f"type 2, {ANTI}"),
)
"""The pairs of groups of WinoBias that are compared: all sentences, and those of each type."""

CONTRASTS = (*STEREOTYPES, (FEMININE, MASCULINE))
"""All pairs of groups of documents whose accuracies are compared."""

SHOWN = 3
"""The number of largest contrasts on each side that are reported."""

LARGEST_COLUMNS = (
    "candidates", "first", "second", "higher", "rank", "layer", "head", "direction",
    "first_correct", "first_total", "first_accuracy", "second_correct", "second_total", "second_accuracy",
    "difference", "difference_low", "difference_high", "simultaneous_low", "simultaneous_high",
    "heldout_first_correct", "heldout_first_total", "heldout_second_correct", "heldout_second_total",
    "heldout_difference", "heldout_min", "heldout_max", "heldout_choices", "heldout_same",
)  # fmt: skip

_ROUNDING = 1e-12
"""The bound below which a variation counts as rounding of a contrast that is constant in exact arithmetic."""

Array = npt.NDArray[Any]


class _Group(NamedTuple):
    """The counts of one group of documents. Here *heads* are all combinations of direction, layer and head.

    Attributes:
        label: the name of the group.
        correct: the right decisions, shape (subsets, heads).
        total: the number of decisions, shape (subsets,).
        drawn_correct, drawn_total: the same in the bootstrap replicates.
    """

    label: str
    correct: Array
    total: Array
    drawn_correct: Array
    drawn_total: Array


class _Part(NamedTuple):
    """The right decisions by head and the number of decisions, in both groups of a part of the corpus."""

    first: Array
    first_total: int
    second: Array
    second_total: int

    @property
    def exact(self) -> Array:
        """The contrasts times both totals. These are integers, so that equal contrasts compare as equal."""
        return np.asarray(self.first * self.second_total - self.second * self.first_total)

    def without(self, other: _Part) -> _Part:
        """Return the counts of this part without those of another part that it contains."""
        return _Part(
            self.first - other.first,
            self.first_total - other.first_total,
            self.second - other.second,
            self.second_total - other.second_total,
        )


def contrast_tables(
    policy: int, name: str, pair: tuple[str, str], labels: Mapping[str, list[int]], subsets: Counts, replicates: Counts
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the contrast of every head between two groups of documents, and the largest contrasts on both sides."""
    shape = subsets.correct.shape[3:]

    def group(label: str) -> _Group:
        rows = labels[label]
        correct = subsets.correct[rows, :, policy].sum(0).reshape(len(subsets.total[0]), -1)
        drawn_correct = drawn(replicates.correct[rows, :, policy]).reshape(-1, correct.shape[1])
        return _Group(label, correct, subsets.total[rows].sum(0), drawn_correct, drawn(replicates.total[rows]))

    first, second = map(group, pair)
    contrasts = _every_head(name, first, second, shape)
    # Ties go to the higher layer, then to the higher head, then to the last direction, as for the best head.
    by_preference = np.moveaxis(np.arange(len(contrasts)).reshape(shape), 0, -1).ravel()

    def ranking(values: Array) -> list[int]:
        return [int(index) for index in by_preference[np.argsort(values[by_preference], kind="stable")[::-1]]]

    whole = _part(first, second, 0)
    halves = []
    for split in range(1, len(first.total)):
        half = _part(first, second, split)
        rest = whole.without(half)
        halves.append(((half, rest), (rest, half)))
    rows: list[dict[str, Any]] = []
    for sign, higher in ((1, first), (-1, second)):
        if whole.first_total and whole.second_total:  # a group without decisions has no contrast
            ranked = ranking(sign * whole.exact)
            by_split = [
                [
                    (ranking(sign * choosing.exact), scoring)
                    for choosing, scoring in both
                    if choosing.first_total and choosing.second_total
                ]
                for both in halves
            ]
            largest = [index for index in ranked[:SHOWN] if sign * whole.exact[index] > 0]
            for rank, index in enumerate(largest):
                row = {"higher": higher.label, "rank": rank + 1, **_heldout(by_split, rank, index)}
                rows.append({**{str(key): value for key, value in contrasts.loc[index].items()}, **row})
    return contrasts, pd.DataFrame(rows, columns=list(LARGEST_COLUMNS))


def _part(first: _Group, second: _Group, subset: int) -> _Part:
    return _Part(first.correct[subset], int(first.total[subset]), second.correct[subset], int(second.total[subset]))


def _every_head(name: str, first: _Group, second: _Group, shape: tuple[int, ...]) -> pd.DataFrame:
    """Return the contrast of every head with its intervals, in the order of the table ``cells``."""
    direction, layer, head = (axis.ravel() for axis in np.indices(shape))
    columns: dict[str, Any] = {
        "candidates": name,
        "first": first.label,
        "second": second.label,
        "direction": np.array(DIRECTIONS)[direction],
        "layer": layer + 1,
        "head": head + 1,
    }
    for prefix, group in (("first", first), ("second", second)):
        right, total = group.correct[0], int(group.total[0])
        columns |= {f"{prefix}_correct": right, f"{prefix}_total": total}
        columns[f"{prefix}_accuracy"] = right / total if total else np.nan
    estimate = np.asarray(columns["first_accuracy"] - columns["second_accuracy"] + np.zeros(len(head)))
    usable = (first.drawn_total > 0) & (second.drawn_total > 0)
    by_group = [group.drawn_correct[usable] / group.drawn_total[usable, None] for group in (first, second)]
    differences = by_group[0] - by_group[1]
    low, high = zip(*(interval(values) for values in differences.T), strict=True)
    error, margin = simultaneous_margin(estimate, differences)
    return pd.DataFrame(
        {
            **columns,
            "difference": estimate,
            "difference_low": low,
            "difference_high": high,
            "standard_error": error,
            # With few mentions, the margin may reach beyond the possible differences of two shares.
            "simultaneous_low": np.maximum(estimate - margin, -1.0),
            "simultaneous_high": np.minimum(estimate + margin, 1.0),
        }
    )


def simultaneous_margin(estimate: Array, differences: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Return standard errors, and half the widths of intervals that hold for all heads at once.

    Args:
        estimate: the contrasts, shape (heads,).
        differences: the contrasts in the bootstrap replicates, shape (replicates, heads).
        level: the confidence that all intervals hold.

    Returns:
        two arrays of shape (heads,). They are NaN if there are fewer than two replicates, and 0 for a head whose
        contrast never varies.

    Example:
        >>> replicates = np.array([[-0.1, 0.2], [0.1, 0.0], [0.0, 0.1]])
        >>> error, margin = simultaneous_margin(np.array([0.0, 0.1]), replicates)
        >>> error.round(2).tolist(), margin.round(2).tolist()
        ([0.1, 0.1], [0.1, 0.1])
    """
    if len(differences) < 2:
        undefined = np.full(len(estimate), np.nan)
        return undefined, undefined
    error = differences.std(0, ddof=1)
    error[np.ptp(differences, axis=0) < _ROUNDING] = 0.0
    varies = error > 0
    if not varies.any():
        return error, error
    deviations = np.abs(differences - estimate)[:, varies] / error[varies]
    return error, float(np.quantile(deviations.max(1), level)) * error


def _heldout(by_split: Sequence[Sequence[tuple[list[int], _Part]]], rank: int, chosen: int) -> dict[str, Any]:
    """Return the contrast of the heads that have a rank on one half, measured on the other half."""
    sums = np.zeros(4, dtype=np.int64)
    differences = []
    heads = [ranked[rank] for split in by_split for ranked, _ in split]
    for split in by_split:
        counts = np.zeros(4, dtype=np.int64)  # right and all decisions of the first group, then of the second
        for ranked, part in split:
            head = ranked[rank]
            counts += [part.first[head], part.first_total, part.second[head], part.second_total]
        sums += counts
        if counts[1] and counts[3]:
            differences.append(float(counts[0] / counts[1] - counts[2] / counts[3]))
    right, total, second_right, second_total = sums.tolist()
    return {
        "heldout_first_correct": right,
        "heldout_first_total": total,
        "heldout_second_correct": second_right,
        "heldout_second_total": second_total,
        "heldout_difference": rate(right, total) - rate(second_right, second_total),
        "heldout_min": min(differences, default=float("nan")),
        "heldout_max": max(differences, default=float("nan")),
        "heldout_choices": len(heads),
        "heldout_same": heads.count(chosen),
    }
