"""Accuracy in one group of documents minus that in another: which attention heads differ most between the two.

Every head has a contrast, and the largest of hundreds is large by chance alone. Two things correct for that:

* Simultaneous intervals. Each bootstrap replicate yields, over all heads and directions, the largest deviation of a
  contrast from its estimate in units of its standard error (max-\\|t\\|; Romano & Wolf 2005). Its 95 % quantile is the
  number of standard errors on each side of the estimate, so with 95 % confidence all intervals hold at once, and
  therefore that of whichever head was chosen.
* Held-out contrasts. The head is chosen on one half of the documents and its contrast is measured on the other half.

Both resample families of documents. The two versions of a sentence (pro- and anti-stereotypical) are one family, and
have to be: a head that does not see the pronoun's gender is right or wrong about both, so that its contrast varies far
less than the difference of two independent samples would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attentionology.analyses.coreference.antecedents import DIRECTIONS
from attentionology.analyses.shared.best_head import drawn, interval, rate
from attentionology.analyses.shared.outcomes import Counts
from attentionology.corpora_loaders.coreference import ANTI, FEMININE, MASCULINE, PRO

STEREOTYPES = (
    (PRO, ANTI),
    (f"type 1, {PRO}", f"type 1, {ANTI}"),
    (f"type 2, {PRO}", f"type 2, {ANTI}"),
)
"""Groups of WinoBias, all sentences and those of each type."""

CONTRASTS = (*STEREOTYPES, (FEMININE, MASCULINE))
"""Groups of documents whose accuracies are compared."""

SHOWN = 3
"""How many of the largest contrasts on each side are reported."""

LARGEST_COLUMNS = (
    "candidates", "first", "second", "higher", "rank", "layer", "head", "direction",
    "first_correct", "first_total", "first_accuracy", "second_correct", "second_total", "second_accuracy",
    "difference", "difference_low", "difference_high", "simultaneous_low", "simultaneous_high",
    "heldout_first_correct", "heldout_first_total", "heldout_second_correct", "heldout_second_total",
    "heldout_difference", "heldout_min", "heldout_max", "heldout_choices", "heldout_same",
)  # fmt: skip

_ROUNDING = 1e-12
"""What is constant in exact arithmetic may vary by less than this."""

Array = npt.NDArray[Any]


class _Group(NamedTuple):
    """Counts of one group of documents. Shapes: correct (subsets, heads), total (subsets,); of replicates likewise.

    *Heads* are all choices there are, directions × layers × heads.
    """

    label: str
    correct: Array
    total: Array
    drawn_correct: Array
    drawn_total: Array


class _Part(NamedTuple):
    """Right decisions by head and scored ones, in both groups, of a part of the corpus."""

    first: Array
    first_total: int
    second: Array
    second_total: int

    @property
    def exact(self) -> Array:
        """Contrasts times both totals: integers, so that equal contrasts are equal."""
        return np.asarray(self.first * self.second_total - self.second * self.first_total)

    def without(self, other: _Part) -> _Part:
        """What is left when another part is taken out."""
        return _Part(
            self.first - other.first,
            self.first_total - other.first_total,
            self.second - other.second,
            self.second_total - other.second_total,
        )


def contrast_tables(
    policy: int, name: str, pair: tuple[str, str], labels: Mapping[str, list[int]], subsets: Counts, replicates: Counts
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The contrast of every head between two groups of documents, and the largest contrasts on both sides.

    Args:
        policy: index of the candidates.
        name: their name.
        pair: names of the two groups.
        labels: indices of the counts that make up each group of documents.
        subsets: counts over the whole corpus, then over one half of each split.
        replicates: counts over each bootstrap replicate.

    Returns:
        Two tables, see ``head_contrasts`` and ``largest_contrasts`` in `CoreferenceTables`.
    """
    shape = subsets.correct.shape[3:]

    def group(label: str) -> _Group:
        rows = labels[label]
        correct = subsets.correct[rows, :, policy].sum(0).reshape(len(subsets.total[0]), -1)
        drawn_correct = drawn(replicates.correct[rows, :, policy]).reshape(-1, correct.shape[1])
        return _Group(label, correct, subsets.total[rows].sum(0), drawn_correct, drawn(replicates.total[rows]))

    first, second = map(group, pair)
    every = _every_head(name, first, second, shape)
    # Ties go to the higher layer, then head, then the last direction, as for the best head.
    by_preference = np.moveaxis(np.arange(len(every)).reshape(shape), 0, -1).ravel()

    def ranking(values: Array) -> list[int]:
        return [int(place) for place in by_preference[np.argsort(values[by_preference], kind="stable")[::-1]]]

    whole = _part(first, second, 0)
    halves = []
    for split in range(1, len(first.total)):
        half = _part(first, second, split)
        rest = whole.without(half)
        halves.append(((half, rest), (rest, half)))
    rows: list[dict[str, Any]] = []
    for sign, higher in ((1, first), (-1, second)):
        if whole.first_total and whole.second_total:  # without anything scored in a group there is no contrast
            chosen = ranking(sign * whole.exact)
            elsewhere = [
                [(ranking(sign * choose.exact), score) for choose, score in both if choose[1] and choose[3]]
                for both in halves
            ]
            largest = [place for place in chosen[:SHOWN] if sign * whole.exact[place] > 0]
            for rank, place in enumerate(largest):
                row = {"higher": higher.label, "rank": rank + 1, **_heldout(elsewhere, rank, place)}
                rows.append({**{str(key): value for key, value in every.loc[place].items()}, **row})
    return every, pd.DataFrame(rows, columns=list(LARGEST_COLUMNS))


def _part(first: _Group, second: _Group, subset: int) -> _Part:
    return _Part(first.correct[subset], int(first.total[subset]), second.correct[subset], int(second.total[subset]))


def _every_head(name: str, first: _Group, second: _Group, shape: tuple[int, ...]) -> pd.DataFrame:
    """Heads in the order of the table ``cells``."""
    direction, layer, head = (axis.ravel() for axis in np.indices(shape))
    columns: dict[str, Any] = {
        "candidates": name,
        "first": first.label,
        "second": second.label,
        "direction": np.array(DIRECTIONS)[direction],
        "layer": layer + 1,
        "head": head + 1,
    }
    for place, group in (("first", first), ("second", second)):
        right, total = group.correct[0], int(group.total[0])
        columns |= {f"{place}_correct": right, f"{place}_total": total}
        columns[f"{place}_accuracy"] = right / total if total else np.nan
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
            "simultaneous_low": estimate - margin,
            "simultaneous_high": estimate + margin,
        }
    )


def simultaneous_margin(estimate: Array, differences: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Standard errors, and half the widths of intervals that hold for all heads at once.

    Args:
        estimate: shape (heads,).
        differences: the same in bootstrap replicates, shape (replicates, heads).
        level: of confidence in all intervals together.

    Returns:
        Both of shape (heads,); NaN if there are fewer than two replicates, 0 for a head that never varies.
    """
    if len(differences) < 2:
        nothing = np.full(len(estimate), np.nan)
        return nothing, nothing
    error = differences.std(0, ddof=1)
    error[np.ptp(differences, axis=0) < _ROUNDING] = 0.0
    varies = error > 0
    if not varies.any():
        return error, error
    deviations = np.abs(differences - estimate)[:, varies] / error[varies]
    return error, float(np.quantile(deviations.max(1), level)) * error


def _heldout(by_split: Sequence[Sequence[tuple[list[int], _Part]]], rank: int, chosen: int) -> dict[str, Any]:
    """The contrast of the heads that have a rank on one half, measured on the other half.

    Args:
        by_split: for each split and each half to choose on, the heads by rank, and the other half.
        rank: from 0.
        chosen: the head that has this rank in the whole corpus.
    """
    counted = np.zeros(4, dtype=np.int64)
    differences = []
    places = [ranked[rank] for split in by_split for ranked, _ in split]
    for split in by_split:
        own = np.zeros(4, dtype=np.int64)  # right and scored in the first group, right and scored in the second
        for ranked, score in split:
            place = ranked[rank]
            own += [score.first[place], score.first_total, score.second[place], score.second_total]
        counted += own
        if own[1] and own[3]:
            differences.append(float(own[0] / own[1] - own[2] / own[3]))
    right, total, second_right, second_total = counted.tolist()
    return {
        "heldout_first_correct": right,
        "heldout_first_total": total,
        "heldout_second_correct": second_right,
        "heldout_second_total": second_total,
        "heldout_difference": rate(right, total) - rate(second_right, second_total),
        "heldout_min": min(differences, default=float("nan")),
        "heldout_max": max(differences, default=float("nan")),
        "heldout_choices": len(places),
        "heldout_same": places.count(chosen),
    }
