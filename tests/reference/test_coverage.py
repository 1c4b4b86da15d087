"""Every interval that a finding reads contains the truth about as often as it says."""

from __future__ import annotations

import pytest

from tests.reference.coverage import INTERVALS, coverage

SAMPLES = 600

FEW, MANY = 25, 80
"""Units of which the smaller number is just enough for a claim, since they have different sizes."""


@pytest.mark.slow
@pytest.mark.parametrize("units", [FEW, MANY])
@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_contain_the_truth(name, units):
    if name == "largest_contrast" and units == FEW:
        units = 60  # documents in each group, of which there must be effectively 40
    share, number = coverage(name, units, SAMPLES)
    assert number > 0.9 * SAMPLES
    assert 0.92 <= share <= 0.98
