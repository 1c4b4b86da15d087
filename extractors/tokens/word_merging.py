"""Token maps → word maps: sum over the pieces attended to, mean over the pieces attended from."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .pieces import Pieces

_DENSE = 48
"""Up to this number of pieces, a matrix product with zeros and ones is faster on a CPU than gathering. Both give the
same bits unless a word has many pieces."""


class PiecePairs(NamedTuple):
    """The pairs of pieces within a position, over which the squared norm of a sum of pieces is a sum."""

    left: Int[Tensor, "batch pairs"]
    right: Int[Tensor, "batch pairs"]
    column: Int[Tensor, "batch pairs"]  # the position that both pieces belong to
    weight: Float[Tensor, "batch pairs"]  # 1 for a piece with itself, 2 for two different pieces, 0 for padding

    def parts(self, size: int) -> Iterator[PiecePairs]:
        """Yield at most ``size`` pairs at a time, because very long words have very many."""
        for start in range(0, self.left.shape[1], size):
            yield PiecePairs(*(field[:, start : start + size] for field in self))


class WordMerger:
    """Merges the pieces of each word in the maps of one padded batch (Clark et al. 2019, §4.1).

    ``W[a, b] = 1/|T(a)| · Σ_{i ∈ T(a)} Σ_{j ∈ T(b)} α[i, j]``, where T(w) are the pieces of word w, or
    ``W = diag(1/|T|) Pᵀ α P``, where P is the 0/1 matrix of which piece belongs to which position. Rows that sum
    to 1 still do. Padding belongs to no position and disappears. ``n`` is the padded number of pieces.
    """

    def __init__(self, batch: Sequence[Pieces], n: int, *, dtype: torch.dtype, device: torch.device) -> None:
        k = max(len(pieces.special) for pieces in batch)
        belongs = torch.zeros(len(batch), n, k, dtype=dtype)  # P
        inside = torch.arange(n) < torch.tensor([len(pieces) for pieces in batch])[:, None]
        sentence, piece = torch.nonzero(inside, as_tuple=True)
        position = torch.tensor(list(itertools.chain.from_iterable(pieces.positions for pieces in batch)))
        belongs[sentence, piece, position] = 1
        sizes = belongs.sum(1, keepdim=True).clamp(min=1)
        self.sum_matrix: Float[Tensor, "batch n k"] = belongs.to(device)
        self.k = k
        self.mean_matrix: Float[Tensor, "batch 1 k n"] = (belongs / sizes).transpose(1, 2).unsqueeze(1).to(device)
        self._batch = batch

    def __call__(self, maps: Float[Tensor, "batch heads n n"], out: Float[Tensor, "batch heads k k"]) -> None:
        """Merge the maps of one layer into ``out``."""
        n = maps.shape[-1]
        if n > _DENSE and maps.device.type == "cpu":
            # The pieces that continue a word are added to the one that opens it, first in columns and then in rows.
            for index, (opens, goes_on, position, sizes) in enumerate(self._gathers):
                k = len(opens)
                summed = maps[index].index_select(-1, opens)
                summed.index_add_(-1, position, maps[index].index_select(-1, goes_on))
                merged = summed.index_select(-2, opens)
                merged.index_add_(-2, position, summed.index_select(-2, goes_on))
                out[index, :, :k, :k] = merged.div_(sizes)
                out[index, :, k:] = 0
                out[index, :, :k, k:] = 0
            return
        torch.matmul(self.mean_matrix, self.sum_columns(maps), out=out)

    def sum_columns(self, maps: Float[Tensor, "batch heads queries n"]) -> Float[Tensor, "batch heads queries k"]:
        """Sum the columns of each word."""
        batch, heads, queries, n = maps.shape
        return torch.bmm(maps.reshape(batch, heads * queries, n), self.sum_matrix).view(batch, heads, queries, self.k)

    @functools.cached_property
    def _gathers(self) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """For each sentence: pieces that open a position, pieces that continue one, the latter's positions, sizes."""
        gathers = []
        for pieces in self._batch:
            position = torch.tensor(pieces.positions)
            opens = torch.ones(len(pieces), dtype=torch.bool)
            opens[1:] = position[1:] != position[:-1]
            sizes = torch.bincount(position).to(self.sum_matrix.dtype)[:, None]
            gathers.append((torch.nonzero(opens).flatten(), torch.nonzero(~opens).flatten(), position[~opens], sizes))
        return gathers

    @functools.cached_property
    def sentences(self) -> list[WordMerger]:
        """A merger for each sentence alone, without padding."""
        dtype, device = self.sum_matrix.dtype, self.sum_matrix.device
        return [WordMerger([pieces], len(pieces), dtype=dtype, device=device) for pieces in self._batch]

    @functools.cached_property
    def pairs(self) -> PiecePairs:
        """The pairs of pieces that share a position."""
        by_sentence = []
        for pieces in self._batch:
            pairs: list[tuple[int, int, int, int]] = []
            for position, indices in itertools.groupby(range(len(pieces)), key=pieces.positions.__getitem__):
                for i, j in itertools.combinations_with_replacement(indices, 2):
                    pairs.append((i, j, position, 1 if i == j else 2))
            by_sentence.append(pairs)
        most = max(map(len, by_sentence))
        padded = torch.tensor([[*pairs, *[(0, 0, 0, 0)] * (most - len(pairs))] for pairs in by_sentence])
        left, right, column, weight = padded.to(self.sum_matrix.device).unbind(-1)
        return PiecePairs(left, right, column, weight.to(self.sum_matrix.dtype))


def word_means(batch: Sequence[Pieces], n: int, dtype: torch.dtype) -> Float[Tensor, "batch k n"]:
    """Return the matrices that take the mean over the pieces of each word, without special tokens."""
    belongs = torch.zeros(len(batch), max(pieces.words for pieces in batch), n, dtype=dtype)
    for row, pieces in enumerate(batch):
        words = torch.tensor(pieces.word_of)
        belongs[row, words[words >= 0], torch.nonzero(words >= 0).flatten()] = 1
    return belongs / belongs.sum(-1, keepdim=True).clamp(min=1)
