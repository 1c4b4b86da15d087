"""The tables of the dependency report, made from counts of right decisions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool

from ...corpora_loaders import is_punct
from ...corpora_loaders.tree import is_root, plain_relation
from ..counting.best_head import best_head, cells_of_groups, drawn, heldout, intervals, rate, rates
from ..counting.held_out import heldout_gain
from ..counting.outcomes import Counts
from .decisions import READINGS

ALL = "all"
ALL_NO_PUNCT = "all-nopunct"
ALL_NO_PUNCT_ROOT = "all-nopunct-noroot"
TOTALS = (ALL, ALL_NO_PUNCT, ALL_NO_PUNCT_ROOT)
"""The names of rows over several relations: every word (as in the paper's "All"), every word but punctuation (as the
paper's probes are scored), and every word but punctuation and roots, which no head can get right."""


@dataclass(frozen=True)
class Asked:
    """The rows of the tables, and hence the statistics that are compared, if they were chosen before the run."""

    relations: tuple[str, ...] = ()  # the relations and totals that have rows; empty for all
    unions: tuple[tuple[str, tuple[str, ...]], ...] = ()  # groups of relations, each a row of its own


class DependencyTables(NamedTuple):
    """The tables of the dependency report, whose columns `attentionology.analyses.dependency.columns` declares.

    Attributes:
        cells: one row per relation, direction, layer and head.
        best: one row per relation, the `TOTALS` first, then the others from the most frequent one on.
    """

    cells: pd.DataFrame
    best: pd.DataFrame


def tables(
    relations: Sequence[str], subsets: Counts, replicates: Counts, offsets: Sequence[int], asked: Asked | None = None
) -> DependencyTables:
    """Build the tables."""
    # Ties for the best head go to the higher layer, then to the higher head, then to the last direction. Ties for the
    # best offset go to the larger one. Both rules are those of the authors' code.
    members = members_of(relations, subsets, asked)
    correct = np.stack([subsets.correct[rows, 0].sum(0) for rows in members.values()])
    total = np.array([subsets.total[rows, 0].sum() for rows in members.values()])
    best = [_best(name, rows, subsets, replicates, offsets) for name, rows in members.items()]
    by_head = cells_of_groups(correct, total, READINGS, {"relation": list(members)})
    tables = DependencyTables(by_head, pd.DataFrame(best))
    if subsets.baselines.shape[-1] > len(offsets):  # of a causal model
        reach = {}  # by relation and direction
        for (name, rows), n_words in zip(members.items(), total.tolist(), strict=True):
            before, after = subsets.baselines[rows, 0, len(offsets) :].sum(0).tolist()
            # A word with several heads may have some on either side, so that the sum can be more than all words.
            together = min(before + after, n_words)
            for direction, reached in zip(READINGS, (before, after, together), strict=True):
                reach[name, direction] = rate(reached, n_words)
        for table in tables:
            table["reach"] = [reach[key] for key in zip(table["relation"], table["direction"], strict=True)]
    return tables


def members_of(relations: Sequence[str], subsets: Counts, asked: Asked | None = None) -> dict[str, list[int]]:
    """Return the indices of the relations that each row counts: totals, unions, then relations by falling frequency."""
    asked = asked or Asked()
    # With enhanced dependencies, a word counts once in a total or union, so these are counted apart from relations.
    sum_names = (*TOTALS, *(name for name, _ in asked.unions))
    counted_apart = {name: [index] for index, name in enumerate(relations) if name in sum_names}
    # Roots and punctuation whose relations do not say what they are have been counted apart from the other words of
    # their relations.
    indices_of: dict[str, list[int]] = {}
    for index, name in enumerate(relations):
        if name not in counted_apart:
            indices_of.setdefault(plain_relation(name), []).append(index)
    frequencies = {name: int(subsets.total[indices, 0].sum()) for name, indices in indices_of.items()}  # in all texts
    in_order = sorted(indices_of, key=lambda name: (-frequencies[name], name))
    by_frequency = [index for name in in_order for index in indices_of[name]]
    no_punct = [index for index in by_frequency if not is_punct(relations[index])]
    no_punct_root = [index for index in no_punct if not is_root(relations[index])]
    totals = {ALL: by_frequency, ALL_NO_PUNCT: no_punct, ALL_NO_PUNCT_ROOT: no_punct_root}
    totals |= {name: counted_apart[name] for name in TOTALS if name in counted_apart}
    # Where no relation is called root, none may be called punct. If no punctuation is known, the row would be `all`.
    has_roots = any(is_root(relations[index]) for index in by_frequency)
    if len(no_punct) == len(by_frequency) and has_roots and not any(map(is_root, indices_of)):
        del totals[ALL_NO_PUNCT]
    unions = {}
    for name, union in asked.unions:
        if members := [index for index in by_frequency if plain_relation(relations[index]) in union]:
            unions[name] = counted_apart.get(name, members)
    # The words of a treebank without relations are in the totals alone.
    single_rows = {} if in_order == ["_"] else {name: indices_of[name] for name in in_order}
    rows = {**totals, **unions, **single_rows}
    asked_names = {*asked.relations, *unions} if asked.relations else rows.keys()
    return {name: indices for name, indices in rows.items() if name in asked_names}


def members_by_group(
    relations: Sequence[str], unions: Mapping[str, Collection[str]]
) -> dict[str, Bool[np.ndarray, " relations"]]:
    """Return which relations belong to each of the `TOTALS` and of the groups of relations."""
    is_word = np.array([not is_punct(name) for name in relations], dtype=bool)
    are_roots = np.array([is_root(name) for name in relations], dtype=bool)
    totals = {ALL: np.ones(len(relations), dtype=bool), ALL_NO_PUNCT: is_word, ALL_NO_PUNCT_ROOT: is_word & ~are_roots}
    return totals | {
        name: np.array([plain_relation(relation) in members for relation in relations], dtype=bool)
        for name, members in unions.items()
    }


def _best(name: str, rows: list[int], subsets: Counts, replicates: Counts, offsets: Sequence[int]) -> dict[str, Any]:
    """Return the row of the best head, beside the best offset, for the relations with these indices together."""
    correct, total = subsets.correct[rows].sum(0), subsets.total[rows].sum(0)
    n = int(total[0])
    chosen, columns = best_head(correct[0], n, READINGS)  # in the whole corpus
    by_offset = subsets.baselines[rows, 0].sum(0)[: len(offsets)]
    ascending = sorted(range(len(offsets)), key=lambda index: offsets[index])
    offset = max(ascending, key=lambda index: (by_offset[index], offsets[index]))
    right, right_by_offset = columns["correct"], int(by_offset[offset])
    # The same in each bootstrap replicate, shape (replicates,).
    drawn_total = drawn(replicates.total[rows])
    drawn_right = drawn(replicates.correct[(rows, slice(None), *chosen)])
    drawn_by_offset = drawn(replicates.baselines[rows, :, offset])
    drawn_rates = rates(np.stack([drawn_right, drawn_right - drawn_by_offset]), drawn_total)
    (low, high), (gain_low, gain_high) = intervals(drawn_rates)
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
        **heldout_gain(rows, subsets, replicates, ascending),
    }
