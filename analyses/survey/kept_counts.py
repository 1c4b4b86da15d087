"""What is kept of the counts of a cell until all treebanks are read: enough to score any head on it.

The counts over replicates of all cells would not fit into memory, so they are in files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt

from ..counting.best_head import Choice, interval, rates, sum_groups
from ..counting.comparable import Measured
from ..counting.held_out import best_in_replicates, score_deviations
from ..counting.outcomes import Counts

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class KeptCounts:
    """What is kept of a cell with one kind of map, to score heads of other treebanks on it and its heads on others."""

    groups: Mapping[str, list[int]]  # the indices of the counts that make up each relation or total, by its name
    in_means: frozenset[str]  # the relations that are part of means, see `averaged_relations`
    # the right decisions of each head for each relation, shape (directions, layers, heads)
    correct: Mapping[str, Array]
    heldout: Mapping[str, Measured]  # the held-out accuracy of the treebank's own heads for each relation
    # for each relation, the head that is best in each replicate, see `best_in_replicates`
    best_again: Mapping[str, Array]
    replicates: Counts  # the counts over replicates
    _scores: dict[tuple[str, Choice], tuple[Array, tuple[float, float]]] = field(default_factory=dict, init=False)

    def scores(self, relation: str, head: Choice) -> tuple[Array, tuple[float, float]]:
        """Return how far the accuracy of a head deviates in each replicate, and its interval."""
        if (relation, head) not in self._scores:
            rows, n = self.groups[relation], self.heldout[relation].n
            right = sum_groups(self.replicates.correct[(rows, slice(None), *head)])  # in each replicate
            deviations = score_deviations(rows, {head: 1}, self.correct[relation], n, self.replicates)
            bounds = interval(rates(right, sum_groups(self.replicates.total[rows])))
            self._scores[relation, head] = deviations, bounds
        return self._scores[relation, head]


def kept_counts(
    groups: Mapping[str, list[int]],
    in_means: Iterable[str],
    measured: Iterable[Measured],
    counts: tuple[Counts, Counts],
) -> KeptCounts:
    """Keep what transfer needs of the counts over subsets of the corpus and over replicates; see `KeptCounts`."""
    subsets, replicates = counts
    # The counts over replicates go to a temporary file, because they take 26 MB for 45 relations and 144 heads, for
    # each model, treebank and kind of map of the survey.
    drawn_correct = replicates.correct.astype(np.min_scalar_type(int(replicates.correct.max(initial=0))))
    if drawn_correct.size:
        with TemporaryFile() as file:
            drawn_correct.tofile(file)
            file.flush()
            drawn_correct = np.memmap(file, drawn_correct.dtype, "r", shape=drawn_correct.shape)
    return KeptCounts(
        groups,
        frozenset(in_means),
        {name: subsets.correct[rows, 0].sum(0) for name, rows in groups.items()},  # subset 0 is the whole corpus
        {heldout.group: heldout for heldout in measured},
        {name: best_in_replicates(rows, replicates) for name, rows in groups.items()},
        Counts(drawn_correct, np.zeros(0), replicates.total),
    )
