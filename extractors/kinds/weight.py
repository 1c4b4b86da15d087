"""The attention weights."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from ..layers import AttentionBlock
from .registry import register_kind


@register_kind("weight", "attention weights α (Clark et al. 2019)", rows_sum_to_one=True)
def weight(layer: AttentionBlock) -> Float[Tensor, "batch heads queries keys"]:
    """The attention weights, unchanged."""
    return layer.alpha
