"""What metrics of the attention of the words that differ share: a value for each pair, sentence and head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders.minimal_pairs import BAD, GOOD
from ..counting.exact_sums import ExactMetric, floating


class PairAttention(ExactMetric):
    """The attention of the words that differ, as a mean over these words. A subclass says in `update` to what.

    Args:
        n_layers, n_heads: the shape of the maps.
        ids: the ids of the pairs.
        places: for each pair, where its words stand, as the subclass needs it.
        shape: the shape of what is measured in each sentence and head.
    """

    attention: Int[Tensor, "pairs 2 *shape layers heads"]
    read: Int[Tensor, "pairs 2"]

    def __init__(
        self,
        n_layers: int,
        n_heads: int,
        *,
        ids: Sequence[str],
        places: Sequence[Sequence[int]],
        shape: tuple[int, ...] = (),
    ) -> None:
        super().__init__()
        self.ids, self.places = tuple(ids), tuple(map(tuple, places))
        # The pair of each sentence, and which of its sentences it is.
        self.place = {
            f"{pair} {end}": (row, side) for row, pair in enumerate(ids) for side, end in enumerate((GOOD, BAD))
        }
        self.add_state("attention", torch.zeros(len(ids), 2, *shape, n_layers, n_heads, dtype=torch.int64), "sum")
        self.add_state("read", torch.zeros(len(ids), 2, dtype=torch.int64), "sum")

    def compute(self) -> Any:
        """Return the attention, shape (pairs, sentences, *shape, layers, heads), NaN where there is none."""
        values = floating(self.attention.cpu())
        known = self.read.cpu() > 0
        return torch.where(known.view(*known.shape, *[1] * (values.dim() - 2)), values, torch.nan).numpy()
