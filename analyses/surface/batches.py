"""What is computed of a batch of maps: checks of its rows, their entropy, classes of tokens, and sums of replicates.

The statistics of shares and entropies, and the divergences between heads, are defined for probability distributions.
Rows of attention weights sum to 1 up to rounding; maps of norms do not, and must be divided by their row sums first. A
row whose sum is off by more than a thousandth is therefore an error and not a matter of precision.

The published code mixes a little uniform attention into every row, (1 − s) α + s / n, so that no logarithm of 0 can
occur. This changes the values: a head that attends to one token alone then has an entropy above 0. Here the default is
no smoothing, with the limits 0 ln 0 = 0, and the published smoothing is an option for comparisons with the paper.

A bootstrap replicate draws each input with a weight that depends on the id of the input alone, see
`attentionology.analyses.counting.resampling`. The statistic of a layer in a replicate is the weighted mean over inputs
of its mean over heads. All factors are whole numbers: the weights are, and the statistic of an input is rounded to a
multiple of 2⁻³² once. Their products and sums are therefore whole numbers, too, and add up to the same bits in any
order. They are computed in float64, which is exact below 2⁵³ and has fast matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...extractors import MapBatch, is_punctuation
from ..counting.exact_sums import ExactSumError, to_fixed_point
from ..counting.resampling import MOST_DRAWN, poisson_weights

_TOLERANCE = 1e-3

DISTANCE_SMOOTHING = 1e-3
"""The share of uniform attention that the published code mixes into each row before it compares heads."""

TO_CLASSES = ("first_special", "last_special", "period_comma", "punctuation", "other")
"""The names of the classes of tokens, in the order of `class_members`."""

_EXACT = 2**53
"""The number below which all whole numbers are exact in float64."""


def check_shape(batch: MapBatch, n_layers: int, n_heads: int) -> None:
    """Check that maps have the expected numbers of layers and heads."""
    layers, heads = batch.maps.shape[1:3]
    if (layers, heads) != (n_layers, n_heads):
        raise ValueError(f"maps of {layers} layers × {heads} heads, where {n_layers} × {n_heads} were expected")


def check_rows(deviation: float) -> None:
    """Check that rows sum to 1, given the largest deviation of any; one that is NaN is refused, too."""
    if not deviation <= _TOLERANCE:
        raise ValueError(f"rows sum to 1 only within {deviation:.2g}; extract the maps with normalize='row'")


def entropy_of(alpha: Float[Tensor, "batch heads n n"]) -> Float[Tensor, "batch heads n"]:
    """Return −Σ_j α ln α of each row in nats, with 0 ln 0 = 0. This is a quarter faster than `torch.special.entr`."""
    logarithms = alpha.clamp_min(torch.finfo(alpha.dtype).tiny).log_()
    return -logarithms.mul_(alpha).sum(-1)


def class_members(batch: MapBatch) -> Bool[Tensor, "batch n classes"]:
    """Return which of `TO_CLASSES` each position belongs to; padding belongs to none."""
    if len(batch.forms) != len(batch):
        raise ValueError("the batch has no forms, which distinguish punctuation from words")
    forms = list(chain.from_iterable(batch.forms))
    inside = torch.arange(batch.maps.shape[-1]) < batch.lengths[:, None]
    punctuation, period_comma = torch.zeros(2, *inside.shape, dtype=torch.bool)
    punctuation[inside] = torch.tensor([is_punctuation(form) for form in forms])
    period_comma[inside] = torch.tensor([form in (".", ",") for form in forms])
    words = batch.words
    first_special = batch.special & (words.cumsum(1) == 0)  # before the first word
    last_special = batch.special & ~first_special
    classes = [first_special, last_special, period_comma & words, punctuation & words, words & ~punctuation]
    return torch.stack(classes, dim=-1)


def replicate_sums(
    values: Float[Tensor, "inputs statistics layers"],
    defined: Bool[Tensor, "inputs statistics"],
    ids: Sequence[str],
    replicates: int,
    seed: int,
) -> tuple[Int[Tensor, "replicates statistics layers"], Int[Tensor, "replicates statistics"]]:
    """Return the weighted sums of the statistics of inputs in each replicate, and the sums of the weights."""
    in_fixed_point = to_fixed_point(torch.where(defined[..., None], values, 0))
    largest = int(in_fixed_point.abs().max()) if len(ids) else 0
    if largest * MOST_DRAWN >= _EXACT:
        raise ExactSumError("a statistic is too large for exact sums of its bootstrap replicates")
    # So few inputs are added up at a time that a product of float64 matrices is exact.
    n_inputs = max(1, (_EXACT - 1) // (MOST_DRAWN * max(1, largest)))
    weights = torch.from_numpy(poisson_weights(ids, replicates, seed).astype(np.float64))
    sums = torch.zeros(replicates, *values.shape[1:], dtype=torch.int64)
    for start in range(0, len(ids), n_inputs):
        inputs = slice(start, start + n_inputs)
        product = weights[:, inputs] @ in_fixed_point[inputs].double().flatten(1)
        sums += product.long().view_as(sums)
    return sums, (weights @ defined.double()).long()
