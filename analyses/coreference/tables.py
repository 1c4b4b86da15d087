"""Counts of right antecedents → the tables of the coreference report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attentionology.analyses.coreference.antecedents import DIRECTIONS
from attentionology.analyses.coreference.baselines import BASELINES, column_name
from attentionology.analyses.coreference.choices import POLICIES
from attentionology.analyses.coreference.contrasts import CONTRASTS, contrast_tables
from attentionology.analyses.shared.best_head import best_head, cells, drawn, heldout, interval, rate, rates
from attentionology.analyses.shared.outcomes import Counts
from attentionology.corpora_loaders.coreference import TYPES

ALL = "all"

SENTENCE_BINS = (0, 1, 2, 3)
"""Smallest distance in sentences of each bin; the last has no upper end."""

WORD_BINS = (1, 6, 11, 21, 51)
"""Smallest distance in words of each bin."""

Array = npt.NDArray[Any]


class CoreferenceTables(NamedTuple):
    """The coreference report as tables. Layers and heads are 1-based, counts stand beside every rate.

    ``total`` is the number of mentions scored: the same for all heads, candidates and baselines.

    Attributes:
        cells: one row per policy, type of mention, direction, layer and head: ``candidates, type, direction, layer,
            head, correct, total, accuracy``.
        best: one row per policy and type. Its columns: ``candidates, type, total``; the best head ``layer, head,
            direction, tied, correct, accuracy`` with its 95 % bootstrap interval ``accuracy_low, accuracy_high``; for
            each baseline ``NAME_correct, NAME_accuracy``; ``gain`` over the rule-based one with ``gain_low,
            gain_high``, and ``gain_nearest`` with its own (no head where nothing was scored); and ``heldout_…`` as in
            `attentionology.analyses.dependency.tables`.
        baselines: ``baseline, type, correct, total, accuracy, accuracy_low, accuracy_high``.
        distances: ``candidates, type, unit, distance, direction, layer, head, correct, total, accuracy``: by distance
            to the nearest antecedent in sentences or words; rows of baselines have their name as ``candidates`` and no
            head.
        groups: the same as ``cells`` by ``group`` of documents instead of type; empty unless the corpus has any.
        contrasts: for each policy the best head of the whole corpus in two groups: ``candidates, layer, head,
            direction, first, first_correct, first_total, first_accuracy``, the same of ``second``; their
            ``difference`` and ``ratio`` with intervals.
        head_contrasts: for each policy every head in two groups: ``candidates, first, second, direction, layer, head``,
            counts and accuracies as in ``contrasts``, their ``difference`` with a 95 % bootstrap interval of its own
            ``difference_low, difference_high``, its ``standard_error``, and ``simultaneous_low, simultaneous_high``,
            intervals that hold for all heads and directions of a comparison at once.
        largest_contrasts: of these rows the largest, `contrasts.SHOWN` for each group as ``higher``, by ``rank``. Then
            ``heldout_…``: heads of that rank on one half of the documents, measured on the other, both ways, over all
            splits: counts in both groups, their difference, its smallest and largest value in a split; and on how many
            halves a head was chosen (``heldout_choices``), and it was this one (``heldout_same``).
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
    """Of the mentions of one type in documents that belong to these groups."""
    return " + ".join((*labels, kind))


def bin_of(value: int, bins: Sequence[int]) -> int:
    """Index of the bin that a distance falls into."""
    return int(np.searchsorted(bins, value, side="right")) - 1


def bin_name(index: int, bins: Sequence[int]) -> str:
    """``6–10``, or ``51+``."""
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
    """Build the tables.

    Args:
        types: groups that make up each type of mention, all types together first.
        labels: groups that make up each group of documents.
        subsets: counts over the whole corpus, then over one half of each split.
        replicates: counts over each bootstrap replicate.
        distances: shape (types, sentence bins, word bins, outcomes).
    """
    by_head = {
        (policy, name): (subsets.correct[rows, 0, p].sum(0), int(subsets.total[rows, 0].sum()))
        for p, policy in enumerate(POLICIES)
        for name, rows in {**types, **labels}.items()
    }

    def all_cells(column: str, names: Sequence[str]) -> pd.DataFrame:
        return _below_each_other(
            [
                cells(*by_head[policy, name], DIRECTIONS, {"candidates": policy, column: name})
                for policy in POLICIES
                for name in names
            ]
        )

    pairs = [pair for pair in CONTRASTS if set(pair) <= set(labels)]
    by_head_and_largest = [
        contrast_tables(p, policy, pair, labels, subsets, replicates)
        for p, policy in enumerate(POLICIES)
        for pair in pairs
    ]
    return CoreferenceTables(
        cells=all_cells("type", list(types)),
        best=pd.DataFrame(
            _best(p, name, rows, subsets, replicates) for p in range(len(POLICIES)) for name, rows in types.items()
        ).astype({"layer": "Int64", "head": "Int64", "tied": "Int64"}),
        baselines=pd.DataFrame(
            _baseline(b, name, rows, subsets, replicates) for b in range(len(BASELINES)) for name, rows in types.items()
        ),
        distances=_distances(distances, subsets.correct.shape[2:]),
        groups=all_cells("group", list(labels)),
        contrasts=pd.DataFrame(
            _contrast(p, pair, types[ALL], labels, subsets, replicates) for p in range(len(POLICIES)) for pair in pairs
        ),
        head_contrasts=_below_each_other([every for every, _ in by_head_and_largest]),
        largest_contrasts=_below_each_other([largest for _, largest in by_head_and_largest]),
    )


def _below_each_other(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()


def _best(policy: int, name: str, rows: list[int], subsets: Counts, replicates: Counts) -> dict[str, Any]:
    correct, total = subsets.correct[rows, :, policy].sum(0), subsets.total[rows].sum(0)
    n = int(total[0])
    chosen, columns = best_head(correct[0], n, DIRECTIONS)
    baselines = subsets.baselines[rows, 0].sum(0).tolist()
    drawn_total = drawn(replicates.total[rows])
    drawn_right = drawn(replicates.correct[(rows, slice(None), policy, *chosen)])
    low, high = interval(rates(drawn_right, drawn_total))
    gains = {}
    for column, baseline in (("gain", "rule-based"), ("gain_nearest", "nearest")):
        b = BASELINES.index(baseline)
        drawn_gain = rates(drawn_right - drawn(replicates.baselines[rows, :, b]), drawn_total)
        gains[column] = rate(columns["correct"] - baselines[b], n)
        gains[f"{column}_low"], gains[f"{column}_high"] = interval(drawn_gain)
    if not n:  # nothing to choose by
        columns |= dict.fromkeys(("layer", "head", "direction", "tied"))
    return {
        "candidates": POLICIES[policy],
        "type": name,
        "total": n,
        **columns,
        "accuracy_low": low,
        "accuracy_high": high,
        **{
            f"{column_name(baseline)}_{what}": value
            for baseline, right in zip(BASELINES, baselines, strict=True)
            for what, value in (("correct", right), ("accuracy", rate(right, n)))
        },
        **gains,
        **heldout(correct, total),
    }


def _baseline(b: int, name: str, rows: list[int], subsets: Counts, replicates: Counts) -> dict[str, Any]:
    right, n = int(subsets.baselines[rows, 0, b].sum()), int(subsets.total[rows, 0].sum())
    low, high = interval(rates(drawn(replicates.baselines[rows, :, b]), drawn(replicates.total[rows])))
    return {
        "baseline": BASELINES[b],
        "type": name,
        "correct": right,
        "total": n,
        "accuracy": rate(right, n),
        "accuracy_low": low,
        "accuracy_high": high,
    }


def _distances(counts: Array, shape: tuple[int, ...]) -> pd.DataFrame:
    """By sentences and by words; types, and all of them."""
    heads = int(np.prod(shape))
    frames = []
    by_unit = {"sentences": (counts.sum(2), SENTENCE_BINS), "words": (counts.sum(1), WORD_BINS)}
    for unit, (by_bin, bins) in by_unit.items():
        for name, own in [(ALL, by_bin.sum(0)), *zip(TYPES, by_bin, strict=True)]:
            for index, outcomes in enumerate(own):
                total = int(outcomes[-1])
                where = {"type": name, "unit": unit, "distance": bin_name(index, bins)}
                by_head = outcomes[:heads].reshape(shape)
                frames += [
                    cells(by_head[p], total, DIRECTIONS, {"candidates": policy, **where})
                    for p, policy in enumerate(POLICIES)
                ]
                right = outcomes[heads:-1].tolist()
                rows = [
                    {
                        "candidates": baseline,
                        **where,
                        "correct": k,
                        "total": total,
                        "accuracy": rate(k, total),
                    }
                    for baseline, k in zip(BASELINES, right, strict=True)
                ]
                frames.append(pd.DataFrame(rows))
    table = pd.concat(frames, ignore_index=True)
    return table.astype({"layer": "Int64", "head": "Int64"})


def _contrast(
    policy: int,
    pair: tuple[str, str],
    everything: list[int],
    labels: Mapping[str, list[int]],
    subsets: Counts,
    replicates: Counts,
) -> dict[str, Any]:
    """The best head of the whole corpus in two groups of its documents."""
    total = int(subsets.total[everything, 0].sum())
    chosen, columns = best_head(subsets.correct[everything, 0, policy].sum(0), total, DIRECTIONS)
    row = {"candidates": POLICIES[policy], **{name: columns[name] for name in ("layer", "head", "direction")}}
    drawn_rates, found = [], []
    for place, label in zip(("first", "second"), pair, strict=True):
        rows = labels[label]
        right, n = int(subsets.correct[(rows, 0, policy, *chosen)].sum()), int(subsets.total[rows, 0].sum())
        found.append(rate(right, n))
        row |= {place: label, f"{place}_correct": right, f"{place}_total": n, f"{place}_accuracy": found[-1]}
        drawn_right = drawn(replicates.correct[(rows, slice(None), policy, *chosen)])
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn_rates.append(drawn_right / drawn(replicates.total[rows]))
    first, second = drawn_rates
    with np.errstate(divide="ignore", invalid="ignore"):
        differences, ratios = first - second, first / second
    for name, value, values in (
        ("difference", found[0] - found[1], differences),
        ("ratio", found[0] / found[1] if found[1] else float("nan"), ratios),
    ):
        row[name] = value
        row[f"{name}_low"], row[f"{name}_high"] = interval(values[np.isfinite(values)])
    return row
