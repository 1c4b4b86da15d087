"""Sums in fixed point: the same bits in any order, an error instead of an overflow."""

from dataclasses import dataclass
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attentionology.analyses.counting.exact_sums import (
    LIMIT,
    SCALE,
    ExactMetric,
    ExactSumError,
    add_values,
    floating,
    to_fixed_point,
)
from attentionology.analyses.counting.metric import Metric

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(values, st.randoms())
def test_the_order_of_additions_does_not_matter(numbers, random):
    shuffled = list(numbers)
    random.shuffle(shuffled)
    half = len(numbers) // 2
    whole = to_fixed_point(torch.tensor(numbers, dtype=torch.float64)).sum()
    parts = [
        to_fixed_point(torch.tensor(part, dtype=torch.float64)).sum() for part in (shuffled[:half], shuffled[half:])
    ]
    assert torch.equal(whole, parts[1] + parts[0])


@given(values)
def test_each_value_moves_by_half_a_unit_at_most(numbers):
    units = to_fixed_point(torch.tensor(numbers, dtype=torch.float64))
    for number, unit in zip(numbers, units.tolist(), strict=True):
        assert abs(Fraction(number) - Fraction(unit, SCALE)) <= Fraction(1, 2 * SCALE)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 2.0**30, -(2.0**30)])
def test_values_that_cannot_be_summed_are_refused(value):
    with pytest.raises(ExactSumError):
        to_fixed_point(torch.tensor([0.0, value], dtype=torch.float64))


def test_sums_that_may_have_overflowed_are_refused():
    assert floating(torch.tensor(LIMIT)).item() == 2.0**30
    with pytest.raises(ExactSumError):
        floating(torch.tensor([0, LIMIT + 1]))
    with pytest.raises(ExactSumError):
        floating(torch.tensor(-(2**63)))  # its absolute value does not exist in int64


@pytest.mark.slow
@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3), min_size=1, max_size=8))
def test_each_input_is_rounded_by_itself(rows):
    together = add_values(torch.zeros(3, dtype=torch.int64), torch.tensor(rows, dtype=torch.float64))
    one_by_one = torch.zeros(3, dtype=torch.int64)
    for row in rows:
        one_by_one = add_values(one_by_one, torch.tensor([row], dtype=torch.float64))
    assert torch.equal(together, one_by_one)
    for column, units in enumerate(together.tolist()):
        exact = sum(Fraction(row[column]) for row in rows)
        assert abs(exact - Fraction(units, SCALE)) <= Fraction(len(rows), 2 * SCALE)


@pytest.mark.parametrize("inputs", [1, 2, 4, 8, 16])
def test_a_batch_that_overflows_is_refused(inputs):
    """Four times 2⁶¹ units is −2⁶³ in int64, and eight times is 0."""
    values = torch.full((inputs, 1), 2.0**29, dtype=torch.float64)
    zero = torch.zeros(1, dtype=torch.int64)
    if inputs == 1:
        assert floating(add_values(zero, values)).item() == 2.0**29
    else:
        with pytest.raises(ExactSumError, match="too large"):
            add_values(zero, values)


def test_sums_that_grow_too_large_are_refused():
    nearly = to_fixed_point(torch.tensor([2.0**30 - 1], dtype=torch.float64))
    with pytest.raises(ExactSumError, match="too large"):
        add_values(nearly, torch.tensor([[1.0]]))
    with pytest.raises(ExactSumError, match="not finite"):
        add_values(nearly, torch.tensor([[float("nan")]]))


class Total(ExactMetric):
    """The sum of all numbers."""

    total: torch.Tensor

    def __init__(self):
        super().__init__()
        self.add_state("total", torch.zeros(1, dtype=torch.int64), "sum", persistent=True)

    def update(self, values):
        self.total = add_values(self.total, values)

    def compute(self):
        return floating(self.total).item()


def total_of(value):
    metric = Total()
    metric.update(torch.tensor([[value]], dtype=torch.float64))
    return metric


@pytest.mark.parametrize("as_dictionary", [True, False])
def test_merged_sums_that_are_too_large_are_refused(as_dictionary):
    metric, other = total_of(2.0**29), total_of(2.0**29)
    with pytest.raises(ExactSumError, match="too large"):
        metric.merge_state(other.metric_state if as_dictionary else other)
    assert metric.compute() == 2.0**29  # the metric is as it was
    metric.merge_state(total_of(-1.5))
    assert metric.compute() == 2.0**29 - 1.5


@dataclass(frozen=True)
class Sum:
    """A result to whose fields nothing can be assigned."""

    value: float


class FrozenTotal(Total):
    def compute(self):
        return Sum(super().compute())


def test_what_compute_returns_may_be_a_frozen_dataclass():
    """A metric that was merged, copied or restored returns it, too, and so does one that goes on counting."""
    first, second, restored = FrozenTotal(), FrozenTotal(), FrozenTotal()
    for metric, value in ((first, 3.0), (second, 6.0)):
        metric.update(torch.tensor([[value]], dtype=torch.float64))
    assert first.compute() == Sum(3.0)
    first.merge_state(second)
    restored.load_state_dict(first.metric_state)
    for metric in (first, first.clone(), restored):
        assert metric.compute() == Sum(9.0)
        metric.update(torch.tensor([[7.0]], dtype=torch.float64))
        assert metric.compute() == Sum(16.0)


def test_a_rule_that_no_state_can_have_is_refused():
    with pytest.raises(ValueError, match="the state 'total' has the unknown rule 'mean'; choose one of sum, min, max"):
        Metric().add_state("total", torch.tensor(0), "mean")  # type: ignore[arg-type]
