"""What is left of a model if many of its heads are switched off at once, in several orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...extractors import SharedBatch
from ...extractors.replaceable.heads_off import Head
from ..contract import Reader
from ..counting.exact_sums import added, floating
from .counting import Values
from .effects import AblationMaker

STEPS, SEEDS = 10, 10
"""The number of shares of heads that are removed, from 0 % on, and the number of random orders."""


@dataclass(frozen=True)
class PruningMaker:
    """Makes the sums of the effects of removing several heads in each sentence, one row for each set of heads."""

    reads_weights: ClassVar[bool] = False

    sets: tuple[tuple[Head, ...], ...]
    maker: AblationMaker

    def of(self, batch: SharedBatch) -> list[tuple[Tensor, int]]:
        """Return for each sentence the sums of the effects (sets, measures), and how many words or masked pieces."""
        return [(values.double().sum(1), values.shape[1]) for values in self.maker.several(batch, self.sets)]


def orders(
    heads: Sequence[Head], effect: Values, importance: Values | None, seed: int
) -> dict[tuple[str, int], list[Head]]:
    """Return the orders in which heads are removed, by the name of the order and the number of its draw."""
    # Of heads with equal effects, the first one goes first.
    by_effect = [heads[index] for index in np.argsort(effect, kind="stable")]
    by_order: dict[tuple[str, int], list[Head]] = {("effect", 0): by_effect, ("reverse", 0): by_effect[::-1]}
    if importance is not None:
        by_order["importance", 0] = [heads[index] for index in np.argsort(importance, kind="stable")]
    for draw in range(SEEDS):
        shuffled = np.random.default_rng([seed, draw]).permutation(len(heads))
        by_order["random", draw] = [heads[index] for index in shuffled]
    return by_order


def steps(n_heads: int) -> list[int]:
    """Return how many heads are gone at 0, 10, … 90 % of them."""
    return list(dict.fromkeys(round(n_heads * step / STEPS) for step in range(STEPS)))


def sets_of(n_heads: int, *, importance: bool) -> int:
    """Return how many different sets of heads are switched off at most: in each of the `orders`, and none at all."""
    n_orders = 2 + importance + SEEDS  # by effect, the reverse of it, by importance, and at random
    return n_orders * (len(steps(n_heads)) - 1) + 1


def pruned(
    read: Reader, inputs: Sequence[Any], maker: AblationMaker, by_order: dict[tuple[str, int], list[Head]]
) -> list[dict[str, Any]]:
    """Return the effects of removing more and more heads in each of the `orders`, as rows."""
    removals = [(order, draw, n_heads) for order, draw in by_order for n_heads in steps(len(maker.heads))]
    sets = [tuple(by_order[order, draw][:n_heads]) for order, draw, n_heads in removals]
    unique = tuple(dict.fromkeys(sets))  # the set of no head, for example, begins every order
    sums, total = torch.zeros(len(unique), len(maker.measures), dtype=torch.int64), 0  # in fixed point
    for sums_of_batch in read(inputs, PruningMaker(unique, maker)):
        for sums_of_sentence, n_items in sums_of_batch:
            sums, total = added(sums, sums_of_sentence[None]), total + n_items
    means = dict(zip(unique, (floating(sums) / max(total, 1)).tolist(), strict=True))
    return [
        {"order": order, "seed": draw, "heads": n_heads, "effect": measure, "value": value, "total": total}
        for (order, draw, n_heads), heads in zip(removals, sets, strict=True)
        for measure, value in zip(maker.measures, means[heads], strict=True)
    ]
