"""Norms of what whole layers move, the feed-forward block included (Kobayashi et al. 2024).

Which part of the block's output comes from which token is answered by integrated gradients: each unit has a mean slope
θ (see `attentionology.extractors.layers.activations`), and each token's part of the pre-activation is multiplied by it.
The parts add up to what the activation really does, and the whole layer becomes one linear map per query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from jaxtyping import Float
from torch import Tensor

from ..errors import ModelError
from ..layers import Layer, LayerWeights
from ..layers.contributions import Block, contribution_blocks, merge_rows, parts_of
from .registry import register_kind

FF_KINDS = ("atbff", "atbffres", "atbffresln")


def feed_forward_vectors(
    layer: Layer, projections: Sequence[Float[Tensor, "inner _"]]
) -> Iterator[tuple[Block, dict[str, Float[Tensor, "batch keys queries dim"]]]]:
    """Yield, block by block, the vectors whose norms the three kinds are.

    The attention block's contributions t_ij pass the feed-forward block in a linear form that is exact for
    their sum: ``z_ij = (θ_i ⊙ t_ij W_1) W_2``, with the mean slopes θ_i of the activation at the true
    pre-activation. The residual follows and, in post-LN models, the layer norm:

    * atbff: ``z_ij``;
    * atbffres: ``z_ij + t_ij`` (pre-LN: ``z_ij + y_ij + [i = j] x_i``);
    * atbffresln: ``L'_i(z_ij + t_ij)`` (pre-LN models have no layer norm there, so this equals atbffres).

    Where what the block adds is normed before it is added, z_ij includes the linear part of that norm. Where the block
    reads the input of the layer, as attention does, there is no atbff, and atbffres is ``y_ij + [i = j] (x_i + z_i)``.

    A gated block has two slopes, one for each half. The layer is what `parts_of` yields, and
    the projections are what `feed_forward_projections` returns. The pieces of a query are not merged yet.
    """
    weights, scale = layer.weights, layer.scale
    if weights.parallel:
        for block in contribution_blocks(layer, projections, residuals=[layer.x + layer.ff_from_itself]):
            yield block, dict.fromkeys(("atbffres", "atbffresln"), block.vectors[0])
        return
    normed = weights.linear_norm(layer.x)
    # What comes before the division by the deviation is formed without it, so that it is done once for every query
    # instead of once for every pair: around the block here, and into the block by slopes that include it.
    residuals = [layer.x if weights.pre_norm else normed, *(normed @ w for w, _ in weights.ff_in)]
    slopes = [slope * scale for slope in layer.slopes]
    for block in contribution_blocks(layer, projections, residuals=residuals):
        carried, *parts = block.vectors
        if not weights.pre_norm:
            carried *= scale[:, None, block.queries]
        for part, slope in zip(parts, slopes, strict=True):
            part *= slope[:, None, block.queries]
        z = weights.out_of_units(parts)
        if layer.scale_ff is not None:
            z = z * layer.scale_ff[:, None, block.queries]
        whole = carried.add_(z)
        normed_whole = whole
        if weights.norm_out is not None:
            normed_whole = weights.norm_out.linear(whole).mul_(layer.scale_out[:, None, block.queries])
        yield block, {"atbff": z, "atbffres": whole, "atbffresln": normed_whole}


def feed_forward_projections(weights: LayerWeights) -> list[Float[Tensor, "inner _"]]:
    """Return the linear maps from value vectors to what goes around the feed-forward block and to what goes into it."""
    # Post-LN models send around the block what the layer norm gives; pre-LN models send what it takes.
    to_residual = weights.moving if weights.pre_norm else weights.w_o_normed
    return [to_residual] if weights.parallel else [to_residual, *weights.to_units()]


def _map_of(kind: str, layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
    """Compute the map of one of `FF_KINDS`."""
    if layer.weights.parallel and kind == "atbff":
        raise ModelError(
            "the feed-forward block of this model reads the input of the layer, as attention does, so that all of what "
            "it adds comes from the position itself; the kind atbff is not available, atbffres is"
        )
    norms = layer.new_map()
    projections = feed_forward_projections(layer.weights)
    for sentences, part in parts_of(layer):
        for block, vectors in feed_forward_vectors(part, projections):
            norms[sentences, 0, block.rows, block.keys] = merge_rows(part, block, vectors[kind]).norm(dim=-1).mT
    return norms


for _kind, _description in (
    ("atbff", "attnresln through the feed-forward block"),
    ("atbffres", "atbff with the residual connection around the block"),
    ("atbffresln", "the whole layer: atbffres with the second layer norm"),
):
    _register = register_kind(
        _kind, f"{_description} (Kobayashi et al. 2024)", reads_weights=True, vectors=True, residual=True
    )
    _register(partial(_map_of, _kind))
