"""How numbers, heads and offsets are written."""

from __future__ import annotations

import pytest

from attentionology.reports.format import best_direction, best_head, best_offset, number, number_equal


def test_no_negative_zero():
    assert number(-0.0001) == "0.000"
    assert number(-0.0006) == "-0.001"


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
