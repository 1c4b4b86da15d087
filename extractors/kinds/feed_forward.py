"""Norms of what whole layers move, feed-forward block included (Kobayashi et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxtyping import Float
from torch import Tensor

from attentionology.extractors.kinds.registry import LayerMap, register_kind
from attentionology.extractors.layers import Layer, LayerWeights
from attentionology.extractors.layers.contributions import Block, contribution_blocks, merged_rows

FF_KINDS = ("atbff", "atbffres", "atbffresln")


def feed_forward_vectors(
    layer: Layer, projections: Sequence[Float[Tensor, "inner _"]]
) -> Iterator[tuple[Block, dict[str, Float[Tensor, "keys queries dim"]]]]:
    """The vectors whose norms the three kinds are, block by block, for one sentence (see `Layer.sentences`).

    ``projections`` are those of `feed_forward_projections`, the same for all sentences.

    The attention block's contributions t_ij go through the feed-forward block in a linear form that is exact for
    their sum: ``z_ij = (θ_i ⊙ t_ij W_1) W_2`` with the mean slopes θ_i of the activation at the true
    pre-activation (integrated gradients in closed form). Then the residual and, post-LN, the layer norm:

    * atbff: ``z_ij``;
    * atbffres: ``z_ij + t_ij`` (pre-LN: ``z_ij + y_ij + [i = j] x_i``);
    * atbffresln: ``L'_i(z_ij + t_ij)`` (pre-LN has no layer norm there: the same as atbffres).

    A gated block takes two slopes, one for each half. Pieces of a query are not merged yet.
    """
    weights, normed, scale = layer.weights, layer.weights.norm.linear(layer.x[0]), layer.scale[0]
    residuals = [layer.x[0] if weights.pre_norm else normed, *(normed @ w for w, _ in weights.ff_in)]
    slopes = [slope[0] * scale for slope in layer.slopes]
    for block in contribution_blocks(layer, projections, residuals=residuals):
        carried, *parts = block.vectors
        if not weights.pre_norm:
            carried *= scale[block.queries]
        for part, slope in zip(parts, slopes, strict=True):
            part *= slope[block.queries]
        z = weights.out_of_units(parts)
        whole = carried.add_(z)
        normed_whole = whole
        if weights.norm_out is not None:
            normed_whole = weights.norm_out.linear(whole).mul_(layer.scale_out[0, block.queries])
        yield block, {"atbff": z, "atbffres": whole, "atbffresln": normed_whole}


def feed_forward_projections(weights: LayerWeights) -> list[Float[Tensor, "inner _"]]:
    """Linear maps of value vectors: what goes around the feed-forward block, and what goes into it."""
    # Around the block goes what stands after the layer norm, or before it (pre-LN).
    return [weights.w_o if weights.pre_norm else weights.w_o_normed, *weights.to_units()]


def feed_forward_norms(layer: Layer) -> dict[str, Float[Tensor, "batch 1 rows rows"]]:
    """Maps of all three kinds at once; they share nearly all of the work."""
    maps = {kind: layer.new_map() for kind in FF_KINDS}
    projections = feed_forward_projections(layer.weights)
    for b, one in enumerate(layer.sentences()):
        for block, found in feed_forward_vectors(one, projections):
            for kind, vectors in found.items():
                maps[kind][b, 0, block.rows, block.keys] = merged_rows(one, block, vectors).norm(dim=-1).T
    return maps


def _one_of_three(kind: str) -> LayerMap:
    def layer_map(layer: Layer) -> Float[Tensor, "batch 1 rows rows"]:
        return feed_forward_norms(layer)[kind]

    return layer_map


for _kind, _what in (
    ("atbff", "attnresln through the feed-forward block"),
    ("atbffres", "atbff with the residual connection around the block"),
    ("atbffresln", "the whole layer: atbffres with the second layer norm"),
):
    register_kind(_kind, f"{_what} (Kobayashi et al. 2024)", reads_weights=True, vectors=True, residual=True)(
        _one_of_three(_kind)
    )
