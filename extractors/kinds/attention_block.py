"""Attention weights, norms of what the attention block moves (Kobayashi et al. 2020, 2021), and GlobEnc.

The norms replace a weight by the length of the vector that query i really receives from key j, see
`attentionology.extractors.layers.contributions`. The bias b_V is part of the value vectors. The bias b_O and the layer
norm's beta belong to no key and are in no map, but in the sums whose deviation the layer norm divides by.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ..layers import AttentionBlock, Layer
from ..layers.contributions import BLOCK_PAIRS, contribution_norms
from .registry import register_kind


@register_kind("weight", "attention weights α (Clark et al. 2019)", rows_sum_to_one=True)
def weight(layer: AttentionBlock) -> Float[Tensor, "batch heads queries keys"]:
    """The attention weights, unchanged."""
    return layer.alpha


def value_norms(layer: AttentionBlock) -> Float[Tensor, "batch heads n"]:
    """``‖f^h(x_j)‖``, the norms of the vectors that each head transforms the tokens to (Kobayashi et al. 2020, §3)."""
    norms: Tensor = _factored_values(layer).norm(dim=-1)
    return norms


def _factored_values(layer: AttentionBlock) -> Float[Tensor, "batch heads n inner"]:
    """Return vectors with the norms and inner products of f(x), in as few dimensions as the head has."""
    return torch.matmul(layer.v.transpose(1, 2), layer.weights.head_norm_factors)


@register_kind("norm", "‖αf(x)‖ per head (Kobayashi et al. 2020)", reads_weights=True, vectors=True)
def norm(layer: AttentionBlock) -> Float[Tensor, "batch heads rows columns"]:
    """``‖α^h_ij f^h(x_j)‖ = α^h_ij ‖f^h(x_j)‖``."""
    if layer.groups is None:
        return layer.factors * value_norms(layer).unsqueeze(2)
    # The squared norm of what the pieces of a word give together is a sum over pairs of them, see `contribution_norms`.
    f, alpha = _factored_values(layer), layer.coefficients(scale=None)
    squared = alpha.new_zeros(*alpha.shape[:3], layer.groups.k)
    for left, right, column, weight in layer.groups.pairs.parts(BLOCK_PAIRS):
        left_pieces = left[:, None, :, None].expand(-1, f.shape[1], -1, f.shape[-1])
        right_pieces = right[:, None, :, None].expand_as(left_pieces)
        inner = (f.gather(2, left_pieces) * f.gather(2, right_pieces)).sum(-1) * weight[:, None]
        # Each index, as (batch, heads, rows, pairs).
        i, j, word = (index[:, None, None].expand(*alpha.shape[:3], -1) for index in (left, right, column))
        squared.scatter_add_(-1, word, alpha.gather(-1, i) * alpha.gather(-1, j) * inner.unsqueeze(2))
    return squared.clamp_(min=0).sqrt_()


@register_kind(
    "attn", "norm of the sum of all heads' vectors (Attn-N, Kobayashi et al. 2021)", reads_weights=True, vectors=True
)
def attn(layer: AttentionBlock) -> Float[Tensor, "batch 1 rows columns"]:
    """``‖Σ_h α^h_ij f^h(x_j)‖``."""
    return contribution_norms(layer, layer.weights.gram)


@register_kind(
    "attnres",
    "attn with the residual connection (AttnRes-N, Kobayashi et al. 2021)",
    reads_weights=True,
    vectors=True,
    residual=True,
)
def attnres(layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
    """``‖y_ij + [i = j] x_i‖``."""
    return contribution_norms(layer, layer.weights.gram, diagonal=layer.from_itself())


@register_kind(
    "attnresln",
    "attnres with the layer norm (AttnResLn-N, Kobayashi et al. 2021); pre-LN: that of the feed-forward block",
    reads_weights=True,
    vectors=True,
    residual=True,
)
def attnresln(layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
    """``‖L_i(y_ij + [i = j] x_i)‖``, with L_i the linear part of the layer norm for the true deviation of row i.

    Where no layer norm reads what attention has added (OLMo 2, parallel blocks), this equals `attnres`.
    """
    from_itself = layer.weights.linear_norm(layer.from_itself(layer.scale))
    return contribution_norms(layer, layer.weights.gram_normed, layer.scale, from_itself)


@register_kind(
    "globenc",
    "attnresln with the second layer norm, no feed-forward block (GlobEnc, Modarressi et al. 2022)",
    reads_weights=True,
    vectors=True,
    residual=True,
)
def globenc(layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
    """``‖L'_i(L_i(y_ij + [i = j] x_i))‖``, L' being the layer norm after the feed-forward block, if there is one."""
    scale = layer.scale * layer.scale_out
    from_itself = layer.weights.last_norm.linear(layer.weights.linear_norm(layer.from_itself(scale)))
    return contribution_norms(layer, layer.weights.gram_normed_twice, scale, from_itself)
