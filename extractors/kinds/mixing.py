"""How much of a token's new vector comes from other tokens (context mixing), without any n × n object.

The mixing ratio of token i is ``M / (M + P)``, where ``M = ‖Σ_{j≠i} c_ij‖`` is the norm of the sum of what all other
tokens contribute (not the sum of the norms), and ``P = ‖c_ii‖`` (Kobayashi et al. 2021, §3.3). Everything that follows
is linear in the contributions, the feed-forward block included, so the two sums of each token can be pushed through it
instead of all single contributions: 2n vectors where a map would take n².
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from ..layers import Layer

MIXING_VARIANTS = (
    "attn-w",
    "attnres-w",
    "attn-n",
    "attnres-n",
    "attnresln-n",
    "atbff-n",
    "atbffres-n",
    "atbffresln-n",
)
"""The variants of the mixing ratio. Those in ``-w`` come from the attention weights alone: ``1 − mean_h α_ii``, and
half of it with the residual connection (Abnar & Zuidema 2020). Those in ``-n`` come from norms of the vectors of which
the map kind of the same name is made."""


def mixing_ratios(layer: Layer) -> dict[str, Float[Tensor, "batch n"]]:
    """The ratios of every token by all `MIXING_VARIANTS`. Values at padding are meaningless."""
    weights = layer.weights
    by_weight = 1 - layer.alpha.diagonal(dim1=-2, dim2=-1).mean(1)
    context_from_itself = layer.context_from_itself()
    mixed = (layer.moved_context - context_from_itself) @ weights.moving
    kept = context_from_itself @ weights.moving
    ratios = {"attn-w": by_weight, "attnres-w": by_weight / 2, "attn-n": _ratio(mixed, kept)}
    kept = kept + layer.x
    ratios["attnres-n"] = _ratio(mixed, kept)
    if weights.parallel:  # all that the feed-forward block adds comes from the token itself
        through = layer.ff_from_itself
        ratios["attnresln-n"] = ratios["attnres-n"]
        ratios["atbff-n"] = through.new_zeros(through.shape[:-1])
        ratios |= dict.fromkeys(("atbffres-n", "atbffresln-n"), _ratio(mixed, kept + through))
        return ratios
    mixed_stages, kept_stages = _stages(layer, mixed), _stages(layer, kept)
    for name in ("attnresln-n", "atbff-n", "atbffres-n", "atbffresln-n"):
        ratios[name] = _ratio(mixed_stages[name], kept_stages[name])
    return ratios


def _ratio(mixed: Float[Tensor, "batch n dim"], kept: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch n"]:
    m, p = mixed.norm(dim=-1), kept.norm(dim=-1)
    ratio: Tensor = m / (m + p)
    return ratio


def _stages(layer: Layer, part: Float[Tensor, "batch n dim"]) -> dict[str, Float[Tensor, "batch n dim"]]:
    """Follow a part of each token's sum through layer norm, feed-forward block, residual and second layer norm."""
    weights = layer.weights
    normed = weights.linear_norm(part) * layer.scale
    units = [slope * (normed @ w) for slope, (w, _) in zip(layer.slopes, weights.ff_in, strict=True)]
    through = layer.scaled_ff(weights.out_of_units(units))
    whole = through + (part if weights.pre_norm else normed)
    last = whole if weights.norm_out is None else weights.norm_out.linear(whole) * layer.scale_out
    return {"attnresln-n": normed, "atbff-n": through, "atbffres-n": whole, "atbffresln-n": last}
