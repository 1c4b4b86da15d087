"""ALTI (Ferrando et al. 2022): how much closer each contribution brings a token to the attention block's output.

The importance of token j is the length that the output a_i loses without its contribution t_ij, ``‖a_i‖ − ‖a_i −
t_ij‖``. With hundreds of tokens that is a small difference of two large numbers, so neither function below subtracts
norms. Even so, these values are less precise in float32 than attention weights, so both kinds declare their ``noise``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from ..layers import Layer
from ..layers.contributions import contribution_blocks, contribution_norms, merge_rows, parts_of
from .registry import register_kind
from .rollout import distributions

_DIFFERENCES = 5e-4
"""Relative float32 noise of ALTI. Over 180,000 values close to the best of their row, the error was at most 2.4e-4."""


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
    """``max(0, ‖a_i‖₁ − ‖a_i − t_ij‖₁)``, with rows divided by their sums (`distributions`).

    The t_ij are the contributions to the attention block's output a_i, which includes all biases. In pre-LN models they
    are the contributions to p_i, which no layer norm follows. The published code adds 1e-6 to each component of the
    difference; this function does not.
    """
    closer = layer.new_map()
    for sentences, part in parts_of(layer):
        output, projection, scale, linear = _decompose(part)
        target = part.merge_rows(output).unsqueeze(1)
        residual = linear(part.x * scale)
        for block in contribution_blocks(part, [projection], scale, [residual]):
            block_target = target[:, :, block.rows]
            vectors = merge_rows(part, block, block.vectors[0])
            # The differences are taken by component, because the two norms are large and nearly equal.
            closer[sentences, 0, block.rows, block.keys] = (
                (block_target.abs() - (block_target - vectors).abs()).sum(-1).mT
            )
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
    """Like `alti`, with ``‖a_i‖₂ − ‖a_i − t_ij‖₂``.

    The difference is computed as ``(2⟨t_ij, a_i⟩ − ‖t_ij‖²) / (‖a_i‖ + ‖a_i − t_ij‖)``, which equals it and has no
    cancellation. The numerator needs only norms and inner products, so the vectors t_ij are never formed.
    """
    target, projection, scale, linear = _decompose(layer)
    from_itself = linear(layer.from_itself(scale))
    gram = layer.weights.gram if layer.weights.pre_norm else layer.weights.gram_normed
    norms = contribution_norms(layer, gram, scale, from_itself)
    # ⟨v P, a⟩ = ⟨v, a Pᵀ⟩: the targets are projected once instead of the values once per query.
    back_projected = (target @ projection.T).view(*layer.v.shape).transpose(1, 2)
    products = (layer.factors * torch.matmul(back_projected, layer.v.permute(0, 2, 3, 1))).sum(1) * scale
    products.diagonal(dim1=-2, dim2=-1).copy_((from_itself * target).sum(-1))
    numerator = 2 * products - norms.squeeze(1) ** 2
    length = target.norm(dim=-1, keepdim=True)
    length_without = (length**2 - numerator).clamp(min=0).sqrt()
    return distributions((numerator / (length + length_without)).clamp(min=0).unsqueeze(1))


def _decompose(layer: Layer) -> tuple[Tensor, Tensor, Tensor, Callable[[Tensor], Tensor]]:
    """Return the output that is decomposed, and the projection P, the ``scale`` and the linear map L of its parts."""
    # The contribution of key j to query i is ``scale_i · Σ_h α^h_ij v^h_j P^h``, plus ``L(scale_i · x_i)`` if i = j.
    weights = layer.weights
    if weights.pre_norm:  # no layer norm follows
        return layer.p, weights.moving, layer.x.new_ones(*layer.x.shape[:-1], 1), lambda vectors: vectors
    return layer.a, weights.w_o_normed, layer.scale, weights.linear_norm
