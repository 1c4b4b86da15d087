"""Sums of real numbers that do not depend on the order of additions: int64 in fixed point.

Sums of floating-point numbers depend on the order in which they are added, so a corpus that is counted in parts would
give other last digits than the same corpus counted at once. Whole numbers have no such order. Each value is therefore
rounded to a multiple of 2⁻³² once, when it enters a sum, and everything after that is exact: any split of the corpus,
any order and any nesting of merges gives the same bits. A value moves by at most 2⁻³³ ≈ 1.2 · 10⁻¹⁰, so a mean over
inputs moves by no more than that either. A sum of int64 can hold about 10⁹ in these units.

Round one value per input, not per cell, and never a sum over a batch: which inputs share a batch may differ.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from attentionology.corpora_loaders.errors import AttentionologyError

SCALE = 2**32
"""The number of units in 1."""

LIMIT = 2**62
"""The largest absolute value of a sum, in units. It leaves room to add two sums without an overflow of int64."""


class ExactSumError(AttentionologyError, OverflowError):
    """A value is not finite, or a sum is too large to be exact."""


def fixed(values: Float[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """Round values to whole numbers of 2⁻³².

    Args:
        values: finite numbers of absolute values below 2³⁰.

    Raises:
        ExactSumError: a value is not finite or too large.

    Example:
        >>> import torch
        >>> fixed(torch.tensor([0.5, -1.0])).tolist()
        [2147483648, -4294967296]
    """
    units = values.double() * SCALE
    # The comparison is false for values that are not numbers.
    if not bool((units.abs() < LIMIT).all()):
        raise ExactSumError("a value is not finite, or too large for sums that do not depend on the order of additions")
    return units.round().long()


def floating(sums: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return fixed-point sums as float64.

    Raises:
        ExactSumError: a sum is so large that it may have overflowed.

    Example:
        >>> import torch
        >>> floating(fixed(torch.tensor([0.5, 0.25])).sum()).item()
        0.75
    """
    if bool((sums.abs() > LIMIT).any()):
        raise ExactSumError("a sum is too large to be exact; count less text in one run")
    return sums.double() / SCALE
