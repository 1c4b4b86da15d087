"""Counts of right decisions: of every head and baseline, over the corpus, halves of it, and bootstrap replicates.

One linear operation gives everything. Each decision is a row of 0/1 *outcomes*: whether it is right for each head and
direction, whether it is right for each baseline, and a constant 1 for the total. Each unit that is resampled (a
sentence or a document) has *weights*: whether it is in the first half of each split, and how often each bootstrap
replicate draws it. The products of weights and outcomes, added up per group, are the counts, the held-out counts and
the bootstrap counts.

The unit is a sentence or document and not a decision, because the decisions within one sentence depend on each other:
intervals from resampled words would be too narrow. All sums are of integers and therefore exact. The products within
a batch are computed in float32, which is exact below 2²⁴, because a matrix product in float32 is many times faster than
one of integers; the counts of the replicates are int32, and `check_limit` keeps them below 2³¹.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from .metric import ConfiguredMetric, Metric
from .resampling import (
    MOST_DRAWN,
    TOO_LARGE,
    TooManyDecisionsError,
    check_limit,
    effective_number_drawn,
    halves,
    poisson_weights,
)

SPLITS = 10
"""The number of ways in which the corpus is cut into halves for held-out accuracy. A single split depends on luck."""

_ROWS = 2**19
"""The number of decisions that are multiplied at once. A replicate draws each of them `MOST_DRAWN` times at most, so
that all sums are below 2²⁴, where float32 is exact."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Counts:
    """Integer counts per group and weighting. A weighting is a subset of the corpus or a bootstrap replicate.

    Attributes:
        correct: the right decisions of each head, shape (groups, weightings, …, layers, heads).
        baselines: the right decisions of each baseline, shape (groups, weightings, baselines).
        total: the number of decisions, shape (groups, weightings).
    """

    correct: Array
    baselines: Array
    total: Array


def effective_units(rows: Sequence[int], subsets: Counts, replicates: Counts) -> float:
    """Return the effective number of units of some groups together, which claims need; NaN without replicates."""
    rows = list(rows)
    return effective_number_drawn(int(subsets.total[rows, 0].sum()), replicates.total[rows].sum(0, dtype=np.int64))


class OutcomeCounts(ConfiguredMetric):
    """The counts of every analysis of decisions. A subclass makes the outcomes and calls `add_outcomes`.

    All states are integer counts, and the resampling depends on the ids of the units alone, so any split of the corpus
    gives the same bits. The bootstrap takes ``groups × replicates × outcomes × 4`` bytes.

    Args:
        groups: the names of the groups of decisions.
        shape: the shape of a decision's outcomes by head, (…, layers, heads).
        n_baselines: the number of baselines.
        replicates: the number of bootstrap replicates; 0 for no bootstrap.
        seed: the seed of the bootstrap and of the splits into halves.
        configuration: further values that must be equal if counts are to be added up.

    Example:
        >>> class Hits(OutcomeCounts):
        ...     def update(self, hits, baselines):  # the first decision is in sentence s1, the second in s2
        ...         self.add_outcomes(np.array([0, 0]), np.array([0, 1]), ["s1", "s2"], hits, baselines)
        ...     def compute(self):
        ...         return self.split_counts()[0].correct[0, 0].tolist()  # of group 0, in the whole corpus
        >>> counts = Hits(["nsubj"], (1, 1, 2), 1, replicates=0, seed=0)
        >>> counts.update(torch.tensor([[[[True, False]]], [[[True, True]]]]), np.array([[True], [False]]))
        >>> counts.compute()
        [[[2, 1]]]
    """

    counts: Int[Tensor, "groups subsets outcomes"]
    bootstrap: Int[Tensor, "groups replicates outcomes"]

    def __init__(
        self,
        groups: Sequence[str],
        shape: tuple[int, ...],
        n_baselines: int,
        *,
        replicates: int,
        seed: int,
        configuration: tuple[object, ...] = (),
    ) -> None:
        super().__init__(repr((tuple(groups), shape, n_baselines, replicates, seed, configuration)))
        self.groups = tuple(groups)
        self.shape, self.n_baselines = shape, n_baselines
        self.n_layers, self.n_heads = shape[-2:]
        self.replicates, self.seed = replicates, seed
        outcomes = int(np.prod(shape)) + n_baselines + 1
        # Subset 0 is the whole corpus, subset k the first half of split k.
        self.add_state("counts", torch.zeros(len(groups), 1 + SPLITS, outcomes, dtype=torch.int64), "sum")
        self.add_state("bootstrap", torch.zeros(0, dtype=torch.int32), "sum")
        # Every initial state is kept. A single expanded zero takes the place of this large one.
        self._defaults["bootstrap"] = torch.zeros(1, dtype=torch.int32).expand(len(groups), replicates, outcomes)
        self.reset()

    def check_shape(self, shape: Sequence[int]) -> None:
        """Check that maps have the layers and heads that are counted."""
        if tuple(shape) != (self.n_layers, self.n_heads):
            raise ValueError(
                f"expected maps of {self.n_layers} layers × {self.n_heads} heads, got {shape[0]} × {shape[1]}"
            )

    def add_outcomes(
        self,
        group: Int[np.ndarray, " decisions"],
        unit: Int[np.ndarray, " decisions"],
        ids: Sequence[str],
        hits: Bool[Tensor, "decisions ..."],
        baselines: Bool[np.ndarray, "decisions baselines"],
    ) -> Float[Tensor, "decisions outcomes"]:
        """Count decisions and return their outcomes.

        Args:
            group: the index of the group of each decision.
            unit: the index in ``ids`` of the unit to which each decision belongs.
            ids: the ids of the units, which may repeat.
            hits: whether each head is right.
            baselines: whether each baseline is right.

        Returns:
            the outcomes of each decision in the order of the states: heads, baselines, and a 1.

        Raises:
            TooManyDecisionsError: a group has more decisions than the bootstrap can count.
            ValueError: counts of another configuration were merged or loaded.
        """
        self.check_configuration()
        total = torch.ones(len(group), 1, dtype=torch.bool)
        outcomes = torch.cat([hits.flatten(1), torch.from_numpy(baselines), total], dim=1).float()
        whole_corpus = np.ones((1, len(ids)), dtype=bool)
        subsets = np.concatenate([whole_corpus, halves(ids, SPLITS, self.seed)])
        draws = poisson_weights(ids, self.replicates, self.seed)
        weights = torch.from_numpy(np.concatenate([subsets, draws]).astype(np.float32))
        for start in range(0, len(group), _ROWS):
            rows = slice(start, start + _ROWS)
            self._add(group[rows], unit[rows], outcomes[rows], weights)
        if int(self.counts[:, 0, -1].sum()) * MOST_DRAWN >= TOO_LARGE:
            self._check_limit()
        return outcomes

    def _add(
        self,
        group: Int[np.ndarray, " decisions"],
        unit: Int[np.ndarray, " decisions"],
        outcomes: Float[Tensor, "decisions outcomes"],
        weights: Float[Tensor, "weightings units"],
    ) -> None:
        """Add weighted outcomes to the states."""
        # Float32 is exact here, because all factors and sums are small integers.
        # The decisions of a group that belong to the same unit have the same weights, so they are added up first. Each
        # such pair of a group and a unit is one number, by which `unique` puts the pairs of a group next to each other.
        n_units, n_subsets = weights.shape[1], self.counts.shape[1]
        pairs, pair_of_decision = np.unique(group * n_units + unit, return_inverse=True)
        by_pair = torch.zeros(len(pairs), outcomes.shape[1]).index_add_(0, torch.from_numpy(pair_of_decision), outcomes)
        group_of_pair, unit_of_pair = np.divmod(pairs, n_units)
        groups, starts = np.unique(group_of_pair, return_index=True)
        cuts = starts[1:].tolist()
        units_by_group = torch.from_numpy(unit_of_pair).tensor_split(cuts)
        outcomes_by_group = by_pair.tensor_split(cuts)
        # Both buffers are overwritten by every group, because new ones of their size would take time for each.
        products = torch.empty(len(weights), outcomes.shape[1])
        drawn = torch.empty(self.bootstrap.shape[1:], dtype=torch.int32)
        for index, units, by_unit in zip(groups.tolist(), units_by_group, outcomes_by_group, strict=True):
            torch.mm(weights.index_select(1, units), by_unit, out=products)
            self.counts[index].add_(products[:n_subsets].to(self.counts))
            self.bootstrap[index].add_(drawn.copy_(products[n_subsets:]))

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add the counts of another part of the corpus.

        Raises:
            TooManyDecisionsError: the parts together have more decisions than the bootstrap can count. The metric is
                then as it was.
        """
        incoming: Any = incoming_state.metric_state if isinstance(incoming_state, Metric) else incoming_state
        if self.replicates and int(incoming["configuration"]) == int(self.configuration):
            # The last outcome of each decision is 1, so its sums count decisions; subset 0 is the whole corpus.
            decisions = self.counts[:, 0, -1] + incoming["counts"][:, 0, -1]
            drawn = self.bootstrap[..., -1].long() + incoming["bootstrap"][..., -1].long()
            self._check_totals(decisions, drawn)
        super().merge_state(incoming_state)

    def absorb(self, other: OutcomeCounts) -> None:
        """Add counts whose groups may be fewer and in another order."""
        rows = [self.groups.index(group) for group in other.groups]
        self.counts[rows] += other.counts
        self.bootstrap[rows] += other.bootstrap
        self._check_limit()

    def split_counts(self) -> tuple[Counts, Counts]:
        """Return the counts over the corpus and its halves, and the counts over the replicates.

        The weightings of the first are the corpus, and then one half of each split.
        """
        self.check_configuration()
        self._check_limit()
        n_of_heads = int(np.prod(self.shape))  # the first outcomes; those of baselines and the total follow

        def split(state: Tensor) -> Counts:
            array = state.cpu().numpy()
            return Counts(
                correct=array[..., :n_of_heads].reshape(*array.shape[:2], *self.shape),
                baselines=array[..., n_of_heads:-1].copy(),  # read often, and far apart in the state
                total=array[..., -1].copy(),
            )

        return split(self.counts), split(self.bootstrap)

    def _check_limit(self) -> None:
        """Check that all counts are exact."""
        # It is enough to check them after a batch, whose own sums are far below 2³¹: a total of int32 that has
        # overflowed is negative.
        if self.replicates:
            totals = self.bootstrap[..., -1]
            self._check_totals(self.counts[:, 0, -1], torch.where(totals < 0, TOO_LARGE, totals.long()))

    def _check_totals(self, decisions: Int[Tensor, " groups"], drawn: Int[Tensor, "groups replicates"]) -> None:
        """Check that the bootstrap can count this many decisions."""
        # The decisions that the replicates draw are checked too, because a replicate draws far more decisions than
        # there are if a few units have most of the decisions. No other count is larger than these.
        check_limit(dict(zip(self.groups, decisions.tolist(), strict=True)), self.replicates)
        most_drawn = drawn.amax(1)
        if bool((most_drawn >= TOO_LARGE).any()):
            group = self.groups[int(most_drawn.argmax())]
            raise TooManyDecisionsError(
                f"a bootstrap replicate draws {TOO_LARGE:,} or more decisions of the group {group!r}, which int32 "
                "does not hold; use --replicates 0, or less text"
            )
