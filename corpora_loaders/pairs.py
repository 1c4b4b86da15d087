"""Consecutive paragraphs in pairs that fill a segment (Clark et al. 2019, §3; like the data of BERT's pre-training)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring stretches of a document, ``[CLS] a [SEP] b [SEP]``.

    Attributes:
        start, cut, stop: a is ``start … cut``, b is ``cut … stop``, in pieces counted over the document.
        halved: no paragraph ends between start and stop, so the cut is in the middle of one.
    """

    start: int
    cut: int
    stop: int
    halved: bool


def pair_paragraphs(lengths: Sequence[int], room: int, rng: random.Random) -> Iterator[Pair]:
    """Cut a document into stretches of ``room`` pieces and each of them in two where a paragraph ends.

    Like the published code, which fills a segment with whole lines and draws one of the line ends in it for the cut.
    But that code drops what is too much from either side, and a line that fills the room by itself ends the
    document; here the rest of a paragraph opens the next segment, a stretch inside one paragraph is cut in the
    middle, and every piece of the text is in exactly one segment, save a single piece left over at the end.

    Args:
        lengths: number of pieces of each paragraph.
        room: most pieces of a and b together, at least 2.
        rng: decides between paragraph ends.

    Raises:
        ValueError: no room for a pair.
    """
    if room < 2:
        raise ValueError(f"room must be at least 2, not {room}")
    ends = list(accumulate(lengths))
    size = ends[-1] if ends else 0
    following = 0  # the first paragraph end after the start of the segment
    for start in range(0, size, room):
        stop = min(start + room, size)
        if stop - start < 2:
            return
        while ends[following] <= start:
            following += 1
        beyond = following
        while ends[beyond] < stop:
            beyond += 1
        inside = sorted({*ends[following:beyond]})
        yield Pair(start, rng.choice(inside) if inside else (start + stop) // 2, stop, halved=not inside)
