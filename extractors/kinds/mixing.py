"""How much of a token's new vector comes from other tokens (context mixing), without any n × n object.

The mixing ratio of token i is ``M / (M + P)`` with ``M = ‖Σ_{j≠i} c_ij‖``, the norm of the sum and not the sum of
norms, and ``P = ‖c_ii‖`` (Kobayashi et al. 2021, §3.3). Both vectors pass all that follows linearly, the feed-forward
block included, so 2n vectors are pushed through where a map would take n².
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from attentionology.extractors.layers import Layer

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
"""W: from the attention weights alone, ``1 − mean_h α_ii``, and half of it with the residual connection (Abnar &
Zuidema 2020). N: from norms of the vectors that the map kind of that name is made of."""


def mixing_ratios(layer: Layer) -> dict[str, Float[Tensor, "batch n"]]:
    """The ratio of every token by all `MIXING_VARIANTS`; padding holds garbage."""
    weights = layer.weights
    by_weight = 1 - layer.alpha.diagonal(dim1=-2, dim2=-1).mean(1)
    own_context = layer.own_context()
    mixed = (layer.context.flatten(-2) - own_context) @ weights.w_o
    own = own_context @ weights.w_o
    found = {"attn-w": by_weight, "attnres-w": by_weight / 2, "attn-n": _ratio(mixed, own)}
    own = own + layer.x
    found["attnres-n"] = _ratio(mixed, own)
    stages = [_stages(layer, part) for part in (mixed, own)]
    for name in ("attnresln-n", "atbff-n", "atbffres-n", "atbffresln-n"):
        found[name] = _ratio(stages[0][name], stages[1][name])
    return found


def _ratio(mixed: Float[Tensor, "batch n dim"], own: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch n"]:
    m, p = mixed.norm(dim=-1), own.norm(dim=-1)
    ratio: Tensor = m / (m + p)
    return ratio


def _stages(layer: Layer, part: Float[Tensor, "batch n dim"]) -> dict[str, Float[Tensor, "batch n dim"]]:
    """A part of each row's sum on its way through layer norm, feed-forward block, residual and layer norm."""
    weights = layer.weights
    normed = weights.norm.linear(part) * layer.scale
    units = [slope * (normed @ w) for slope, (w, _) in zip(layer.slopes, weights.ff_in, strict=True)]
    through = weights.out_of_units(units)
    whole = through + (part if weights.pre_norm else normed)
    last = whole if weights.norm_out is None else weights.norm_out.linear(whole) * layer.scale_out
    return {"attnresln-n": normed, "atbff-n": through, "atbffres-n": whole, "atbffresln-n": last}
