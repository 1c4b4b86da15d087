"""How a document is cut into segments of two stretches."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentionology.corpora_loaders import Pair, pair_paragraphs


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(2, 50), st.integers(0, 5))
def test_every_piece_is_in_one_segment(lengths, room, seed):
    pairs = list(pair_paragraphs(lengths, room, random.Random(seed)))
    size = sum(lengths)
    covered = [i for pair in pairs for i in range(pair.start, pair.stop)]
    assert covered == list(range(len(covered)))
    assert size - len(covered) in ((0, 1) if size % room == 1 or size < 2 else (0,))
    ends = set(accumulate(lengths))
    for pair in pairs:
        assert pair.start < pair.cut < pair.stop
        assert pair.stop - pair.start == min(room, size - pair.start)
        inside = [end for end in ends if pair.start < end < pair.stop]
        assert pair.halved == (not inside)
        assert pair.cut in inside or pair.cut == (pair.start + pair.stop) // 2


def test_by_hand():
    """Three paragraphs, the second too long for a segment by itself: nothing is lost behind it."""
    assert list(pair_paragraphs([3, 12, 4], 6, random.Random(0))) == [
        Pair(0, 3, 6, halved=False),
        Pair(6, 9, 12, halved=True),
        Pair(12, 15, 18, halved=False),
    ]
    assert list(pair_paragraphs([10], 6, random.Random(0))) == [Pair(0, 3, 6, halved=True), Pair(6, 8, 10, halved=True)]
    assert list(pair_paragraphs([1], 6, random.Random(0))) == list(pair_paragraphs([], 6, random.Random(0))) == []


def test_the_cut_is_any_paragraph_end_with_equal_chance():
    rng = random.Random(1)
    cuts = Counter(next(pair_paragraphs([1, 2, 3, 4], 10, rng)).cut for _ in range(3000))
    assert set(cuts) == {1, 3, 6}
    assert all(900 < count < 1100 for count in cuts.values())


def test_no_room():
    with pytest.raises(ValueError, match="room must be at least 2"):
        list(pair_paragraphs([3], 1, random.Random(0)))
