"""What each position contributes to each other: norms from Gram matrices, and vectors in blocks.

The vector that query i gets from key j is ``Σ_h α^h_ij v^h_j P^h`` for some linear map P. Its squared norm is
a quadratic form in the few numbers α^h_ij, with one heads × heads matrix per key, so that no n × n × dim tensor is
needed where norms are (`contribution_norms`). Where the vectors themselves are, they come in blocks
(`contribution_blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentionology.extractors.layers.layer import Layer

_CELLS = 2**15
"""Query × key cells times heads that are worked on at a time: about what stays in the cache."""

BLOCK_KEYS = 64
BLOCK_PAIRS = 1024
"""Keys, and query-key pairs, whose vectors are held at a time (more, where the pieces of one word are more)."""


def contribution_norms(
    layer: Layer,
    gram: Float[Tensor, "inner inner"],
    scale: Float[Tensor, "batch n 1"] | None = None,
    own: Float[Tensor, "batch rows dim"] | None = None,
) -> Float[Tensor, "batch 1 rows rows"]:
    """``‖scale_i · Σ_h α^h_ij v^h_j P^h‖`` for all queries and keys.

    Args:
        layer: where α and v are; its ``groups`` are merged as vectors before the norm.
        gram: ``P Pᵀ``.
        scale: factor of each query.
        own: the vectors on the diagonal where they are more than that (residuals).
    """
    if layer.groups is None:
        squared = _squared_norms(layer.alpha, _head_grams(layer.v, layer.v, gram))
        norms = squared.clamp_(min=0).sqrt_()
        if scale is not None:
            norms *= scale
    else:
        # Rows are merged before the norm, so each must have its factor before.
        coefficients = layer.coefficients(scale)
        squared = coefficients.new_zeros(len(coefficients), layer.groups.k, layer.groups.k)
        for left, right, column, weight in layer.groups.pairs.parts(BLOCK_PAIRS):
            grams = _head_grams(_take(layer.v, left), _take(layer.v, right), gram) * weight[:, :, None, None]
            by_pair = _squared_norms(coefficients, grams, left, right)
            squared.scatter_add_(-1, column[:, None, :].expand_as(by_pair), by_pair)
        norms = squared.clamp_(min=0).sqrt_()
    if own is not None:
        norms.diagonal(dim1=-2, dim2=-1).copy_(own.norm(dim=-1))
    return norms.unsqueeze(1)


def _take(v: Tensor, pieces: Int[Tensor, "batch pairs"]) -> Tensor:
    return v[torch.arange(len(v), device=v.device)[:, None], pieces]


def _head_grams(
    left: Float[Tensor, "batch keys heads inner_h"],
    right: Float[Tensor, "batch keys heads inner_h"],
    gram: Float[Tensor, "inner inner"],
) -> Float[Tensor, "batch keys heads heads"]:
    """``⟨v^h P^h, v'^g P^g⟩`` for all pairs of heads, one head at a time: batch × keys × inner are held."""
    batch, keys, heads, size = left.shape
    right = right.reshape(batch * keys, heads * size)
    # Sums over each head's columns as a matrix product, which is faster than reducing short rows.
    by_head = torch.eye(heads, dtype=gram.dtype, device=gram.device).repeat_interleave(size, dim=0)
    out = left.new_empty(heads, batch * keys, heads)
    for h in range(heads):
        through = left[:, :, h].reshape(batch * keys, size) @ gram[h * size : (h + 1) * size]
        torch.mm(through.mul_(right), by_head, out=out[h])
    return out.transpose(0, 1).reshape(batch, keys, heads, heads)


def _squared_norms(
    coefficients: Float[Tensor, "batch heads rows n"],
    grams: Float[Tensor, "batch keys heads heads"],
    left: Int[Tensor, "batch keys"] | None = None,
    right: Int[Tensor, "batch keys"] | None = None,
) -> Float[Tensor, "batch rows keys"]:
    """``c_ijᵀ K_j c_ij``, in blocks of queries: gathered so, they stay in the cache."""
    batch, heads, rows, _ = coefficients.shape
    keys = grams.shape[1]
    out = coefficients.new_empty(batch, rows, keys)
    together = max(1, _CELLS // (rows * keys))
    step = rows if together > 1 else max(1, _CELLS // keys)
    for b in range(0, batch, together):
        for i in range(0, rows, step):
            # Contiguous, or the products below take ten times as long.
            block = coefficients[b : b + together, :, i : i + step].permute(0, 3, 1, 2).contiguous()
            one = block if left is None else _take(block, left[b : b + together])
            other = block if right is None else _take(block, right[b : b + together])
            one, other = one.reshape(-1, heads, one.shape[-1]), other.reshape(-1, heads, other.shape[-1])
            product = torch.bmm(grams[b : b + together].reshape(-1, heads, heads), other).mul_(one).sum(1)
            out[b : b + together, i : i + step] = product.view(-1, keys, one.shape[-1]).transpose(1, 2)
    return out


class Block(NamedTuple):
    """Vectors from some queries and keys of one sentence.

    Attributes:
        queries: the pieces whose rows these are.
        rows: the same as rows of the map, which has fewer where pieces are merged.
        keys: columns of the map.
        vectors: one tensor per linear map, shape (keys, queries, dim): what each query gets from each key, pieces
            of a key merged if they are merged as vectors, those of a query not yet.
    """

    queries: slice
    rows: slice
    keys: slice
    vectors: list[Tensor]


def contribution_blocks(
    layer: Layer,
    projections: Sequence[Float[Tensor, "inner _"]],
    scale: Float[Tensor, "n 1"] | None = None,
    residuals: Sequence[Float[Tensor, "n _"]] = (),
) -> Iterator[Block]:
    """The vectors ``scale_i · Σ_h α^h_ij v^h_j P^h`` of one sentence, block by block.

    Args:
        layer: of one sentence without padding, see `Layer.sentences`.
        projections: the linear maps P.
        scale: factor of each query.
        residuals: for each of the maps what a query gets from itself besides, not scaled any more.
    """
    alpha, v = layer.alpha[0], layer.v[0]
    heads, n, _ = alpha.shape
    positions = torch.arange(n, device=v.device) if layer.groups is None else layer.groups.to[0].argmax(1)
    at = positions.tolist()
    per_head = [p.view(heads, -1, p.shape[-1]) for p in projections]
    for keys in _runs(at, BLOCK_KEYS):
        first, last = at[keys.start], at[keys.stop - 1] + 1
        projected = [torch.bmm(v[keys].transpose(0, 1), p).transpose(0, 1) for p in per_head]
        for queries in _runs(at, max(1, BLOCK_PAIRS // (keys.stop - keys.start))):
            block = alpha[:, queries, keys] if scale is None else alpha[:, queries, keys] * scale[queries]
            gathered = block.permute(2, 1, 0).contiguous()
            vectors = [torch.bmm(gathered, p) for p in projected]
            if layer.groups is not None:
                local = positions[keys] - first
                vectors = [x.new_zeros(last - first, *x.shape[1:]).index_add_(0, local, x) for x in vectors]
            own = [i for i in range(queries.start, queries.stop) if first <= at[i] < last]
            if own:
                where = (positions[own] - first, torch.tensor(own, device=v.device) - queries.start)
                for x, residual in zip(vectors, residuals, strict=False):
                    x[where] += residual[own]
            yield Block(queries, slice(at[queries.start], at[queries.stop - 1] + 1), slice(first, last), vectors)
        del projected  # before the next keys' are made: they are the largest thing here


def _runs(at: Sequence[int], size: int) -> Iterator[slice]:
    """Cut pieces into runs of at most ``size``, never within a position unless that alone is longer."""
    start = 0
    while start < len(at):
        stop = min(start + size, len(at))
        while stop < len(at) and at[stop] == at[stop - 1] and stop > start + 1:
            stop -= 1
        if stop < len(at) and at[stop] == at[stop - 1]:  # a position longer than a run
            stop = next((k for k in range(stop, len(at)) if at[k] != at[stop - 1]), len(at))
        yield slice(start, stop)
        start = stop


def merged_rows(layer: Layer, block: Block, vectors: Float[Tensor, "keys queries dim"]) -> Tensor:
    """Mean over the pieces of each query of a block, if pieces are merged; shape (keys, rows, dim)."""
    if layer.groups is None:
        return vectors
    return torch.matmul(layer.groups.from_[0, 0, block.rows, block.queries], vectors)
