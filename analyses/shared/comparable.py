"""Statistics that can be compared between runs: a value over the whole corpus, and its bootstrap replicates.

The weight of a sentence in replicate r depends on its id alone. Replicates r of two runs over the same sentences
therefore draw the same sentences, and their difference is a paired difference, whatever the model and the maps. Two
arrays, one of each run, give the interval of the difference without another pass over the corpus.

A held-out accuracy cannot be computed in a replicate, because the counts of the replicates cover the whole corpus and
not its halves. Two sources of its variation can be, and their sum stands for it:

* the scores: in replicate r, the mean accuracy of the heads that were chosen on the halves, each counted as often as it
  scored, minus the mean accuracy of the same heads in the whole corpus;
* the choices: the accuracy in the whole corpus of the head that is best in replicate r, minus the mean of this accuracy
  over the replicates.

The second source matters where several heads are nearly equally good. Another sample of sentences would then choose
other heads, and the scores of the chosen ones alone would give intervals that are far too narrow: in simulations of
two models without a difference, of which each had several nearly equal heads, such intervals left out 0 in 15 to 22 %
of all cases instead of 5 %. With the choices it was 1 to 7 %. It was more only where few decisions were wrong: 9 % with
27 wrong decisions, 13 % with 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from attentionology.analyses.shared.best_head import Choice, argbest, drawn, heldout_choices, rate
from attentionology.analyses.shared.outcomes import Counts

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Measured:
    """One statistic of one run.

    Attributes:
        group: what the statistic is about, for example a relation.
        value: the statistic over the whole corpus; NaN if it is undefined.
        n: the number of decisions or inputs that it is computed from.
        deviations: how far the statistic deviates in each bootstrap replicate, shape (replicates,). A deviation is NaN
            if the replicate draws nothing of the group.
        choice: what the run chose for this group on the whole corpus, for example ``"3-9 dep->head"``; may be empty.

    Example:
        >>> Measured("nsubj", 0.5, 120, np.array([-0.1, 0.1]), "3-9 dep->head").choice
        '3-9 dep->head'
    """

    group: str
    value: float
    n: int
    deviations: Array
    choice: str = ""


@dataclass(frozen=True, eq=False)
class Comparable:
    """A family of statistics of one run. P values are adjusted for the number of statistics in the family.

    Attributes:
        family: the name of the family, which differs from those of all other families of the analysis.
        measured: the statistics, in the order of the report.
        quantity: what the values are, for an axis or a heading: ``"words whose head is found"``.
        counted: what `Measured.n` counts, for example ``"words"``.
        seed: the seed of the bootstrap. Replicates of different seeds are not paired.
        unit: the unit of the values. With ``"%"``, values are shares from 0 to 1, which are shown in percent.
    """

    family: str
    measured: tuple[Measured, ...]
    quantity: str
    counted: str
    seed: int
    unit: str = "%"


def measured_heads(
    groups: Mapping[str, Sequence[int]], subsets: Counts, replicates: Counts, directions: Sequence[str]
) -> tuple[Measured, ...]:
    """Measure the held-out accuracy of the best head of each group.

    The head and direction are chosen on one half of the sentences and scored on the other, both ways, over all splits,
    as in `attentionology.analyses.shared.best_head.heldout`.

    Args:
        groups: the indices of the counts that make up each group, by its name. Groups may overlap.
        subsets: the counts over the whole corpus, then over one half of each split. `Counts.correct` has the shape
            (groups, 1 + splits, directions, layers, heads).
        replicates: the counts over each bootstrap replicate.
        directions: the names of the directions.

    Returns:
        one statistic for each group. The value of a group without decisions is NaN.
    """
    return tuple(_measured_head(name, list(rows), subsets, replicates, directions) for name, rows in groups.items())


def _measured_head(
    name: str, rows: list[int], subsets: Counts, replicates: Counts, directions: Sequence[str]
) -> Measured:
    correct, total = subsets.correct[rows].sum(0), subsets.total[rows].sum(0)
    choices = heldout_choices(correct, total)
    scored = sum(choice.total for choice in choices)
    times: Counter[Choice] = Counter()
    for choice in choices:
        times[choice.head] += choice.total
    n = int(total[0])
    right = sum(choice.correct for choice in choices)
    deviations = _scores(rows, times, correct[0], n, replicates) + _choices(rows, correct[0], n, replicates)
    direction, layer, head = argbest(correct[0])
    chosen = f"{layer + 1}-{head + 1} {directions[direction]}" if correct[0].any() else ""
    return Measured(name, rate(right, scored), n, deviations, chosen)


def _scores(rows: list[int], times: Mapping[Choice, int], correct: Array, n: int, replicates: Counts) -> Array:
    """Return how far the mean accuracy of the chosen heads deviates in each replicate, shape (replicates,).

    Args:
        rows: the indices of the counts that make up the group.
        times: how many decisions each chosen head scored.
        correct: the right decisions in the whole corpus, shape (directions, layers, heads).
        n: the number of decisions in the whole corpus.
        replicates: the counts over each replicate.
    """
    total = drawn(replicates.total[rows])
    scored = sum(times.values())
    if not scored:
        return np.full(len(total), np.nan)
    deviations = np.zeros(len(total))
    for head, number in times.items():
        drawn_right = drawn(replicates.correct[(rows, slice(None), *head)])
        deviations += number / scored * (_shares(drawn_right, total) - rate(int(correct[head]), n))
    return deviations


def _choices(rows: list[int], correct: Array, n: int, replicates: Counts) -> Array:
    """Return how far the accuracy of the head that is best in each replicate deviates, shape (replicates,)."""
    by_head = np.moveaxis(drawn(replicates.correct[rows]), 1, -1)  # the order in which `argbest` breaks ties
    flat = by_head.reshape(len(by_head), correct.size)
    best = flat.shape[1] - 1 - flat[:, ::-1].argmax(1)
    right = np.moveaxis(correct, 0, -1).ravel()[best]
    is_drawn = drawn(replicates.total[rows]) > 0
    accuracies = _shares(right, np.where(is_drawn, n, 0))
    return accuracies - rate(int(right[is_drawn].sum()), n * int(is_drawn.sum()))


def _shares(correct: Array, total: Array) -> Array:
    """Return shares of right decisions, NaN where there are no decisions."""
    return np.where(total > 0, correct / np.maximum(total, 1), np.nan)
