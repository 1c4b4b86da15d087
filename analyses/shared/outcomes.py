"""Counting right decisions: of every head, every baseline, over the corpus, halves of it, and bootstrap replicates.

One linear operation gives everything: each decision is a row of 0/1 *outcomes* (is it right for each head and
direction, for each baseline, and a constant 1 for the total), each unit that is resampled (a sentence, a document)
has *weights* (which half it is in, split by split, how often each bootstrap replicate draws it), and weights ×
outcomes, added up per group, are the counts, the held-out counts and the bootstrap counts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torchmetrics import Metric

from attentionology.analyses.shared.resampling import halves, poisson_weights
from attentionology.corpora_loaders import AttentionologyError

SPLITS = 10
"""Ways to cut the corpus into halves for held-out accuracy; one split alone is a matter of luck."""

MOST_DECISIONS = 2**23
"""Of one group, if there are bootstrap replicates: these draw about as many, and float32 holds integers exactly only up
to twice that."""

_EXACT = 2**24  # from here on float32 drops odd numbers

Array = npt.NDArray[Any]


class TooManyDecisionsError(AttentionologyError, OverflowError):
    """More decisions of one group than the bootstrap can count exactly."""


def check_limit(decisions: Mapping[str, int], replicates: int) -> None:
    """Refuse more decisions of one group than can be counted.

    Args:
        decisions: how many there are, or will be, of each group.
        replicates: number of bootstrap replicates; without any there is no limit.

    Raises:
        TooManyDecisionsError: there are more than `MOST_DECISIONS`.
    """
    if not replicates or not decisions:
        return
    group = max(decisions, key=lambda name: decisions[name])
    if decisions[group] > MOST_DECISIONS:
        raise TooManyDecisionsError(
            f"there are {decisions[group]:,} decisions of the group {group!r}, and with bootstrap replicates no more "
            f"than {MOST_DECISIONS:,} of one group are counted exactly; use --replicates 0, or less text"
        )


def state_bytes(groups: int, shape: Sequence[int], n_baselines: int, replicates: int) -> int:
    """What `OutcomeCounts` of these arguments holds in memory."""
    outcomes = math.prod(shape) + n_baselines + 1
    counts = 2 * 8 * groups * (1 + SPLITS) * outcomes  # twice, because torchmetrics keeps the initial zeros
    return counts + 4 * groups * replicates * outcomes


@dataclass(frozen=True)
class Counts:
    """Integer counts per group and weighting (subset of the corpus, or bootstrap replicate).

    Shapes: correct (groups, weightings, …, layers, heads), baselines (groups, weightings, baselines), total (groups,
    weightings).
    """

    correct: Array
    baselines: Array
    total: Array


class OutcomeCounts(Metric):
    """What every analysis of decisions counts; subclasses make the outcomes.

    All states are integer counts and the resampling depends on the ids of the units alone, so any split of the corpus
    gives the same bits. The bootstrap takes ``groups × replicates × outcomes × 4`` bytes, see `state_bytes`.

    Args:
        groups: names of the groups of decisions.
        shape: of a decision's outcomes by head, (…, layers, heads).
        n_baselines: how many baselines there are.
        replicates: number of bootstrap replicates; 0 for none.
        seed: of the bootstrap and of the splits into halves.
        configuration: what else must be equal where counts are added up.
    """

    full_state_update = False
    counts: Int[Tensor, "groups subsets outcomes"]
    bootstrap: Float[Tensor, "groups replicates outcomes"]
    configuration: Int[Tensor, ""]

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
        super().__init__(compute_with_cache=False)
        self.groups = tuple(groups)
        self.shape, self.n_baselines = shape, n_baselines
        self.n_layers, self.n_heads = shape[-2:]
        self.replicates, self.seed = replicates, seed
        self._described = repr((self.groups, shape, n_baselines, replicates, seed, configuration))
        outcomes = int(np.prod(shape)) + n_baselines + 1
        # Subset 0 is the whole corpus, subset k the first half of split k.
        counts = torch.zeros(len(groups), 1 + SPLITS, outcomes, dtype=torch.int64)
        self.add_state("counts", counts, "sum", persistent=True)
        # Integers too, in float32 because it is added to by matrix products in place.
        self.add_state("bootstrap", torch.zeros(0), "sum", persistent=True)
        self.add_state("configuration", torch.tensor(self._hash()), _the_same, persistent=True)
        # torchmetrics keeps a copy of every initial state; of this large one a single zero will do.
        self._defaults["bootstrap"] = torch.zeros(1).expand(len(groups), replicates, outcomes)
        self.reset()

    def check_shape(self, shape: Sequence[int]) -> None:
        """Maps must be of as many layers and heads as are counted.

        Raises:
            ValueError: they are not.
        """
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
        """Count decisions; returns their outcomes as they stand in the counts.

        Args:
            group: index of the group of each.
            unit: index in ``ids`` of the unit that each belongs to.
            ids: of the units, which may repeat.
            hits: whether each head is right.
            baselines: whether each baseline is.

        Raises:
            TooManyDecisionsError: more decisions of one group than the bootstrap can count.
            ValueError: counts of another configuration were merged or loaded.
        """
        self.check_configuration()
        total = torch.ones(len(group), 1, dtype=torch.bool)
        outcomes = torch.cat([hits.flatten(1), torch.from_numpy(baselines), total], dim=1).float()
        subsets = torch.from_numpy(np.concatenate([np.ones((1, len(ids)), dtype=bool), halves(ids, SPLITS, self.seed)]))
        drawn = torch.from_numpy(poisson_weights(ids, self.replicates, self.seed))
        # Products of small integers: float32 is exact.
        for g in np.unique(group):
            rows = np.flatnonzero(group == g)
            own, right = unit[rows], outcomes[rows]
            self.counts[g] += (subsets[:, own].float() @ right).to(self.counts)
            self.bootstrap[g].addmm_(drawn[:, own].float(), right)
        self._check_limit()
        return outcomes

    def merge_state(self, incoming_state: dict[str, Any] | Metric) -> None:
        """Add the counts of another part of the corpus.

        Raises:
            TooManyDecisionsError: together they are more than the bootstrap can count; what was added is spoilt.
        """
        super().merge_state(incoming_state)
        self._check_limit()

    def split_counts(self) -> tuple[Counts, Counts]:
        """Counts over the corpus and its halves, and over the replicates.

        Raises:
            TooManyDecisionsError: counts were loaded or gathered that are more than the bootstrap can count.
            ValueError: counts of another configuration were merged or loaded.
        """
        self.check_configuration()
        self._check_limit()
        heads = int(np.prod(self.shape))

        def split(state: Tensor) -> Counts:
            array = state.cpu().numpy()
            return Counts(
                correct=array[..., :heads].reshape(*array.shape[:2], *self.shape),
                baselines=array[..., heads:-1],
                total=array[..., -1],
            )

        return split(self.counts), split(self.bootstrap)

    def check_configuration(self) -> None:
        """Counts that were merged or loaded must be of this configuration.

        Raises:
            ValueError: they are not.
        """
        if int(self.configuration) != self._hash():
            raise ValueError("counts made with other groups, shapes, replicates or seeds cannot be added up")

    def _check_limit(self) -> None:
        """Counts must be exact. A replicate may draw far more than there are, if a few units have most decisions."""
        if not self.replicates:
            return
        check_limit(dict(zip(self.groups, self.counts[:, 0, -1].tolist(), strict=True)), self.replicates)
        # Sums of non-negative numbers: what has reached this in float32 stays there, exact or not.
        drawn = self.bootstrap[..., -1].amax(1)
        if bool((drawn >= _EXACT).any()):
            group = self.groups[int(drawn.argmax())]
            raise TooManyDecisionsError(
                f"a bootstrap replicate draws {_EXACT:,} or more decisions of the group {group!r}, which are no longer "
                "counted exactly; use --replicates 0, or less text"
            )

    def _hash(self) -> int:
        digest = hashlib.blake2b(self._described.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1


def _the_same(configurations: Int[Tensor, " parts"]) -> Int[Tensor, ""]:
    """How the configurations of parts merge: they do not, unless they are one."""
    one = configurations[0]
    return one if bool((configurations == one).all()) else torch.tensor(-1, device=one.device)
