"""How numbers, heads and offsets are written."""

from __future__ import annotations

import pytest

from attentionology.reports.format import (
    best_direction,
    best_head,
    best_offset,
    interval,
    number,
    number_equal,
    number_interval,
    signed_number,
)


def test_no_negative_zero():
    assert number(-0.0001) == "0.000"
    assert number(-0.0006) == "-0.001"


def test_intervals_without_width_are_left_out_and_differences_have_a_sign():
    assert (number_interval(0.1, 0.25), number_interval(0.1, 0.1)) == ("[0.100, 0.250]", "")
    assert (interval(0.1, 0.25), interval(0.1, 0.1)) == ("[10.0, 25.0]", "")
    assert number_interval(float("nan"), float("nan")) == interval(float("nan"), float("nan")) == ""
    assert (signed_number(0.25), signed_number(-0.25), signed_number(float("nan"))) == ("+0.250", "-0.250", "–")


@pytest.mark.parametrize(
    ("correct", "tied", "expected"),
    [
        (9, 1, ("3-4", "dep→head", "(-2)", "")),
        (9, 2, ("3-4", "dep→head", "(-2)", "(2 equal)")),
        (0, 72, ("–", "–", "", "")),
    ],
)
def test_best_heads_and_offsets_are_named_if_they_are_right(correct, tied, expected):
    row = {"layer": 3, "head": 4, "direction": "dep->head", "correct": correct, "tied": tied}
    row |= {"offset": -2, "offset_correct": correct}
    assert (best_head(row), best_direction(row), best_offset(row), number_equal(row)) == expected
