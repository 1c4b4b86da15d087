"""The gain of a chosen head over its baseline on sentences that did not choose them, and what may be said of it.

The accuracy of the best head is too high by the luck of the choice, and so is its gain over a baseline. The held-out
gain is not: on each half of each split, the head with the most right decisions is chosen, and so is the baseline if it
is one of several, such as the best of ten offsets. Both are scored on the other half. Every comparison of a chosen head
with a baseline in words, such as “better” or “more often”, goes by `side_of_baseline`.

A held-out rate cannot be computed in a bootstrap replicate, because the counts of the replicates cover the whole corpus
and not its halves. Three sources of its variation can be, and their sum stands for it:

* the scores: in replicate r, the mean accuracy of the heads that were chosen on the halves, each counted as often as it
  scored, minus the mean accuracy of the same heads in the whole corpus;
* the choices: the accuracy in the whole corpus of the head that is best in replicate r, minus the mean of this accuracy
  over the replicates;
* the halves: the rate of one split, a different one in each replicate in turn, minus the mean over the splits, divided
  by √(SPLITS − 1), so that the variance is that of the mean over the splits.

The choices matter where several heads are nearly equally good. Another sample of sentences would then choose other
heads, and the scores of the chosen ones alone would give intervals that are far too narrow.

The interval is the rate or gain ± 1.96 standard deviations of this sum, as for differences between runs. Quantiles of
the sum would be skewed to the wrong side: a replicate chooses what is best in its own draws, so it falls short of the
best of the corpus and never exceeds it, while a corpus may as well be lucky as unlucky in its choice. For 19 relations
in 300 samples of 250 sentences from a treebank of 8,000, with the heads of the demo model, the intervals contained the
mean over the samples in 83 % of the cases with quantiles of the scores alone, in 91 % with quantiles of scores and
choices, and in 94 % with this interval (for 26 relations and 1,000 sentences: 86, 93 and 95 %).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from .best_head import STANDARD_ERRORS, Choice, both_halves, rate, rates, score_choices, sum_groups
from .outcomes import Counts
from .resampling import FEWEST_UNITS

Array = npt.NDArray[Any]


NO_CLAIM = f"a claim needs bootstrap replicates and an effective number of {FEWEST_UNITS} {{units}} or more"
"""Why nothing is said."""


class HeldOutRate(NamedTuple):
    """The accuracy of heads that were chosen on the other half."""

    value: float  # the accuracy over all halves and splits; NaN if no half could choose
    # how far it deviates in each bootstrap replicate, shape (replicates,); NaN where a replicate draws nothing
    deviations: Array


def heldout_rate(rows: Sequence[int], subsets: Counts, replicates: Counts) -> HeldOutRate:
    """Choose the head and direction on one half and score them on the other, both ways, over all splits."""
    groups = index_of(rows)
    correct, total = subsets.correct[groups].sum(0), subsets.total[groups].sum(0)
    heads, right, scored = score_choices(correct, total)
    sizes = both_halves(total)  # of the halves that choose
    # How many decisions each head is scored on. An empty half chooses no head: even with 0 decisions, it would change
    # the order in which the deviations are added up, and so their last bits.
    times: Counter[Choice] = Counter()
    for head, number, size in zip(heads, scored.ravel().tolist(), sizes.ravel().tolist(), strict=True):
        if size:
            times[head] += number
    n = int(total[0])
    scores = score_deviations(rows, times, correct[0], n, replicates)
    choices = choice_deviations(best_in_replicates(rows, replicates), correct[0], n)
    of_halves = split_deviations(rates(right.sum(1), scored.sum(1)), len(scores))
    return HeldOutRate(rate(int(right.sum()), int(scored.sum())), scores + choices + of_halves)


def heldout_by_layer(rows: Sequence[int], subsets: Counts, replicates: Counts) -> tuple[HeldOutRate, ...]:
    """Return the accuracy of the best head of each layer, chosen on one half and scored on the other."""
    # A layer is treated as a model of one layer, so that its head is chosen, scored and resampled in the same way.
    return tuple(
        heldout_rate(
            rows,
            *(replace(part, correct=part.correct[..., layer : layer + 1, :]) for part in (subsets, replicates)),
        )
        for layer in range(subsets.correct.shape[-2])
    )


def heldout_baseline(rows: Sequence[int], subsets: Counts, replicates: Counts, baselines: Sequence[int]) -> HeldOutRate:
    """Return the accuracy of the best of several baselines, chosen on one half and scored on the other."""
    # The baselines are treated as the heads of one direction and layer, so that they are chosen, scored and resampled
    # in the same way. The rows are chosen first, because the counts of all rows would be copied for each.
    groups = index_of(rows)
    of_subsets, of_replicates = (
        replace(
            counts,
            correct=counts.baselines[groups][:, :, None, None, list(baselines)],
            total=counts.total[groups],
        )
        for counts in (subsets, replicates)
    )
    return heldout_rate(range(len(rows)), of_subsets, of_replicates)


def heldout_gain(
    rows: Sequence[int], subsets: Counts, replicates: Counts, baselines: Sequence[int]
) -> dict[str, float]:
    """Return the held-out accuracy of the best head minus that of the best baseline, with its 95 % interval."""
    of_head = heldout_rate(rows, subsets, replicates)
    of_baseline = heldout_baseline(rows, subsets, replicates, baselines)
    return gain_columns(of_head.value - of_baseline.value, of_head.deviations - of_baseline.deviations)


def mean_rate(rates: Sequence[HeldOutRate]) -> HeldOutRate:
    """Return the mean of accuracies over the same text, whose replicates draw the same sentences."""
    return HeldOutRate(float(np.mean([rate.value for rate in rates])), np.mean([rate.deviations for rate in rates], 0))


def gain_columns(gain: float, deviations: Array) -> dict[str, float]:
    """Return a held-out gain and its 95 % interval."""
    low, high = interval_around(gain, standard_error(deviations))
    return {"heldout_gain": gain, "heldout_gain_low": low, "heldout_gain_high": high}


def standard_error(deviations: Array) -> float:
    """Return the standard deviation of the deviations in replicates, NaN if fewer than two of them are defined."""
    defined = deviations[np.isfinite(deviations)]
    return float(defined.std(ddof=1)) if len(defined) > 1 else math.nan


def interval_around(value: float, error: float, lowest: float = -1.0) -> tuple[float, float]:
    """Return a value ± 1.96 standard errors, cut to the possible range from ``lowest`` to 1."""
    margin = STANDARD_ERRORS * error
    # Deviations that cancel out leave 1e-17, which is not a gain. Adding 0 turns −0 into 0.
    low, high = np.round(np.clip([value - margin, value + margin], lowest, 1), 12) + 0.0
    return float(low), float(high)


def interval_of_halves(value: float, drawn: Array, choices: Array, splits: Array) -> tuple[float, float]:
    """Return the 95 % interval of a held-out gain if it would take too long to choose again in each replicate."""
    # drawn: the gain in each replicate of what was chosen on the halves. choices: the gain on the whole text of what
    # each half chose. splits: the gain of each split. Half of the sentences vary around all of them as much as a
    # bootstrap replicate does (McCarthy 1969), so that the choices of the halves stand for those of replicates.
    of_splits = standard_error(splits) / math.sqrt(max(1, len(splits)))  # of their mean
    return interval_around(value, math.hypot(standard_error(drawn), standard_error(choices), of_splits))


def side_of_baseline(row: Mapping[str, Any]) -> int:
    """Return on which side of its baseline a chosen head is: 1 for better, −1 for worse, 0 if neither is shown."""
    # A head is better if the lower ends of two intervals are above 0: that of its held-out gain, and that of its gain
    # on the data that chose it, if the table has this gain. It is worse if the upper ends are below 0. Nothing is shown
    # without intervals.
    sides = {side_of_zero(row, name) for name in ("gain", "heldout_gain") if name in row or name == "heldout_gain"}
    return sides.pop() if len(sides) == 1 else 0


def side_of_zero(row: Mapping[str, Any], name: str) -> int:
    """Return on which side of 0 a gain is with its whole interval; 0 if it has none."""
    return int(row[f"{name}_low"] > 0) - int(row[f"{name}_high"] < 0)


def count_beside_zero(table: pd.DataFrame, low: str = "low", high: str = "high") -> tuple[int, int]:
    """Return how many rows of a table have their whole interval above 0, and how many have it below 0."""
    return int((table[low] > 0).sum()), int((table[high] < 0).sum())


def index_of(rows: Sequence[int]) -> slice | list[int]:
    """Return an index of some rows of counts; that of a single row copies nothing."""
    return slice(rows[0], rows[0] + 1) if len(rows) == 1 else list(rows)


def score_deviations(
    rows: Sequence[int], times: Mapping[Choice, int], correct: Array, n: int, replicates: Counts
) -> Array:
    """Return how far the mean accuracy of the chosen heads deviates in each replicate, shape (replicates,)."""
    # times: how many decisions each head is scored on. correct, n: right decisions by head, and all, of the corpus.
    groups = index_of(rows)
    total = sum_groups(replicates.total[groups])
    scored = sum(times.values())
    if not scored:
        return np.full(len(total), np.nan)
    deviations = np.zeros(len(total))
    for head, number in times.items():
        drawn_right = sum_groups(replicates.correct[(groups, slice(None), *head)])  # in each replicate
        deviations += number / scored * (_shares(drawn_right, total) - rate(int(correct[head]), n))
    return deviations


def best_in_replicates(rows: Sequence[int], replicates: Counts) -> Array:
    """Return the index of the best head in each replicate, −1 where it draws nothing, for `choice_deviations`."""
    groups = index_of(rows)
    counts = sum_groups(replicates.correct[groups])  # an array of its own
    n_directions, n_layers, n_heads = counts.shape[1:]  # there may be no replicates
    # Among equal counts, the last one by layer, head and direction is the best, as `argbest` has it. To put the counts
    # into this order would take longer than to look for it; with its place in it, no two counts are equal.
    place = np.moveaxis(np.arange(n_directions * n_layers * n_heads).reshape(n_layers, n_heads, n_directions), -1, 0)
    counts *= place.size
    counts += place
    best = place.ravel()[counts.reshape(len(counts), place.size).argmax(1)]
    return np.where(sum_groups(replicates.total[groups]) > 0, best, -1)


def choice_deviations(best: Array, correct: Array, n: int) -> Array:
    """Return how far the accuracy of the best head of each replicate is from their mean, shape (replicates,)."""
    right = np.moveaxis(correct, 0, -1).ravel()[best]
    is_drawn = best >= 0
    accuracies = _shares(right, np.where(is_drawn, n, 0))
    return accuracies - rate(int(right[is_drawn].sum()), n * int(is_drawn.sum()))


def split_deviations(values: Array, replicates: int) -> Array:
    """Return how far the mean over splits deviates by the luck of the splits, one after the other in the replicates."""
    # values: the value of each split. A single one does not tell how much they vary.
    if len(values) < 2:
        return np.zeros(replicates)
    return np.resize((values - values.mean()) / math.sqrt(len(values) - 1), replicates)


def _shares(correct: Array, total: Array) -> Array:
    """Return shares of right decisions, NaN where there are no decisions."""
    return np.where(total > 0, correct / np.maximum(total, 1), np.nan)
