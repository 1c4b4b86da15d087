"""From counts to the best head, with its interval, its held-out accuracy and its control.

A best head is the largest of many numbers, so its accuracy is too high by what luck adds. A run with 12 × 12 heads and
two directions chooses one of 288 counts for every relation, and a relation with few words gives some head a high count
by chance. `heldout` measures this: the head is chosen on one half of the sentences and scored on the other half, so
that nothing which helped the choice enters the score. The exchange of the halves uses every sentence for scoring, and
several splits average over the luck of a single split. The control answers another question: how high is the best head
of a model of the same architecture that has learned nothing?
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Array = npt.NDArray[Any]
STANDARD_ERRORS = 1.959963984540054
"""The number of standard errors on each side of a 95 % interval of a normal distribution."""

Choice = tuple[int, int, int]
"""The indices of a direction, a layer and a head, 0-based."""


def best_head(correct: Array, total: int, directions: Sequence[str]) -> tuple[Choice, dict[str, Any]]:
    """Return the head and direction with the most right decisions, and its columns for a table."""
    # Ties go to the higher layer, then to the higher head, then to the last direction, as in the code of Clark et al.
    chosen = argbest(correct)
    direction, layer, head = chosen
    right = int(correct[chosen])
    return chosen, {
        "layer": layer + 1,
        "head": head + 1,
        "direction": directions[direction],
        "tied": int((correct == right).sum()),
        "correct": right,
        "accuracy": rate(right, total),
    }


def heldout(correct: Array, total: Array) -> dict[str, Any]:
    """Choose the head and direction on one half and score them on the other, both ways, over all splits."""
    _, scores, totals = score_choices(correct, total)
    right, scored = scores.sum(1), totals.sum(1)
    by_split = rates(right, scored)
    return {
        "heldout_correct": int(right.sum()),
        "heldout_total": int(scored.sum()),
        "heldout_accuracy": rate(int(right.sum()), int(scored.sum())),
        "heldout_min": float(by_split.min()) if by_split.size else float("nan"),
        "heldout_max": float(by_split.max()) if by_split.size else float("nan"),
    }


def score_choices(correct: Array, total: Array) -> tuple[list[Choice], Array, Array]:
    """Return the heads chosen on both halves of each split, and the scores and sizes of the other: (splits, halves)."""
    choosing = both_halves(correct)  # split, half, direction, layer, head
    sizes = both_halves(total)
    heads = _argbests(choosing.reshape(-1, *correct.shape[1:]))
    split, half = np.indices(sizes.shape).reshape(2, -1)
    direction, layer, head = np.array(heads, dtype=np.int64).reshape(-1, 3).T
    scores = choosing[split, 1 - half, direction, layer, head].reshape(sizes.shape)
    # A half without decisions chooses no head, so nothing is scored on the other.
    return heads, np.where(sizes > 0, scores, 0), np.where(sizes > 0, sizes[:, ::-1], 0)


def both_halves(counts: Array) -> Array:
    """Return the counts of both halves of each split, (splits, halves, …), given those of all and of first halves."""
    return np.stack([counts[1:], counts[0] - counts[1:]], axis=1)


def argbest(correct: Array) -> Choice:
    """Return the index (direction, layer, head) of the largest count; ties are broken as in the authors' code."""
    return _argbests(correct[None])[0]  # of one table


def _argbests(correct: Array) -> list[Choice]:
    """Return `argbest` of each of several tables of counts, shape (tables, directions, layers, heads)."""
    by_head = np.moveaxis(correct, 1, -1)  # table, layer, head, direction
    n_cells = math.prod(by_head.shape[1:])
    last = n_cells - 1 - by_head.reshape(-1, n_cells)[:, ::-1].argmax(1)  # the last one of equally large counts
    layers, heads, directions = np.unravel_index(last, by_head.shape[1:])
    return list(zip(directions.tolist(), layers.tolist(), heads.tolist(), strict=True))


def cells_of_groups(
    correct: Array, total: Array, directions: Sequence[str], names: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Return a row per group of decisions, direction, layer and head, with the ``names`` of groups as first columns."""
    group, direction, layer, head = (axis.ravel() for axis in np.indices(correct.shape))
    totals = total[group]
    return pd.DataFrame(
        {
            **{name: np.array(values)[group] for name, values in names.items()},
            "direction": np.array(directions)[direction],
            "layer": layer + 1,
            "head": head + 1,
            "correct": correct.ravel(),
            "total": totals,
            "accuracy": np.where(totals > 0, correct.ravel() / np.maximum(totals, 1), np.nan),
        }
    )


def sum_groups(counts: Array) -> Array:
    """Add up the counts of replicates over groups (the first axis)."""
    return np.asarray(counts.sum(0, dtype=np.int64))


def rate(correct: float, total: float) -> float:
    """Return the share of right decisions, NaN if there are no decisions."""
    return correct / total if total else float("nan")


def rates(correct: Array, total: Array) -> Array:
    """Return the shares of right decisions, without the entries that have no decisions."""
    return correct[..., total > 0] / total[total > 0]


def interval(values: Array) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles, NaN if there are no values."""
    return intervals(values[None])[0]  # of one row


def intervals(values: Array) -> list[tuple[float, float]]:
    """Return the 2.5 % and 97.5 % quantiles of each row of values, shape (rows, values)."""
    if not values.shape[1]:
        return [(float("nan"), float("nan"))] * len(values)
    low, high = np.quantile(values, [0.025, 0.975], axis=1).tolist()
    return list(zip(low, high, strict=True))


def control_columns(controls: Sequence[pd.DataFrame], key: Sequence[str]) -> pd.DataFrame:
    """Return the mean and the largest accuracy of the best heads of copies, by the key of their rows."""
    by_row = pd.concat(controls).groupby(list(key), sort=False)["accuracy"]
    return pd.DataFrame(by_row.agg(control_accuracy="mean", control_accuracy_max="max"))


RANDOM_WEIGHTS = (
    "The accuracy of the best head of a model with the same architecture, the trained embeddings and otherwise random "
    "weights, as the mean over the copies ({copies})."
)
"""What the legend says about the control."""


def control_table(controls: Sequence[pd.DataFrame], key: Sequence[str], name: str) -> dict[str, pd.DataFrame]:
    """Return the best heads of all randomly initialized copies as one table, under its name."""
    if not controls:
        return {}
    numbered = [control.assign(copy=k) for k, control in enumerate(controls, start=1)]
    return {name: pd.concat(numbered)[["copy", *key, "direction", "layer", "head", "correct", "total", "accuracy"]]}
