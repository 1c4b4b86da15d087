"""Sums in fixed point: the same bits in any order, an error instead of an overflow."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attentionology.analyses.shared.exact_sums import LIMIT, SCALE, ExactSumError, fixed, floating

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(values, st.randoms())
def test_the_order_of_additions_does_not_matter(numbers, random):
    shuffled = list(numbers)
    random.shuffle(shuffled)
    half = len(numbers) // 2
    whole = fixed(torch.tensor(numbers, dtype=torch.float64)).sum()
    parts = [fixed(torch.tensor(part, dtype=torch.float64)).sum() for part in (shuffled[:half], shuffled[half:])]
    assert torch.equal(whole, parts[1] + parts[0])


@given(values)
def test_each_value_moves_by_half_a_unit_at_most(numbers):
    units = fixed(torch.tensor(numbers, dtype=torch.float64))
    for number, unit in zip(numbers, units.tolist(), strict=True):
        assert abs(Fraction(number) - Fraction(unit, SCALE)) <= Fraction(1, 2 * SCALE)


def test_float32_is_taken_at_its_value():
    third = torch.tensor([1 / 3], dtype=torch.float32)
    assert floating(fixed(third)).item() == pytest.approx(third.double().item(), abs=2**-33)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 2.0**30, -(2.0**30)])
def test_values_that_cannot_be_summed_are_refused(value):
    with pytest.raises(ExactSumError):
        fixed(torch.tensor([0.0, value], dtype=torch.float64))


def test_sums_that_may_have_overflowed_are_refused():
    assert floating(torch.tensor(LIMIT)).item() == 2.0**30
    with pytest.raises(ExactSumError):
        floating(torch.tensor([0, LIMIT + 1]))
