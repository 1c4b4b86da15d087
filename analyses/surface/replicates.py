"""Bootstrap replicates of the surface statistics, whose sums are exact.

A replicate draws each input with a weight that depends on the id of the input alone, see
`attentionology.analyses.counting.resampling`. The statistic of a layer in a replicate is the weighted mean over inputs
of its mean over heads. All factors are whole numbers: the weights are, and the statistic of an input is rounded to a
multiple of 2⁻³² once. Their products and sums are therefore whole numbers, too, and add up to the same bits in any
order. They are computed in float64, which is exact below 2⁵³ and has fast matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..counting.exact_sums import ExactSumError, fixed
from ..counting.resampling import MOST_DRAWN, poisson_weights

_EXACT = 2**53
"""The number below which all whole numbers are exact in float64."""


def replicate_sums(
    values: Float[Tensor, "inputs statistics layers"],
    defined: Bool[Tensor, "inputs statistics"],
    ids: Sequence[str],
    replicates: int,
    seed: int,
) -> tuple[Int[Tensor, "replicates statistics layers"], Int[Tensor, "replicates statistics"]]:
    """Return the weighted sums of the statistics of inputs in each replicate, and the sums of the weights."""
    in_fixed_point = fixed(torch.where(defined[..., None], values, 0))
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
