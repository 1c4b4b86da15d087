"""ALTI (Ferrando et al. 2022): how much closer each contribution brings a token to the attention block's output."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from attentionology.extractors.kinds.registry import register_kind
from attentionology.extractors.kinds.rows import distributions
from attentionology.extractors.layers import Layer
from attentionology.extractors.layers.contributions import contribution_blocks, contribution_norms, merged_rows

_DIFFERENCES = 5e-4
"""Relative float32 noise of ALTI's differences of lengths: at most 2.4e-4 over 180,000 values close to the best."""


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
    """``max(0, ‖a_i‖₁ − ‖a_i − t_ij‖₁)``, rows divided by their sums (`distributions`).

    t_ij are the contributions to the attention block's output a_i, which includes all biases (pre-LN: those
    to p_i, no layer norm). The published code adds 1e-6 to each component of the difference; this does not.
    """
    closer = layer.new_map()
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
            closer[b, 0, block.rows, block.keys] = (to.abs() - (to - parts).abs()).sum(-1).T
    return distributions(closer.clamp(min=0))


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
    return distributions((gain / (length + rest)).clamp(min=0).unsqueeze(1))
