"""From counts to the best head, with what is needed to believe it: interval, held-out accuracy, control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Array = npt.NDArray[Any]
Choice = tuple[int, int, int]
"""Index of direction, layer and head."""


def best_head(correct: Array, total: int, directions: Sequence[str]) -> tuple[Choice, dict[str, Any]]:
    """The head and direction with the most right decisions, and its columns for a table.

    Ties go to the higher layer, then head, then the last direction, as in the code of Clark et al.

    Args:
        correct: shape (directions, layers, heads).
        total: number of decisions.
        directions: their names.
    """
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
    """Head and direction chosen on one half and scored on the other, both ways, over all splits.

    Args:
        correct: shape (1 + splits, directions, layers, heads): the whole, then one half of each split.
        total: shape (1 + splits,).
    """
    right, scored = [], []
    for k in range(1, len(correct)):
        parts = (correct[k], total[k]), (correct[0] - correct[k], total[0] - total[k])
        right.append(0)
        scored.append(0)
        for (choose, n_choose), (score, n_score) in (parts, parts[::-1]):
            if n_choose > 0:  # with nothing to choose on there is no choice to score
                right[-1] += int(score[argbest(choose)])
                scored[-1] += int(n_score)
    by_split = rates(np.array(right), np.array(scored))
    return {
        "heldout_correct": sum(right),
        "heldout_total": sum(scored),
        "heldout_accuracy": rate(sum(right), sum(scored)),
        "heldout_min": float(by_split.min()) if by_split.size else float("nan"),
        "heldout_max": float(by_split.max()) if by_split.size else float("nan"),
    }


def argbest(correct: Array) -> Choice:
    """Index (direction, layer, head) of the largest count; the authors' order breaks ties."""
    by_head = np.moveaxis(correct, 0, -1)
    last = by_head.size - 1 - int(by_head.ravel()[::-1].argmax())
    layer, head, direction = np.unravel_index(last, by_head.shape)
    return int(direction), int(layer), int(head)


def cells(correct: Array, total: int, directions: Sequence[str], names: Mapping[str, str]) -> pd.DataFrame:
    """One row per direction, layer and head, with ``names`` as first columns.

    Args:
        correct: shape (directions, layers, heads).
        total: number of decisions.
        directions: their names.
        names: columns that are the same in all rows.
    """
    direction, layer, head = (axis.ravel() for axis in np.indices(correct.shape))
    return pd.DataFrame(
        {
            **names,
            "direction": np.array(directions)[direction],
            "layer": layer + 1,
            "head": head + 1,
            "correct": correct.ravel(),
            "total": total,
            "accuracy": correct.ravel() / total if total else np.nan,
        }
    )


def drawn(counts: Array) -> Array:
    """Counts of replicates added up over groups (the first axis)."""
    return np.asarray(counts.sum(0, dtype=np.int64))


def rate(correct: int, total: int) -> float:
    """A rate, NaN where there is nothing to take it of."""
    return correct / total if total else float("nan")


def rates(correct: Array, total: Array) -> Array:
    """Rates where there is anything to take a rate of."""
    return correct[total > 0] / total[total > 0]


def interval(values: Array) -> tuple[float, float]:
    """2.5 % and 97.5 % quantiles."""
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def with_control(
    best: pd.DataFrame, controls: Sequence[pd.DataFrame], key: Sequence[str] = ("relation",)
) -> pd.DataFrame:
    """Put the best head of randomly initialised copies beside the best head of the trained model.

    Args:
        best: a table of best heads of the trained model.
        controls: the same of each copy, over the same corpus.
        key: the columns that tell its rows apart.

    Returns:
        ``best`` with ``control_accuracy``, the mean over the copies of the accuracy of each copy's own best
        head, and ``control_accuracy_max``, the best of all copies.
    """
    if not controls:
        return best
    by_row = pd.concat(controls).groupby(list(key), sort=False)["accuracy"]
    return best.join(by_row.agg(control_accuracy="mean", control_accuracy_max="max"), on=list(key))
