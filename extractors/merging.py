"""Token maps → word maps: sum over the pieces attended to, mean over the pieces attended from."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from extractors.pieces import Pieces


class WordMerger:
    """Merges the pieces of each word in the maps of one padded batch (Clark et al. 2019, §4.1).

    ``W[a, b] = 1/|T(a)| · Σ_{i ∈ T(a)} Σ_{j ∈ T(b)} α[i, j]`` with T(w) the pieces of word w, that is
    ``W = diag(1/|T|) Pᵀ α P`` with P the 0/1 matrix of which piece belongs to which position. Rows that sum
    to 1 still do. Padding belongs to no position and disappears.

    Args:
        batch: what the model reads, one per sentence.
        n: padded number of pieces.
        dtype, device: of the maps to come.
    """

    def __init__(self, batch: Sequence[Pieces], n: int, *, dtype: torch.dtype, device: torch.device) -> None:
        k = max(len(pieces.special) for pieces in batch)
        belongs = torch.zeros(len(batch), n, k, dtype=dtype)
        for row, pieces in enumerate(batch):
            belongs[row, range(len(pieces)), pieces.positions] = 1
        sizes = belongs.sum(1, keepdim=True).clamp(min=1)
        self.to: Float[Tensor, "batch n k"] = belongs.to(device)
        self.k = k
        self.from_: Float[Tensor, "batch 1 k n"] = (belongs / sizes).transpose(1, 2).unsqueeze(1).to(device)

    def __call__(self, maps: Float[Tensor, "batch heads n n"], out: Float[Tensor, "batch heads k k"]) -> None:
        """Merge one layer into ``out``."""
        batch, heads, n, _ = maps.shape
        summed = torch.bmm(maps.reshape(batch, heads * n, n), self.to).view(batch, heads, n, self.k)
        torch.matmul(self.from_, summed, out=out)
