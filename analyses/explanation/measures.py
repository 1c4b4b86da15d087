"""Distances between distributions, computed for many texts at once."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

LN2 = 0.6931471805599453
"""Upper bound of the Jensen-Shannon divergence in nats."""


def tvd(p: Float[Tensor, "*#batch n"], q: Float[Tensor, "*#batch n"]) -> Float[Tensor, "*#batch"]:
    """Total variation distance, ½ Σ |p − q|: from 0 to 1. Of two classes it is |Δp|."""
    distance: Tensor = (p - q).abs().sum(-1) / 2
    return distance


def entropy(p: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch"]:
    """Shannon entropy in nats; 0 · log 0 is 0, and so is its gradient, which would be infinite."""
    summed: Tensor = torch.special.entr(p.clamp(min=torch.finfo(p.dtype).tiny)).sum(-1)
    return summed


def jsd(p: Float[Tensor, "*#batch n"], q: Float[Tensor, "*#batch n"]) -> Float[Tensor, "*#batch"]:
    """Jensen-Shannon divergence in nats: from 0 to ln 2."""
    return (entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2).clamp(min=0)


def uniform(mask: Bool[Tensor, "*batch n"], dtype: torch.dtype = torch.float32) -> Float[Tensor, "*batch n"]:
    """Return the same weight for every word; zeros for a text without words."""
    weights = mask.to(dtype)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1)
