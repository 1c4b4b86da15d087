"""Sums of real numbers that do not depend on the order of additions: int64 in fixed point.

Sums of floating-point numbers depend on the order in which they are added, so a corpus that is counted in parts would
give other last digits than the same corpus counted at once. Whole numbers have no such order. Each value is therefore
rounded to a multiple of 2⁻³² once, when it enters a sum, and everything after that is exact: any split of the corpus,
any order and any nesting of merges gives the same bits. A value moves by at most 2⁻³³ ≈ 1.2 · 10⁻¹⁰, so a mean over
inputs moves by no more than that either. A sum of int64 can hold about 10⁹ in these units.

Round one value per input, not per cell, and never a sum over a batch: which inputs share a batch may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from ...corpora_loaders.errors import AttentionologyError
from .metric import ConfiguredMetric, Metric

SCALE = 2**32
"""The number of units in 1."""

LIMIT = 2**62
"""The largest absolute value of a sum, in units. It leaves room to add two sums without an overflow of int64."""

_TOO_LARGE = "a sum is too large to be exact; count less text in one run"


class ExactSumError(AttentionologyError, OverflowError):
    """A value is not finite, or a sum is too large to be exact."""


def to_fixed_point(values: Float[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """Round values to whole numbers of 2⁻³²."""
    units = values.double() * SCALE
    # The comparison is false for values that are not numbers.
    if not bool((units.abs() < LIMIT).all()):
        raise ExactSumError("a value is not finite, or too large for sums that do not depend on the order of additions")
    return units.round().long()


def floating(sums: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return fixed-point sums as float64.

    Raises:
        ExactSumError: a sum is so large that it may have overflowed.
    """
    # The absolute value of the smallest int64 is negative, so both bounds are compared.
    if bool(((sums > LIMIT) | (sums < -LIMIT)).any()):
        raise ExactSumError(_TOO_LARGE)
    return sums.double() / SCALE


def add_values(sums: Int[Tensor, "*shape"], values: Float[Tensor, "inputs ..."]) -> Int[Tensor, "*shape"]:
    """Return fixed-point sums with one more value of each input.

    Args:
        sums: a state in fixed point.
        values: one value per input and sum, each of which is rounded by itself.

    Raises:
        ExactSumError: a value is not finite, or a sum would be too large.
    """
    units = to_fixed_point(values)
    # Many values may overflow together. Float64 is precise enough to notice it.
    if bool((units.double().sum(0).abs() >= LIMIT).any()):
        raise ExactSumError(_TOO_LARGE)
    return _below_limit(sums + units.sum(0).to(sums.device))


def _below_limit(sums: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """Return the sums if they are below the limit. Two such sums that overflow int64 have changed sign and are not."""
    if bool(((sums >= LIMIT) | (sums <= -LIMIT)).any()):
        raise ExactSumError(_TOO_LARGE)
    return sums


class ExactMetric(Metric):
    """A metric whose states that are added up are int64, and whose `merge_state` refuses to overflow.

    Real-valued sums are states in fixed point: `update` adds to them with `added`, and `compute` reads them with
    `floating`. Such states are the same bits for any split of the corpus into batches that are counted alike, and for
    any order and nesting of merges.

    Example:
        >>> import torch
        >>> from attentionology.analyses import ExactMetric
        >>> class Total(ExactMetric):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.add_state("total", torch.zeros((), dtype=torch.int64), "sum")
        ...     def update(self, values):
        ...         self.total = self.added(self.total, values)
        ...     def compute(self):
        ...         return self.floating(self.total).item()
        >>> first, second = Total(), Total()
        >>> first.update(torch.tensor([0.5, 0.25]))
        >>> second.update(torch.tensor([4.0]))
        >>> first.merge_state(second)
        >>> first.compute()
        4.75
    """

    added = staticmethod(add_values)
    floating = staticmethod(floating)

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add the sums of another part of the corpus.

        Raises:
            ExactSumError: a sum would be too large. The metric is then as it was.
        """
        incoming: Any = incoming_state.metric_state if isinstance(incoming_state, type(self)) else incoming_state
        for name, reduction in self._reductions.items():
            in_both = isinstance(incoming, Mapping) and name in incoming and self.was_counted(name)
            if reduction == "sum" and in_both:
                _below_limit(_below_limit(incoming[name]) + getattr(self, name))  # raises before anything is added
        super().merge_state(incoming_state)


class ConfiguredSums(ConfiguredMetric, ExactMetric):
    """Sums that can be added up only if they were made with the same configuration."""

    def compute(self) -> dict[str, Tensor]:
        """Return the sums by name, as they are kept: without the hash of the configuration."""
        self.check_configuration()
        return {name: state for name, state in self.metric_state.items() if name != "configuration"}
