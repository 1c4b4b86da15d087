"""Counts of right decisions: of every head and baseline, over the corpus, halves of it, and bootstrap replicates.

One linear operation gives everything. Each decision is a row of 0/1 *outcomes*: whether it is right for each head and
direction, whether it is right for each baseline, and a constant 1 for the total. Each unit that is resampled (a
sentence or a document) has *weights*: whether it is in the first half of each split, and how often each bootstrap
replicate draws it. The products of weights and outcomes, added up per group, are the counts, the held-out counts and
the bootstrap counts.

The unit is a sentence or document and not a decision, because the decisions within one sentence depend on each other:
intervals from resampled words would be too narrow. All sums are of integers and therefore exact. The products are
computed in float32, which is exact below 2²⁴, because a matrix product in float32 is many times faster than one of
integers; the counts of the replicates are int32, and `check_limit` keeps them below 2³¹.

A product costs as much for few decisions as for many, because its size is that of the counts. So the decisions of
several batches wait for each other, on the device where they were made, and are counted together (`_Queue`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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

_WAITING = 2**13
"""How many pairs of a group and a unit are multiplied together. More take memory, and hardly any less time."""

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


@dataclass
class _Queue:
    """Decisions that are not counted yet: those of a unit and a group are added up, and are one pair."""

    group: list[Array] = field(default_factory=list)  # of each pair
    unit: list[Array] = field(default_factory=list)  # of each pair, as an index into all units that wait
    weights: list[Array] = field(default_factory=list)  # of the units, shape (weightings, units)
    outcomes: list[Float[Tensor, "pairs outcomes"]] = field(default_factory=list)
    n_units: int = 0
    n_pairs: int = 0
    n_decisions: int = 0

    def add(
        self,
        group: Int[np.ndarray, " decisions"],
        unit: Int[np.ndarray, " decisions"],
        outcomes: Float[Tensor, "decisions outcomes"],
        weights: npt.NDArray[np.uint8],
    ) -> None:
        """Add decisions, the weights of whose units are given."""
        # The decisions of a group that belong to the same unit have the same weights, so they are added up first. Each
        # such pair of a group and a unit is one number.
        n_units = weights.shape[1]
        pairs, pair_of_decision = np.unique(group * n_units + unit, return_inverse=True)
        summed = outcomes.new_zeros(len(pairs), outcomes.shape[1])
        self.outcomes.append(summed.index_add_(0, torch.from_numpy(pair_of_decision).to(outcomes.device), outcomes))
        group_of_pair, unit_of_pair = np.divmod(pairs, n_units)
        self.group.append(group_of_pair)
        self.unit.append(unit_of_pair + self.n_units)
        self.weights.append(weights)
        self.n_units += n_units
        self.n_pairs += len(pairs)
        self.n_decisions += len(group)


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
        self._queue = _Queue()
        self._n_decisions: int | None = None  # of the states, if it is known
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

    @property
    def counts(self) -> Int[Tensor, "groups subsets outcomes"]:
        """The counts over the corpus and the first halves of its splits."""
        return self._fetch("counts")

    @property
    def bootstrap(self) -> Int[Tensor, "groups replicates outcomes"]:
        """The counts over the bootstrap replicates."""
        return self._fetch("bootstrap")

    def _fetch(self, name: str) -> Tensor:
        """Return a state in the memory of the host, when everything is counted."""
        self._count_queue()
        state: Tensor = vars(self)[name]
        if not state.is_meta:
            vars(self)[name] = state = state.cpu()
        return state

    def reset(self) -> None:
        """Forget what was counted."""
        self._queue, self._n_decisions = _Queue(), None
        super().reset()

    def load_state_dict(self, states: Mapping[str, Any]) -> None:
        """Replace all states by those of an equal metric."""
        self._queue, self._n_decisions = _Queue(), None
        super().load_state_dict(states)

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
        device = hits.device
        total = torch.ones(len(group), 1, dtype=torch.bool, device=device)
        outcomes = torch.cat([hits.flatten(1), torch.from_numpy(baselines).to(device), total], dim=1).float()
        whole_corpus = np.ones((1, len(ids)), dtype=bool)
        subsets = np.concatenate([whole_corpus, halves(ids, SPLITS, self.seed)])
        weights = np.concatenate([subsets, poisson_weights(ids, self.replicates, self.seed)], dtype=np.uint8)
        for start in range(0, len(group), _ROWS):
            rows = slice(start, start + _ROWS)
            if self._queue.n_decisions + len(group[rows]) > _ROWS:
                self._count_queue()
            self._queue.add(group[rows], unit[rows], outcomes[rows], weights)
        if self._queue.n_pairs >= _WAITING:
            self._count_queue()
        if (self._counted_decisions() + self._queue.n_decisions) * MOST_DRAWN >= TOO_LARGE:
            self._check_limit()  # which counts what waits
        return outcomes

    def _counted_decisions(self) -> int:
        """Return the number of decisions that the states have, which is read once after each change of the states."""
        if self._n_decisions is None:
            self._n_decisions = int(vars(self)["counts"][:, 0, -1].sum())
        return self._n_decisions

    def _count_queue(self) -> None:
        """Add what waits to the states, on its device."""
        queue, self._queue = self._queue, _Queue()
        if not queue.n_decisions:
            return
        group = np.concatenate(queue.group)
        by_group = np.argsort(group, kind="stable")
        groups, starts = np.unique(group[by_group], return_index=True)
        cuts = starts[1:].tolist()
        outcomes = torch.cat(queue.outcomes)
        device = outcomes.device
        # Float32 is exact here, because all factors and sums are small integers.
        weights = torch.from_numpy(np.concatenate(queue.weights, axis=1)).to(device).float()
        units_by_group = torch.from_numpy(np.concatenate(queue.unit)[by_group]).to(device).tensor_split(cuts)
        outcomes_by_group = outcomes.index_select(0, torch.from_numpy(by_group).to(device)).tensor_split(cuts)
        states = vars(self)
        for name in ("counts", "bootstrap"):
            states[name] = states[name].to(device)
        counts, bootstrap = states["counts"], states["bootstrap"]
        n_subsets = counts.shape[1]
        # Both buffers are overwritten by every group, because new ones of their size would take time for each.
        products = torch.empty(len(weights), outcomes.shape[1], device=device)
        drawn = torch.empty(bootstrap.shape[1:], dtype=torch.int32, device=device)
        for index, units, by_unit in zip(groups.tolist(), units_by_group, outcomes_by_group, strict=True):
            torch.mm(weights.index_select(1, units), by_unit, out=products)
            counts[index].add_(products[:n_subsets].to(counts.dtype))
            bootstrap[index].add_(drawn.copy_(products[n_subsets:]))
        if self._n_decisions is not None:
            self._n_decisions += queue.n_decisions

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
        self._n_decisions = None
        super().merge_state(incoming_state)

    def absorb(self, other: OutcomeCounts) -> None:
        """Add counts whose groups may be fewer and in another order."""
        rows = [self.groups.index(group) for group in other.groups]
        self._n_decisions = None
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
