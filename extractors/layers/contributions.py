"""What each position contributes to each other: norms from Gram matrices, and vectors in blocks.

*What is decomposed.* The sum before the first layer norm is ``p_i = Σ_j Σ_h α^h_ij v^h_j W_O^h + b_O + x_i``: a sum
over the positions j, plus the residual x_i, which comes from position i itself, plus a bias that comes from none. The
part of position j is ``y_ij = Σ_h α^h_ij v^h_j W_O^h``, plus x_i if i = j.

*Why this goes through a layer norm.* ``LN(p) = (p − mean(p)) / s(p) ⊙ γ + β`` is not linear in p, but only because of
the standard deviation s(p). The true p_i of the pass is known, and so is ``s_i = s(p_i)``. With that number fixed, what
remains is linear: subtract the mean, divide by s_i, multiply by γ. The parts of p_i may go through it one by one, and
their images, with that of b_O, add up to ``LN(p_i) − β``. This is what an *exact* decomposition means in this package:
nothing is approximated, and the parts add up to what the model computed, up to rounding. It does not mean that the
deviation would have been the same without one of the parts; what a layer does without a token is what Value Zeroing
asks.

*How it is computed.* All of this makes the contribution of key j to query i a vector ``s_i⁻¹ Σ_h α^h_ij v^h_j P^h``
with a linear map P: the output projection, followed by the linear part of the layer norm or not. Its squared norm is a
quadratic form in the few numbers α^h_ij, with one heads × heads matrix per key, so no tensor of n × n × dim is formed
where only norms are needed (`contribution_norms`). Where the vectors themselves are needed, because what follows is not
a norm, they come in blocks (`contribution_blocks`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .layer import AttentionBlock, Layer

_CELLS = 2**15
"""How many query-key cells, times heads, are worked on at a time on a CPU: about as many as stay in the cache."""

_CELLS_ELSEWHERE = 2**22
"""How many are worked on at a time on another device, for which small blocks are many operations."""

_CAUSAL_ROWS = 32
"""How many rows of a causal map are worked on at a time, so that not much is computed of what they cannot see."""

BLOCK_KEYS = 16
BLOCK_PAIRS = 1024
"""How many keys of long inputs, and how many query-key pairs, have their vectors in memory at a time. There are more if
one word has more pieces than that. With few keys, little is computed of what no query of a causal model sees."""

_PAIRS_ELSEWHERE = 2**14
"""How many pairs have their vectors in memory at a time on another device."""


def contribution_norms(
    layer: AttentionBlock,
    gram: Float[Tensor, "inner inner"],
    scale: Float[Tensor, "batch queries 1"] | None = None,
    diagonal: Float[Tensor, "batch rows dim"] | None = None,
) -> Float[Tensor, "batch 1 rows columns"]:
    """Compute ``‖scale_i · Σ_h α^h_ij v^h_j P^h‖`` for all queries and keys, given the ``gram`` matrix ``P Pᵀ``.

    The ``groups`` of the layer are merged as vectors before the norm is taken. The ``diagonal`` is the whole
    contribution of each position to itself, where that is more than the formula (residuals).
    """
    if layer.groups is None:
        squared = _squared_norms(layer.factors, _head_grams(layer.v, layer.v, gram))
        norms = squared.clamp_(min=0).sqrt_()
        if scale is not None:
            norms *= scale
    else:
        # The squared norm of what the pieces of a word contribute together is a sum over pairs of these pieces, so each
        # pair has a heads × heads matrix of its own, and the results are added up by the column of the word. Rows are
        # merged before the norm is taken, so they must have their factors before that.
        coefficients = layer.coefficients(scale)
        squared = coefficients.new_zeros(len(coefficients), coefficients.shape[2], layer.groups.k)
        for left, right, column, weight in layer.groups.pairs.parts(BLOCK_PAIRS):
            grams = _head_grams(_take(layer.v, left), _take(layer.v, right), gram) * weight[:, :, None, None]
            by_pair = _squared_norms(coefficients, grams, left, right)
            squared.scatter_add_(-1, column[:, None, :].expand_as(by_pair), by_pair)
        norms = squared.clamp_(min=0).sqrt_()
    if diagonal is not None:
        norms.diagonal(dim1=-2, dim2=-1).copy_(diagonal.norm(dim=-1))
    return norms.unsqueeze(1)


def _take(v: Float[Tensor, "batch n *rest"], pieces: Int[Tensor, "batch pairs"]) -> Float[Tensor, "batch pairs *rest"]:
    """Return what ``v`` has for one piece of each pair."""
    return v[torch.arange(len(v), device=v.device)[:, None], pieces]


def _head_grams(
    left: Float[Tensor, "batch keys heads inner_h"],
    right: Float[Tensor, "batch keys heads inner_h"],
    gram: Float[Tensor, "inner inner"],
) -> Float[Tensor, "batch keys heads heads"]:
    """Compute ``⟨left_h P^h, right_g P^g⟩`` for all pairs of heads h and g, given the ``gram`` matrix ``P Pᵀ``."""
    batch, keys, heads, size = left.shape
    right = right.reshape(batch * keys, heads * size)
    # The sums over the columns of each head are a matrix product, which is faster than reducing short rows.
    one_head = torch.eye(heads, dtype=gram.dtype, device=gram.device)[:, None]
    head_of_column = one_head.expand(heads, size, heads).reshape(heads * size, heads)
    out = left.new_empty(heads, batch * keys, heads)
    for h in range(heads):  # one at a time, to hold only batch × keys × inner numbers
        projected = left[:, :, h].reshape(batch * keys, size) @ gram[h * size : (h + 1) * size]  # left_h P^h Pᵀ
        torch.mm(projected.mul_(right), head_of_column, out=out[h])
    return out.transpose(0, 1).reshape(batch, keys, heads, heads)


def _squared_norms(
    coefficients: Float[Tensor, "batch heads rows n"],
    grams: Float[Tensor, "batch keys heads heads"],
    left: Int[Tensor, "batch keys"] | None = None,
    right: Int[Tensor, "batch keys"] | None = None,
) -> Float[Tensor, "batch rows keys"]:
    """Compute ``c_ijᵀ K_j c_ij`` with K from ``grams``; if keys are pairs, with the c of the two pieces of each."""
    # The work is done in blocks of queries that stay in the cache.
    batch, _, rows, _ = coefficients.shape
    keys = grams.shape[1]
    out = coefficients.new_zeros(batch, rows, keys)
    is_on_cpu = coefficients.device.type == "cpu"
    cells = _CELLS if is_on_cpu else _CELLS_ELSEWHERE
    inputs_per_block = max(1, cells // (rows * keys))
    rows_per_block = rows if inputs_per_block > 1 else max(1, cells // keys)
    # Another device would be waited for, to save it a part of what it computes at once.
    is_causal = is_on_cpu and left is None and rows == keys and not bool(coefficients[:, :, 0, 1:].any())
    if is_causal:
        rows_per_block = min(rows_per_block, _CAUSAL_ROWS)
    for first_input in range(0, batch, inputs_per_block):
        inputs = slice(first_input, first_input + inputs_per_block)
        for first_row in range(0, rows, rows_per_block):
            end_row = first_row + rows_per_block
            block = coefficients[inputs, :, first_row:end_row]
            # In causal maps, the keys after the queries of a block have the coefficient 0, and so the norm 0.
            sees_no_later = is_causal and not bool(block[..., end_row:].any())
            n_seen = keys
            if sees_no_later:
                n_seen = min(end_row, keys)
                block = block[..., :end_row]
            # Without a contiguous copy, the products below take ten times as long.
            by_piece = block.permute(0, 3, 1, 2).contiguous()  # (batch, pieces, heads, rows)
            c_left = by_piece if left is None else _take(by_piece, left[inputs])
            c_right = by_piece if right is None else _take(by_piece, right[inputs])
            seen_grams = grams[inputs, :n_seen].flatten(0, 1)
            product = torch.bmm(seen_grams, c_right.flatten(0, 1)).mul_(c_left.flatten(0, 1)).sum(1)
            out[inputs, first_row:end_row, :n_seen] = product.view(-1, n_seen, product.shape[-1]).transpose(1, 2)
    return out


class Block(NamedTuple):
    """The contribution vectors of some keys to some queries of one or several sentences."""

    queries: slice  # the pieces that are the queries
    rows: slice  # of the map, to which these queries belong; they are fewer where pieces are merged
    keys: slice  # the columns of the map
    # One tensor per linear map, shape (batch, keys, queries, dim): what each query gets from each key. Where pieces are
    # merged as vectors, the pieces of a key are merged already, and those of a query are not.
    vectors: list[Tensor]


def parts_of(layer: Layer) -> Iterator[tuple[slice, Layer]]:
    """Yield the sentences that are worked on together, as a slice of the batch and as a layer.

    On a CPU, they have the same length, so that nothing is computed of padding, and together they take no more memory
    than one sentence of 23 pieces. Another device, for which small blocks are many operations, pads them to the
    longest.
    """
    lengths = layer.mask.sum(1).tolist()
    most_pairs = BLOCK_PAIRS // 2 if _is_on_cpu(layer) else _PAIRS_ELSEWHERE
    start = 0
    while start < len(lengths):
        stop, longest = start + 1, lengths[start]
        while stop < len(lengths) and layer.groups is None:  # which are merged sentence by sentence
            padded = max(longest, lengths[stop])
            needs_padding = lengths[stop] != longest
            if (needs_padding and _is_on_cpu(layer)) or (stop + 1 - start) * padded**2 > most_pairs:
                break
            stop, longest = stop + 1, padded
        yield slice(start, stop), layer.cut(slice(start, stop), longest)
        start = stop


def _is_on_cpu(layer: AttentionBlock) -> bool:
    """Tell whether small blocks, which stay in the cache, are fast, and nothing has to be waited for."""
    return layer.alpha.device.type == "cpu"


def contribution_blocks(
    layer: Layer,
    projections: Sequence[Float[Tensor, "inner _"]],
    scale: Float[Tensor, "batch n 1"] | None = None,
    residuals: Sequence[Float[Tensor, "batch n _"]] = (),
) -> Iterator[Block]:
    """Yield the vectors ``scale_i · Σ_h α^h_ij v^h_j P^h`` of a part of a batch, block by block, for each projection P.

    The layer is what `parts_of` yields. For each projection, ``residuals`` are vectors that queries get from themselves
    in addition; they are not scaled. Queries that get nothing from any key of a block, such as those before it in
    causal models, may be left out of it: their vectors are 0.
    """
    alpha, v = layer.factors, layer.v
    batch, heads, n, _ = alpha.shape
    # The word of each piece if pieces are merged, and the piece itself otherwise: its row and its column in the map.
    positions = torch.arange(n, device=v.device) if layer.groups is None else layer.groups.sum_matrix[0].argmax(1)
    position_list = list(range(n)) if layer.groups is None else positions.tolist()
    head_projections = [projection.view(heads, -1, projection.shape[-1]) for projection in projections]
    most_pairs = (BLOCK_PAIRS if _is_on_cpu(layer) else _PAIRS_ELSEWHERE) // batch
    for keys in _runs(position_list, slice(0, n), max(BLOCK_KEYS, most_pairs // n)):
        n_keys = keys.stop - keys.start
        columns = slice(position_list[keys.start], position_list[keys.stop - 1] + 1)
        by_head = v[:, keys].flatten(0, 1).transpose(0, 1)
        # Each (batch × keys, heads, dim).
        projected = [torch.bmm(by_head, matrices).transpose(0, 1) for matrices in head_projections]
        given = _queries_given(layer, keys, position_list)
        for queries in _runs(position_list, given, max(1, most_pairs // n_keys)):
            factors = alpha[:, :, queries, keys]
            if scale is not None:
                factors = factors * scale[:, None, queries]
            factors = factors.permute(0, 3, 2, 1).flatten(0, 1).contiguous()  # (batch × keys, queries, heads)
            vectors = [torch.bmm(factors, values).view(batch, n_keys, -1, values.shape[-1]) for values in projected]
            if layer.groups is not None:  # the pieces of a key are added up
                n_columns, column_of_key = columns.stop - columns.start, positions[keys] - columns.start
                vectors = [y.new_zeros(batch, n_columns, *y.shape[2:]).index_add_(1, column_of_key, y) for y in vectors]
            # The queries whose own column is in this block, because keys are whole positions.
            own = slice(max(keys.start, queries.start), min(keys.stop, queries.stop))
            if residuals and own.start < own.stop:
                own_columns = positions[own] - columns.start
                own_queries = torch.arange(own.start, own.stop, device=v.device) - queries.start
                for block_vectors, residual in zip(vectors, residuals, strict=True):
                    block_vectors[:, own_columns, own_queries] += residual[:, own]
            rows = slice(position_list[queries.start], position_list[queries.stop - 1] + 1)
            yield Block(queries, rows, columns, vectors)
        del projected  # the largest tensors here are freed before those of the next keys are made


def _queries_given(layer: Layer, keys: slice, position_of: Sequence[int]) -> slice:
    """Find the pieces that the keys give anything to, and the keys themselves: a range of whole positions."""
    n = len(position_of)
    if not _is_on_cpu(layer):  # the device would be waited for
        return slice(0, n)
    given = (layer.factors[..., keys] != 0).any(-1).any(1).any(0)
    given[keys] = True
    first, last = (position_of[i] for i in torch.nonzero(given)[[0, -1], 0].tolist())
    return slice(bisect_left(position_of, first), bisect_right(position_of, last))


def _runs(position_of: Sequence[int], pieces: slice, size: int) -> Iterator[slice]:
    """Cut ``pieces`` into runs of whole positions, of at most ``size`` pieces unless a position alone has more."""
    n = len(position_of)
    start = stop = pieces.start
    for end in range(pieces.start + 1, pieces.stop + 1):
        if end < n and position_of[end] == position_of[end - 1]:
            continue  # the position goes on
        if end - start > size and stop > start:  # the next position has no room left in this run
            yield slice(start, stop)
            start = stop
        stop = end
    yield slice(start, stop)


def merge_rows(layer: Layer, block: Block, vectors: Float[Tensor, "batch keys queries dim"]) -> Tensor:
    """Average over the pieces of each query of a block, if pieces are merged; shape (batch, keys, rows, dim)."""
    if layer.groups is None:
        return vectors
    return torch.matmul(layer.groups.mean_matrix[0, 0, block.rows, block.queries], vectors)  # of the only sentence
