"""Counts of right decisions → the tables of the dependency report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from attentionology.analyses.shared.best_head import best_head, cells, drawn, heldout, interval, rate, rates
from attentionology.analyses.shared.outcomes import Counts
from attentionology.corpora_loaders import coarse_relation, is_punct
from attentionology.extractors import DIRECTIONS

ALL = "all"
ALL_NO_PUNCT = "all-nopunct"
ALL_NO_PUNCT_ROOT = "all-nopunct-noroot"
TOTALS = (ALL, ALL_NO_PUNCT, ALL_NO_PUNCT_ROOT)
"""Rows over several relations: every word (as in the paper's "All"), without punctuation (as the paper's probes
are scored), and without punctuation and roots, which no head can get right."""


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
        ALL_NO_PUNCT: [r for r in by_frequency if not is_punct(relations[r])],
        ALL_NO_PUNCT_ROOT: [
            r for r in by_frequency if not is_punct(relations[r]) and coarse_relation(relations[r]).lower() != "root"
        ],
        **{relations[r]: [r] for r in by_frequency},
    }
    rows_of_cells = [
        cells(subsets.correct[rows, 0].sum(0), int(subsets.total[rows, 0].sum()), DIRECTIONS, {"relation": name})
        for name, rows in members.items()
    ]
    best = [_best(name, rows, subsets, replicates, offsets) for name, rows in members.items()]
    return DependencyTables(pd.concat(rows_of_cells, ignore_index=True), pd.DataFrame(best))


def _best(name: str, rows: list[int], subsets: Counts, replicates: Counts, offsets: Sequence[int]) -> dict[str, Any]:
    correct, total = subsets.correct[rows].sum(0), subsets.total[rows].sum(0)
    by_offset = subsets.baselines[rows, 0].sum(0)
    n = int(total[0])
    chosen, columns = best_head(correct[0], n, DIRECTIONS)
    offset = max(range(len(offsets)), key=lambda k: (by_offset[k], offsets[k]))
    right, right_by_offset = columns["correct"], int(by_offset[offset])
    drawn_total = drawn(replicates.total[rows])
    drawn_right = drawn(replicates.correct[(rows, slice(None), *chosen)])
    drawn_by_offset = drawn(replicates.baselines[rows, :, offset])
    low, high = interval(rates(drawn_right, drawn_total))
    gain_low, gain_high = interval(rates(drawn_right - drawn_by_offset, drawn_total))
    return {
        "relation": name,
        "total": n,
        **columns,
        "accuracy_low": low,
        "accuracy_high": high,
        "offset": offsets[offset],
        "offset_correct": right_by_offset,
        "offset_accuracy": rate(right_by_offset, n),
        "gain": rate(right - right_by_offset, n),
        "gain_low": gain_low,
        "gain_high": gain_high,
        **heldout(correct, total),
    }
