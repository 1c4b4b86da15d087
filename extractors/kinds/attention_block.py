"""Norms of what the attention block moves (Kobayashi et al. 2020, 2021), and kinds close to them.

Biases: b_V is inside the value vectors; b_O and the layer norm's beta belong to no key and are left out of every map,
but are in the true sums that the layer norm divides by. Rows are not normalised, as in the authors' code.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from extractors.kinds.registry import register_kind
from extractors.layers import Layer
from extractors.layers.contributions import contribution_blocks, contribution_norms, merged_rows

_DIFFERENCES = 5e-4
"""Relative float32 noise of ALTI's differences of lengths: at most 2.4e-4 over 180,000 values close to the best."""


def value_norms(layer: Layer) -> Float[Tensor, "batch heads n"]:
    """``‖f^h(x_j)‖``, the norm of each head's transformed vector (Kobayashi et al. 2020, §3)."""
    norms: Tensor = _factored_values(layer).norm(dim=-1)
    return norms


def _factored_values(layer: Layer) -> Float[Tensor, "batch heads n inner"]:
    """Vectors with the norms and inner products of f(x), in as few dimensions as a head has."""
    return torch.matmul(layer.v.transpose(1, 2), layer.weights.head_norm_factors)


@register_kind("norm", "‖αf(x)‖ per head (Kobayashi et al. 2020)", reads_weights=True, vectors=True)
def norm(layer: Layer) -> Float[Tensor, "batch heads rows rows"]:
    """``‖α^h_ij f^h(x_j)‖ = α^h_ij ‖f^h(x_j)‖``."""
    if layer.groups is None:
        return layer.alpha * value_norms(layer).unsqueeze(2)
    left, right, column, weight = layer.groups.pairs
    f = _factored_values(layer)
    at = left[:, None, :, None].expand(-1, f.shape[1], -1, f.shape[-1])
    other = right[:, None, :, None].expand_as(at)
    inner = (f.gather(2, at) * f.gather(2, other)).sum(-1) * weight[:, None]
    rows = layer.coefficients(None)
    shape = (*rows.shape[:3], left.shape[-1])
    by_pair = rows.gather(-1, left[:, None, None].expand(shape)) * rows.gather(-1, right[:, None, None].expand(shape))
    squared = rows.new_zeros(*rows.shape[:3], layer.groups.k)
    squared.scatter_add_(-1, column[:, None, None].expand(shape), by_pair * inner.unsqueeze(2))
    return squared.clamp_(min=0).sqrt_()


@register_kind(
    "attn", "norm of the sum of all heads' vectors (Attn-N, Kobayashi et al. 2021)", reads_weights=True, vectors=True
)
def attn(layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
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
    return contribution_norms(layer, layer.weights.gram, own=layer.own())


@register_kind(
    "attnresln",
    "attnres with the layer norm (AttnResLn-N, Kobayashi et al. 2021); pre-LN: that of the feed-forward block",
    reads_weights=True,
    vectors=True,
    residual=True,
)
def attnresln(layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
    """``‖L_i(y_ij + [i = j] x_i)‖``, L_i the linear part of the layer norm with the true deviation of row i."""
    own = layer.weights.norm.linear(layer.own(layer.scale))
    return contribution_norms(layer, layer.weights.gram_normed, layer.scale, own)


@register_kind(
    "globenc",
    "attnresln with the second layer norm, no feed-forward block (GlobEnc, Modarressi et al. 2022)",
    reads_weights=True,
    vectors=True,
    residual=True,
)
def globenc(layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
    """``‖L'_i(L_i(y_ij + [i = j] x_i))‖``, L' the layer norm after the feed-forward block.

    Raises:
        ModelError: a pre-LN model, where no layer norm follows the feed-forward block.
    """
    scale = layer.scale * layer.scale_out
    own = layer.weights.last_norm.linear(layer.weights.norm.linear(layer.own(scale)))
    return contribution_norms(layer, layer.weights.gram_normed_twice, scale, own)


@register_kind(
    "alti",
    "ALTI, how much closer a contribution brings to the block's output, L1 (Ferrando et al. 2022)",
    rows_sum_to_one=True,
    reads_weights=True,
    vectors=True,
    residual=True,
    noise=_DIFFERENCES,
)
def alti(layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
    """``max(0, ‖a_i‖₁ − ‖a_i − t_ij‖₁)``, rows divided by their sums.

    t_ij are the contributions to the attention block's output a_i, which includes all biases (pre-LN: those
    to p_i, no layer norm). The published code adds 1e-6 to each component of the difference; this does not.
    """
    closer = torch.zeros(
        len(layer.mask), *2 * (layer.groups.k if layer.groups else layer.mask.shape[1],), dtype=layer.x.dtype
    ).to(layer.x.device)
    weights = layer.weights
    projection = weights.w_o if weights.pre_norm else weights.w_o_normed
    for b, one in enumerate(layer.sentences()):
        if weights.pre_norm:
            target, scale, residual = one.p, None, one.x[0]
        else:
            target, scale = one.a, one.scale[0]
            residual = weights.norm.linear(one.x[0] * scale)
        target = one.merge_rows(target)[0]
        for block in contribution_blocks(one, [projection], scale, [residual]):
            to = target[block.rows]
            parts = merged_rows(one, block, block.vectors[0])
            # Differences by component: the norms themselves are large and nearly equal.
            closer[b, block.rows, block.keys] = (to.abs() - (to - parts).abs()).sum(-1).T
    return _distribution(closer.unsqueeze(1))


@register_kind(
    "alti-l2",
    "ALTI with Euclidean norms",
    rows_sum_to_one=True,
    reads_weights=True,
    residual=True,
    noise=_DIFFERENCES,
)
def alti_l2(layer: Layer) -> Float[Tensor, "batch 1 n n"]:
    """As `alti`, with ``‖a_i‖₂ − ‖a_i − t_ij‖₂``; no vectors are held.

    Computed as ``(2⟨t_ij, a_i⟩ − ‖t_ij‖²) / (‖a_i‖ + ‖a_i − t_ij‖)``, where nothing cancels.
    """
    weights = layer.weights
    if weights.pre_norm:
        target, projection, scale, own = layer.p, weights.w_o, torch.ones_like(layer.scale), layer.own()
        norms = contribution_norms(layer, weights.gram, own=own)
    else:
        target, projection, scale = layer.a, weights.w_o_normed, layer.scale
        own = weights.norm.linear(layer.own(scale))
        norms = contribution_norms(layer, weights.gram_normed, scale, own)
    seen = (target @ projection.T).view(*layer.v.shape).transpose(1, 2)
    products = (layer.alpha * torch.matmul(seen, layer.v.permute(0, 2, 3, 1))).sum(1) * scale
    products.diagonal(dim1=-2, dim2=-1).copy_((own * target).sum(-1))
    gain = 2 * products - norms.squeeze(1) ** 2
    length = target.norm(dim=-1, keepdim=True)
    rest = (length**2 - gain).clamp(min=0).sqrt()
    return _distribution((gain / (length + rest)).unsqueeze(1))


def _distribution(closer: Float[Tensor, "batch 1 rows rows"]) -> Float[Tensor, "batch 1 rows rows"]:
    """Negative cells to 0, rows to sum 1 (rows of padding may be empty)."""
    positive = closer.clamp(min=0)
    return positive / positive.sum(-1, keepdim=True).clamp(min=torch.finfo(positive.dtype).tiny)
