"""Counts of right decisions → the tables of the dependency report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyses.linguistic.decisions import DIRECTIONS

ALL = "all"
ALL_NO_PUNCT = "all-nopunct"
ALL_NO_PUNCT_ROOT = "all-nopunct-noroot"
TOTALS = (ALL, ALL_NO_PUNCT, ALL_NO_PUNCT_ROOT)
"""Rows over several relations: every word (as in the paper's "All"), without punctuation (as the paper's probes
are scored), and without punctuation and roots, which no head can get right."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Counts:
    """Integer counts per relation and weighting (subset of the corpus, or bootstrap replicate).

    Shapes: correct (relations, weightings, directions, layers, heads), by_offset (relations, weightings,
    offsets), total (relations, weightings).
    """

    correct: Array
    by_offset: Array
    total: Array


class DependencyTables(NamedTuple):  # torchmetrics does not let a frozen dataclass through
    """The dependency report as tables. Layers and heads are 1-based, counts stand beside every rate.

    Attributes:
        cells: one row per relation, direction, layer and head: ``relation, direction, layer, head, correct,
            total, accuracy``.
        best: one row per relation, most frequent first after the `TOTALS`. Its columns:
            ``relation, total``; the best head ``layer, head, direction, correct, accuracy`` with its 95 %
            bootstrap interval ``accuracy_low, accuracy_high``, and how many heads and directions share that
            count, ``tied`` (1: none but itself); the best fixed offset ``offset, offset_correct,
            offset_accuracy``; ``gain`` = accuracy − offset_accuracy with ``gain_low, gain_high``; and
            ``heldout_correct, heldout_total, heldout_accuracy``, where head and direction were chosen on one
            half of the sentences and scored on the other, both ways, added up over several splits (so every
            word counts once per split), with the lowest and highest of the splits, ``heldout_min,
            heldout_max``.
    """

    cells: pd.DataFrame
    best: pd.DataFrame


def tables(relations: Sequence[str], subsets: Counts, replicates: Counts, offsets: Sequence[int]) -> DependencyTables:
    """Build the tables.

    Ties for the best head go to the higher layer, then head, then ``head->dep``; ties for the best offset to
    the larger one, both as in the authors' code.

    Args:
        relations: the inventory.
        subsets: counts over the whole corpus, then over one half of each split.
        replicates: counts over each bootstrap replicate.
        offsets: the fixed offsets.
    """
    by_frequency = sorted(range(len(relations)), key=lambda r: (-subsets.total[r, 0], relations[r]))
    members: dict[str, list[int]] = {
        ALL: by_frequency,
        ALL_NO_PUNCT: [r for r in by_frequency if coarse_relation(relations[r]).lower() != "punct"],
        ALL_NO_PUNCT_ROOT: [r for r in by_frequency if coarse_relation(relations[r]).lower() not in ("punct", "root")],
        **{relations[r]: [r] for r in by_frequency},
    }
    cells = [
        _cells(name, subsets.correct[rows, 0].sum(0), int(subsets.total[rows, 0].sum()))
        for name, rows in members.items()
    ]
    best = [_best(name, rows, subsets, replicates, offsets) for name, rows in members.items()]
    return DependencyTables(pd.concat(cells, ignore_index=True), pd.DataFrame(best))


def coarse_relation(relation: str) -> str:
    """The universal part of a relation: ``nsubj`` of ``nsubj:pass``."""
    return relation.split(":", 1)[0]


def _cells(name: str, correct: Array, total: int) -> pd.DataFrame:
    direction, layer, head = (axis.ravel() for axis in np.indices(correct.shape))
    return pd.DataFrame(
        {
            "relation": name,
            "direction": np.array(DIRECTIONS)[direction],
            "layer": layer + 1,
            "head": head + 1,
            "correct": correct.ravel(),
            "total": total,
            "accuracy": correct.ravel() / total if total else np.nan,
        }
    )


def _best(name: str, rows: list[int], subsets: Counts, replicates: Counts, offsets: Sequence[int]) -> dict[str, Any]:
    correct, total = subsets.correct[rows].sum(0), subsets.total[rows].sum(0)
    by_offset = subsets.by_offset[rows, 0].sum(0)
    n = int(total[0])
    chosen = _argbest(correct[0])
    offset = max(range(len(offsets)), key=lambda k: (by_offset[k], offsets[k]))
    right, right_by_offset = int(correct[0][chosen]), int(by_offset[offset])

    def drawn(column: Array) -> Array:
        return np.asarray(column.sum(0, dtype=np.int64))

    drawn_total = drawn(replicates.total[rows])
    drawn_right = drawn(replicates.correct[(rows, slice(None), *chosen)])
    drawn_by_offset = drawn(replicates.by_offset[rows, :, offset])
    low, high = _interval(_rates(drawn_right, drawn_total))
    gain_low, gain_high = _interval(_rates(drawn_right - drawn_by_offset, drawn_total))

    heldout_right, heldout_total = _heldout(correct, total)
    heldout = _rates(heldout_right, heldout_total)
    direction, layer, head = chosen
    return {
        "relation": name,
        "total": n,
        "layer": layer + 1,
        "head": head + 1,
        "direction": DIRECTIONS[direction],
        "tied": int((correct[0] == right).sum()),
        "correct": right,
        "accuracy": _rate(right, n),
        "accuracy_low": low,
        "accuracy_high": high,
        "offset": offsets[offset],
        "offset_correct": right_by_offset,
        "offset_accuracy": _rate(right_by_offset, n),
        "gain": _rate(right - right_by_offset, n),
        "gain_low": gain_low,
        "gain_high": gain_high,
        "heldout_correct": int(heldout_right.sum()),
        "heldout_total": int(heldout_total.sum()),
        "heldout_accuracy": _rate(int(heldout_right.sum()), int(heldout_total.sum())),
        "heldout_min": float(heldout.min()) if heldout.size else float("nan"),
        "heldout_max": float(heldout.max()) if heldout.size else float("nan"),
    }


def _heldout(correct: Array, total: Array) -> tuple[Array, Array]:
    """Right words and words for each split: chosen on one half, scored on the other, both ways together."""
    right, scored = [], []
    for k in range(1, len(correct)):
        halves = (correct[k], total[k]), (correct[0] - correct[k], total[0] - total[k])
        right.append(0)
        scored.append(0)
        for (choose, n_choose), (score, n_score) in (halves, halves[::-1]):
            if n_choose > 0:  # with nothing to choose on there is no choice to score
                right[-1] += int(score[_argbest(choose)])
                scored[-1] += int(n_score)
    return np.array(right), np.array(scored)


def _argbest(correct: Array) -> tuple[int, int, int]:
    """Index (direction, layer, head) of the largest count; the authors' order breaks ties."""
    by_head = np.moveaxis(correct, 0, -1)
    last = by_head.size - 1 - int(by_head.ravel()[::-1].argmax())
    layer, head, direction = np.unravel_index(last, by_head.shape)
    return int(direction), int(layer), int(head)


def _rate(correct: int, total: int) -> float:
    return correct / total if total else float("nan")


def _rates(correct: Array, total: Array) -> Array:
    """Rates where there is anything to take a rate of."""
    return correct[total > 0] / total[total > 0]


def _interval(rates: Array) -> tuple[float, float]:
    """2.5 % and 97.5 % quantiles."""
    if not len(rates):
        return float("nan"), float("nan")
    low, high = np.quantile(rates, [0.025, 0.975])
    return float(low), float(high)


def with_control(best: pd.DataFrame, controls: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put the best head of randomly initialised copies beside the best head of the trained model.

    Args:
        best: `DependencyTables.best` of the trained model.
        controls: the same of each copy, over the same corpus.

    Returns:
        ``best`` with ``control_accuracy``, the mean over the copies of the accuracy of each copy's own best
        head, and ``control_accuracy_max``, the best of all copies.
    """
    if not controls:
        return best
    accuracies = pd.concat([control.set_index("relation")["accuracy"] for control in controls], axis=1)
    accuracies = accuracies.loc[best["relation"]]
    return best.assign(
        control_accuracy=accuracies.mean(axis=1).to_numpy(),
        control_accuracy_max=accuracies.max(axis=1).to_numpy(),
    )
