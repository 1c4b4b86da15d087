"""Pairs of consecutive paragraphs that fill a segment (Clark et al. 2019, §3), like the data of BERT's pre-training."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighboring stretches of a document, ``[CLS] a [SEP] b [SEP]``.

    Attributes:
        start, cut, stop: the stretches as half-open ranges of pieces, counted through the document: ``start … cut`` is
            a, and ``cut … stop`` is b.
        halved: whether the cut is in the middle of a paragraph, because none ends between start and stop.

    Example:
        >>> from attentionology.corpora_loaders import Pair
        >>> pair = Pair(start=0, cut=40, stop=125, halved=False)
        >>> pair.cut - pair.start, pair.stop - pair.cut
        (40, 85)
    """

    start: int
    cut: int
    stop: int
    halved: bool


def pair_paragraphs(lengths: Sequence[int], room: int, rng: random.Random) -> Iterator[Pair]:
    """Cut a document into stretches of ``room`` pieces, and each stretch in two where a paragraph ends.

    This follows the published code, which fills a segment with whole lines and cuts it at one of their ends, chosen at
    random. That code, however, drops the excess on either side, and a line that fills the segment alone ends the
    document. Here the rest of a paragraph starts the next segment, and a stretch within one paragraph is cut in the
    middle. So every piece of the text is in exactly one segment, except for a single piece that may be left at the end.

    Args:
        lengths: the number of pieces of each paragraph.
        room: the number of pieces of a and b together, at least 2.
        rng: the random generator that chooses between paragraph ends.

    Raises:
        ValueError: the room is less than 2.

    Example:
        >>> import random
        >>> from attentionology.corpora_loaders import pair_paragraphs
        >>> for pair in pair_paragraphs([3, 4, 7], room=5, rng=random.Random(0)):
        ...     print(pair.start, pair.cut, pair.stop, pair.halved)
        0 3 5 False
        5 7 10 False
        10 12 14 True
    """
    if room < 2:
        raise ValueError(f"room must be at least 2, not {room}")
    ends = list(accumulate(lengths))
    size = ends[-1] if ends else 0
    following = 0  # index of the first paragraph end after the start of the segment
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
