"""Value Zeroing (Mohebbi et al. 2023): how much a layer's output changes when a key's value vector is zeroed.

The authors run the layer once per key. Here one known vector is subtracted from the sum before the first layer norm
(`contribution_blocks`), and only what follows that sum is computed again, with nothing linearized.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from ..layers import Layer, LayerWeights
from ..layers.contributions import Block, contribution_blocks, parts_of
from .registry import register_kind
from .rollout import distributions


@register_kind(
    "value-zeroing",
    "cosine distance of the layer's output when a key's value is zeroed (Mohebbi et al. 2023)",
    rows_sum_to_one=True,
    reads_weights=True,
    residual=True,
    noise=2e-4,  # at most 7.8e-5 over 70,000 values close to the best of their row or column
)
def value_zeroing(layer: Layer) -> Float[Tensor, "batch 1 n n"]:
    """``1 − cos(x'_i, x'_i without v_j)``, with v_j zeroed in all heads and the residual kept; rows sum to 1.

    The distance is computed as half the squared distance of the unit vectors, which equals it. Most cosines differ from
    1 by little more than the rounding of float32, so that ``1 − cos`` would keep hardly a correct digit.
    """
    distances = layer.new_map()
    projections = _projections(layer.weights)  # once for all sentences
    for sentences, part in parts_of(layer):
        output = functional.normalize(part.output, dim=-1)
        for block, without in _without_keys(part, projections):
            # Where a query does not attend to a key at all (in causal models), the distance is rounding noise.
            attended = part.alpha[:, :, block.queries, block.keys].amax(1) > 0
            change = functional.normalize(without, dim=-1).sub_(output[:, None, block.queries])
            distances[sentences, 0, block.queries, block.keys] = change.square_().sum(-1).mT / 2 * attended
    return distributions(distances)


def _can_norm_beforehand(weights: LayerWeights) -> bool:
    """Tell whether the linear part of the layer norm can be applied before the sum is known.

    It can where the norm reads p, to which attention is added as it is.
    """
    return weights.norm is not None and not weights.parallel and weights.norm_attention is None


def _projections(weights: LayerWeights) -> list[Float[Tensor, "inner _"]]:
    """Return the linear maps from value vectors to what `_without_keys` takes out of the output of a query."""
    return [weights.w_o, *weights.to_units()] if _can_norm_beforehand(weights) else [weights.w_o]


def _without_keys(
    layer: Layer, projections: Sequence[Float[Tensor, "inner _"]]
) -> Iterator[tuple[Block, Float[Tensor, "batch keys queries dim"]]]:
    """Yield, block by block, the output of queries without the values of keys; the layer is what `parts_of` yields."""
    weights = layer.weights
    if weights.norm is None or not _can_norm_beforehand(weights):
        yield from _recompute(layer, projections)
        return
    p = layer.p
    normed = weights.norm.linear(p)
    p_to_units = [normed @ w for w, _ in weights.ff_in]
    constants = [weights.norm.beta @ w + bias for w, bias in weights.ff_in]
    for block in contribution_blocks(layer, projections):
        # All is computed in place of the block's vectors, which are its largest tensors.
        rest, *units = block.vectors
        torch.sub(p[:, None, block.queries], rest, out=rest)
        # The layer norm before W_1 is linear except for its division, so its linear part has been applied already,
        # to the whole sum and to the removed part; only the division by the deviation of the rest is left to do.
        normed_rest, scale = weights.norm.with_scale(rest)
        for u, whole, constant in zip(units, p_to_units, constants, strict=True):
            torch.sub(whole[:, None, block.queries], u, out=u)
            torch.addcmul(constant, u, scale, out=u)
        residual = rest if weights.pre_norm else normed_rest
        q = weights.feed_forward(tuple(units)).add_(residual)
        yield block, q if weights.norm_out is None else weights.norm_out(q)


def _recompute(
    layer: Layer, projections: Sequence[Float[Tensor, "inner _"]]
) -> Iterator[tuple[Block, Float[Tensor, "batch keys queries dim"]]]:
    """Yield what `_without_keys` does where its shortcut is not valid: compute everything after attention anew."""
    weights, x = layer.weights, layer.x.unsqueeze(1)
    attended = weights.attention_output(layer.context.flatten(-2)).unsqueeze(1)
    # The norm of what attention adds has another deviation without a key, so its factor is taken back.
    scale = None if layer.scale_attention is None else 1 / layer.scale_attention
    for block in contribution_blocks(layer, projections, scale):
        rest = attended[:, :, block.queries] - block.vectors[0]
        p = (weights.norm_attention(rest) if weights.norm_attention else rest) + x[:, :, block.queries]
        u = weights.preactivations(weights.read_by_ff(p, x[:, :, block.queries]))
        yield block, weights.feed_forward(u) + p
