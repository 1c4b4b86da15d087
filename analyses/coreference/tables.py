"""The tables of the coreference report, made from counts of right decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...corpora_loaders.coreference import TYPES
from ..counting.best_head import best_head, cells_of_groups, drawn, heldout, interval, rate, rates
from ..counting.held_out import heldout_gain
from ..counting.outcomes import Counts
from .contrasts import CONTRASTS, best_head_contrast, contrast_tables
from .decisions import BASELINES, DIRECTIONS, POLICIES, column_name

ALL = "all"

SENTENCE_BINS = (0, 1, 2, 3)
"""The smallest distance in sentences of each bin. The last bin has no upper end."""

WORD_BINS = (1, 6, 11, 21, 51)
"""The smallest distance in words of each bin. The last bin has no upper end."""

RULES = BASELINES.index("rule-based")
"""The index of the baseline with which heads are compared."""

Array = npt.NDArray[Any]


class CoreferenceTables(NamedTuple):
    """The tables of the coreference report, whose columns `attentionology.analyses.coreference.columns` declares.

    ``total`` is the number of mentions that are scored, which is the same for all heads, candidates and baselines.

    Attributes:
        cells: one row per policy, type of mention, direction, layer and head.
        best: one row per policy and type. A row without mentions has no head.
        baselines: one row per baseline and type.
        distances: the accuracies by distance to the nearest antecedent in sentences or words. Rows of baselines have
            the name of the baseline as ``candidates`` and no head.
        groups: the same as ``cells`` by ``group`` of documents instead of type; empty if the corpus has no groups.
        contrasts: for each policy the best head of the whole corpus in two groups.
        head_contrasts: for each policy every head in two groups.
        largest_contrasts: for each comparison and side the heads with the largest differences.
    """

    cells: pd.DataFrame
    best: pd.DataFrame
    baselines: pd.DataFrame
    distances: pd.DataFrame
    groups: pd.DataFrame
    contrasts: pd.DataFrame
    head_contrasts: pd.DataFrame
    largest_contrasts: pd.DataFrame


def group_name(labels: Sequence[str], kind: str) -> str:
    """Return the name of the mentions of one type in documents that belong to these groups."""
    return " + ".join((*labels, kind))


def bin_of(value: int, bins: Sequence[int]) -> int:
    """Return the index of the bin into which a distance falls."""
    return int(np.searchsorted(bins, value, side="right")) - 1


def bin_name(index: int, bins: Sequence[int]) -> str:
    """Return the name of a bin, for example ``6–10`` or ``51+``."""
    if index == len(bins) - 1:
        return f"{bins[index]}+"
    last = bins[index + 1] - 1
    return str(last) if last == bins[index] else f"{bins[index]}–{last}"


def tables(
    types: Mapping[str, list[int]],
    labels: Mapping[str, list[int]],
    subsets: Counts,
    replicates: Counts,
    distances: Array,
) -> CoreferenceTables:
    """Build the tables."""
    # types, labels: the indices of the counts of each type of mention (all first), and of each group of documents.
    # distances: the counts by distance, shape (types, sentence bins, word bins, outcomes).
    policies = range(len(POLICIES))
    pairs = [pair for pair in CONTRASTS if set(pair) <= set(labels)]
    head_contrasts, largest_contrasts = [], []
    for policy in policies:
        for pair in pairs:
            of_heads, largest = contrast_tables(policy, pair, labels, subsets, replicates)
            head_contrasts.append(of_heads)
            largest_contrasts.append(largest)
    return CoreferenceTables(
        cells=_cells("type", types, subsets),
        best=pd.DataFrame(
            _best(policy, name, rows, subsets, replicates) for policy in policies for name, rows in types.items()
        ).astype({"layer": "Int64", "head": "Int64", "tied": "Int64"}),
        baselines=pd.DataFrame(
            _baseline(index, name, rows, subsets, replicates)
            for index in range(len(BASELINES))
            for name, rows in types.items()
        ),
        distances=_distances(distances, subsets.correct.shape[2:]),
        groups=_cells("group", labels, subsets),
        contrasts=pd.DataFrame(
            best_head_contrast(policy, pair, types[ALL], labels, subsets, replicates)
            for policy in policies
            for pair in pairs
        ),
        head_contrasts=_below_each_other(head_contrasts),
        largest_contrasts=_below_each_other(largest_contrasts),
    )


def _cells(column: str, groups: Mapping[str, list[int]], subsets: Counts) -> pd.DataFrame:
    """Return one row per policy, group of decisions, direction, layer and head; ``column`` names the group."""
    if not groups:
        return pd.DataFrame()
    correct = np.stack([subsets.correct[rows, 0].sum(0) for rows in groups.values()], axis=1)  # policy, group, …
    total = np.array([subsets.total[rows, 0].sum() for rows in groups.values()])  # subset 0 is the whole corpus
    names = {"candidates": np.repeat(POLICIES, len(groups)).tolist(), column: [*groups] * len(POLICIES)}
    by_group = correct.reshape(-1, *correct.shape[2:])
    return cells_of_groups(by_group, np.tile(total, len(POLICIES)), DIRECTIONS, names)


def _below_each_other(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the tables that have any rows."""
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def _best(policy: int, name: str, rows: list[int], subsets: Counts, replicates: Counts) -> dict[str, Any]:
    """Return the row of the best head under a policy for mentions of a type, whose counts have these indices."""
    # Subset 0 is the whole corpus. The axes of `correct` are subset, direction, layer and head.
    correct, total = subsets.correct[rows, :, policy].sum(0), subsets.total[rows].sum(0)
    n = int(total[0])
    chosen, head_columns = best_head(correct[0], n, DIRECTIONS)  # chosen: direction, layer, head
    n_right = head_columns["correct"]
    if not n:  # no decisions that could choose a head
        head_columns |= dict.fromkeys(("layer", "head", "direction", "tied"))
    right_of_baselines = subsets.baselines[rows, 0].sum(0).tolist()
    drawn_total = drawn(replicates.total[rows])  # one number per replicate, as all that is drawn
    drawn_right = drawn(replicates.correct[(rows, slice(None), policy, *chosen)])
    low, high = interval(rates(drawn_right, drawn_total))
    baseline_columns: dict[str, float] = {}
    for baseline, right in zip(BASELINES, right_of_baselines, strict=True):
        baseline_columns[f"{column_name(baseline)}_correct"] = right
        baseline_columns[f"{column_name(baseline)}_accuracy"] = rate(right, n)
    gain_columns = {}
    for column, index in (("gain", RULES), ("gain_nearest", BASELINES.index("nearest"))):
        gain_columns[column] = rate(n_right - right_of_baselines[index], n)
        drawn_gains = rates(drawn_right - drawn(replicates.baselines[rows, :, index]), drawn_total)
        gain_columns[f"{column}_low"], gain_columns[f"{column}_high"] = interval(drawn_gains)
    of_policy, drawn_of_policy = (
        replace(counts, correct=counts.correct[:, :, policy]) for counts in (subsets, replicates)
    )
    return {
        "candidates": POLICIES[policy],
        "type": name,
        "total": n,
        **head_columns,
        "accuracy_low": low,
        "accuracy_high": high,
        **baseline_columns,
        **gain_columns,
        **heldout(correct, total),
        **heldout_gain(rows, of_policy, drawn_of_policy, [RULES]),
    }


def _baseline(index: int, name: str, rows: list[int], subsets: Counts, replicates: Counts) -> dict[str, Any]:
    """Return the row of a baseline for mentions of a type, whose counts have these indices."""
    right, n = int(subsets.baselines[rows, 0, index].sum()), int(subsets.total[rows, 0].sum())
    low, high = interval(rates(drawn(replicates.baselines[rows, :, index]), drawn(replicates.total[rows])))
    return {
        "baseline": BASELINES[index],
        "type": name,
        "correct": right,
        "total": n,
        "accuracy": rate(right, n),
        "accuracy_low": low,
        "accuracy_high": high,
    }


def _distances(counts: Array, shape: tuple[int, ...]) -> pd.DataFrame:
    """Return the accuracies by distance in sentences and in words, for each type and for all types together."""
    n_heads = math.prod(shape)
    frames = []
    for unit, by_bin, bins in (("sentences", counts.sum(2), SENTENCE_BINS), ("words", counts.sum(1), WORD_BINS)):
        for name, bins_of_type in zip((ALL, *TYPES), [by_bin.sum(0), *by_bin], strict=True):
            for index, outcomes in enumerate(bins_of_type):
                right_of_heads, right_of_baselines = np.split(outcomes[:-1], [n_heads])
                total = int(outcomes[-1])  # the last outcome of every decision is 1
                names = {"type": name, "unit": unit, "distance": bin_name(index, bins)}
                names_by_policy = {key: [value] * len(POLICIES) for key, value in names.items()}
                keys = {"candidates": POLICIES, **names_by_policy}
                totals = np.full(len(POLICIES), total)
                frames.append(cells_of_groups(right_of_heads.reshape(shape), totals, DIRECTIONS, keys))
                columns = {"candidates": BASELINES, **names, "correct": right_of_baselines, "total": total}
                accuracies = [rate(right, total) for right in right_of_baselines.tolist()]
                frames.append(pd.DataFrame({**columns, "accuracy": accuracies}))
    return pd.concat(frames, ignore_index=True).astype({"layer": "Int64", "head": "Int64"})
