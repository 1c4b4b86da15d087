"""Statistics that can be compared between runs: a value over the whole corpus, and its bootstrap replicates.

The weight of a sentence in replicate r depends on its id alone. Replicates r of two runs over the same sentences
therefore draw the same sentences, and their difference is a paired difference, whatever the model and the maps. Two
arrays, one of each run, give the interval of the difference without another pass over the corpus.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .best_head import argbest
from .held_out import heldout_rate
from .outcomes import Counts, effective_units

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Measured:
    """One statistic of one run.

    Attributes:
        group: what the statistic is about, for example a relation.
        value: the statistic over the whole corpus, held out if it is about a choice; NaN if it is undefined.
        n: the number of decisions or inputs that it is computed from.
        deviations: how far the statistic deviates in each bootstrap replicate, shape (replicates,). A deviation is NaN
            if the replicate draws nothing of the group.
        choice: what the run chose for this group on the whole corpus, for example ``"3-9 dep->head"``; may be empty.
        units: the effective number of sentences, documents or other units that are resampled; NaN if it is unknown.
            Fewer than `attentionology.analyses.counting.resampling.FEWEST_UNITS` are not tested.
        rule: what the strongest rule that was counted finds of the same decisions, held out; NaN if there is none.
        decisions: if the value is the share of decisions that are right and nothing was chosen, whether each of them
            is, by its id. Two sides with the same ones are compared by `mcnemar`.

    Example:
        >>> import numpy as np
        >>> Measured("nsubj", 0.5, 120, np.array([-0.1, 0.1]), "3-9 dep->head").choice
        '3-9 dep->head'
    """

    group: str
    value: float
    n: int
    deviations: Array
    choice: str = ""
    units: float = math.nan
    rule: float = math.nan
    decisions: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Comparable:
    """A family of statistics of one run. P values are adjusted for the number of statistics in the family.

    Attributes:
        family: the name of the family, which differs from those of all other families of the analysis.
        measured: the statistics, in the order of the report.
        quantity: what the values are, for an axis or a heading: ``"words whose head is found"``.
        counted: what `Measured.n` counts, for example ``"words"``.
        seed: the seed of the bootstrap. Replicates of different seeds are not paired.
        unit: the unit of the values. With ``"%"``, values are shares from 0 to 1, which are shown in percent; with
            ``"points"``, they are differences of shares, from −1 to 1.
        names: how the model names what the statistics are about, such as its special tokens, for those who read them.
    """

    family: str
    measured: tuple[Measured, ...]
    quantity: str
    counted: str
    seed: int
    unit: str = "%"
    names: Mapping[str, str] = field(default_factory=dict)

    def independent(self, corpus: str) -> Comparable:
        """Return the same statistics with their replicates in another order, see `replicate_order`."""
        measured = (
            replace(one, deviations=one.deviations[replicate_order(corpus, len(one.deviations))])
            for one in self.measured
        )
        return replace(self, measured=tuple(measured))


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact p value of McNemar's test, given how many decisions only one of two gets right.

    Example:
        >>> mcnemar(8, 2)
        0.109375
    """
    n, least = only_first + only_second, min(only_first, only_second)
    return min(1.0, float(2 * sum(math.comb(n, k) for k in range(least + 1)) / 2**n))


def replicate_order(corpus: str, replicates: int) -> Array:
    """Return another order of bootstrap replicates, which makes those of one corpus independent of those of others."""
    # The weights of a sentence depend on its id alone, so replicates draw sentences of different corpora together if
    # these have the same id. In another order, they do not. The order is the same for all statistics of a corpus.
    digest = hashlib.blake2b(corpus.encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "little")).permutation(replicates)


def measured_heads(
    groups: Mapping[str, Sequence[int]], subsets: Counts, replicates: Counts, directions: Sequence[str]
) -> tuple[Measured, ...]:
    """Measure the held-out accuracy of the best head of each group, chosen on one half and scored on the other.

    Args:
        groups: the indices of the counts that make up each group, by its name. Groups may overlap.
        subsets: the counts over the whole corpus, then over one half of each split. `Counts.correct` has the shape
            (groups, 1 + splits, directions, layers, heads).
        replicates: the counts over each bootstrap replicate.
        directions: the names of the directions.

    Returns:
        one measure per group. Its `Measured.choice` names the best head over the whole corpus and its direction, such
        as ``"3-9 dep->head"``; it is empty if no head is ever right.
    """
    measured = []
    for name, rows in groups.items():
        correct, n = subsets.correct[list(rows), 0].sum(0), int(subsets.total[list(rows), 0].sum())
        held_out = heldout_rate(rows, subsets, replicates)
        direction, layer, head = argbest(correct)
        chosen = f"{layer + 1}-{head + 1} {directions[direction]}" if correct.any() else ""
        units = effective_units(rows, subsets, replicates)
        measured.append(Measured(name, held_out.value, n, held_out.deviations, chosen, units))
    return tuple(measured)
