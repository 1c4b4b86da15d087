"""Distances between distributions, and the places of their values with ties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ....extractors.kinds.registry import FLOAT32_NOISE
from .batch import Values

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


def uniform_weights(mask: Bool[Tensor, "*batch n"], dtype: torch.dtype = torch.float32) -> Float[Tensor, "*batch n"]:
    """Return the same weight for every word; zeros for a text without words."""
    weights = mask.to(dtype)
    return weights / weights.sum(-1, keepdim=True).clamp(min=1)


class Noise(NamedTuple):
    """The largest difference between two scores of a text that can be noise: the larger one of two bounds."""

    relative: float = 0.0  # the bound as a share of the larger score in magnitude
    absolute: float = 0.0  # the bound itself
    doubt: float = 1.0  # how far the difference is at most from that of the same text in another batch, in bounds


WEIGHTS = Noise(FLOAT32_NOISE, float(np.finfo(np.float32).tiny))
"""The noise of weights of a softmax and of norms of vectors. They all have the same number of correct digits, however
small they are, down to the smallest number that float32 holds with full precision."""

GRADIENTS = Noise(absolute=2e-6, doubt=2.0)
"""The noise of gradient × input, whose scores sum to 1 in each text. A score is a sum over dimensions with both signs,
so the error of a score near 0 is as large as that of a large score."""

LEFT_OUT = Noise(absolute=2e-7)
"""The noise of differences of probabilities. The error of a tiny difference is as large as that of the
probabilities."""


def levels(scores: Values, noise: Noise) -> Values:
    """Rank scores from 0 upwards; ties share a rank."""
    # The scores are sorted and cut wherever two neighbors are farther apart than the noise. The scores between two cuts
    # are ties. This relation is transitive and does not depend on the order of the scores.
    order = np.argsort(scores, kind="stable")
    gaps, bounds = _gaps(scores[order], noise)
    is_cut = gaps > bounds
    lowest = np.zeros(min(len(scores), 1))  # the rank of the first score, if there is one
    ranks = np.empty(len(scores))
    ranks[order] = np.concatenate([lowest, np.cumsum(is_cut)])
    return ranks


def is_doubtful(scores: Values, noise: Noise, error: float = 0.0) -> bool:
    """Return whether `levels` may have other ties for the scores of the same text in another batch.

    The ``error`` is that of a difference of two scores, if it is known that it can be larger than the noise says.
    """
    gaps, bounds = _gaps(np.sort(scores), noise)
    return bool((np.abs(gaps - bounds) <= np.maximum(noise.doubt * bounds, error)).any())


def _gaps(ascending: Values, noise: Noise) -> tuple[Values, Values]:
    """Return the differences of neighbors, and the largest ones that can be noise."""
    larger = np.maximum(np.abs(ascending[1:]), np.abs(ascending[:-1]))
    return np.diff(ascending), np.maximum(noise.relative * larger, noise.absolute)
