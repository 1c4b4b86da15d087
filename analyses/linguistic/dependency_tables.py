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
    """Integer counts per relation and weighting (half of the corpus, or bootstrap replicate).

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
            bootstrap interval ``accuracy_low, accuracy_high``; the best fixed offset ``offset,
            offset_correct, offset_accuracy``; ``gain`` = accuracy − offset_accuracy with ``gain_low,
            gain_high``; and ``heldout_correct, heldout_total, heldout_accuracy``, where head and direction
            were chosen on one half of the sentences and scored on the other, both ways.
    """

    cells: pd.DataFrame
    best: pd.DataFrame


def tables(relations: Sequence[str], halves: Counts, replicates: Counts, offsets: Sequence[int]) -> DependencyTables:
    """Build the tables.

    Ties for the best head go to the higher layer, then head, then ``head->dep``; ties for the best offset to
    the larger one, both as in the authors' code.
    """
    by_frequency = sorted(range(len(relations)), key=lambda r: (-halves.total[r].sum(), relations[r]))
    members: dict[str, list[int]] = {
        ALL: by_frequency,
        ALL_NO_PUNCT: [r for r in by_frequency if _universal(relations[r]) != "punct"],
        ALL_NO_PUNCT_ROOT: [r for r in by_frequency if _universal(relations[r]) not in ("punct", "root")],
        **{relations[r]: [r] for r in by_frequency},
    }
    cells = [
        _cells(name, halves.correct[rows].sum((0, 1)), int(halves.total[rows].sum())) for name, rows in members.items()
    ]
    best = [_best(name, rows, halves, replicates, offsets) for name, rows in members.items()]
    return DependencyTables(pd.concat(cells, ignore_index=True), pd.DataFrame(best))


def _universal(relation: str) -> str:
    return relation.split(":", 1)[0].lower()


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


def _best(name: str, rows: list[int], halves: Counts, replicates: Counts, offsets: Sequence[int]) -> dict[str, Any]:
    correct, total = halves.correct[rows].sum(0), halves.total[rows].sum(0)  # by half
    by_offset = halves.by_offset[rows].sum((0, 1))
    n = int(total.sum())
    chosen = _argbest(correct.sum(0))
    offset = max(range(len(offsets)), key=lambda k: (by_offset[k], offsets[k]))
    right, right_by_offset = int(correct.sum(0)[chosen]), int(by_offset[offset])

    def drawn(column: Array) -> Array:
        return np.asarray(column.sum(0, dtype=np.int64))

    drawn_total = drawn(replicates.total[rows])
    drawn_right = drawn(replicates.correct[(rows, slice(None), *chosen)])
    drawn_by_offset = drawn(replicates.by_offset[rows, :, offset])
    low, high = _interval(_rates(drawn_right, drawn_total))
    gain_low, gain_high = _interval(_rates(drawn_right - drawn_by_offset, drawn_total))

    heldout_right = heldout_total = 0
    for choose, score in ((0, 1), (1, 0)):
        if total[choose] > 0:  # with nothing to choose on there is no choice to score
            heldout_right += int(correct[score][_argbest(correct[choose])])
            heldout_total += int(total[score])
    direction, layer, head = chosen
    return {
        "relation": name,
        "total": n,
        "layer": layer + 1,
        "head": head + 1,
        "direction": DIRECTIONS[direction],
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
        "heldout_correct": heldout_right,
        "heldout_total": heldout_total,
        "heldout_accuracy": _rate(heldout_right, heldout_total),
    }


def _argbest(correct: Array) -> tuple[int, int, int]:
    """Index (direction, layer, head) of the largest count; the authors' order breaks ties."""
    by_head = np.moveaxis(correct, 0, -1)
    last = by_head.size - 1 - int(by_head.ravel()[::-1].argmax())
    layer, head, direction = np.unravel_index(last, by_head.shape)
    return int(direction), int(layer), int(head)


def _rate(correct: int, total: int) -> float:
    return correct / total if total else float("nan")


def _rates(correct: Array, total: Array) -> Array:
    """Rates of the replicates that drew the relation at all."""
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
