"""Maps in float64 of sentences of which all maps are needed, several at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from .map_batch import MapBatch
from .map_maker import MapMaker, map_batch_of
from .shared_pass import SharedBatch

MOST_PIECES = 512
"""How many pieces are read at once at most, if it is more than one sentence. More take memory, and no less time."""


@dataclass(frozen=True)
class ExactMaker:
    """Makes maps in float64, and none in float32.

    Sentences with as many pieces are read together, which takes less than half the time of one by one, and no padding:
    some architectures (ModernBERT in transformers 5) turn it into NaN in float64. The last digits depend on which
    sentences are read together, so these maps are for values that are rounded to float32.
    """

    reads_weights: ClassVar[bool] = False  # of the float32 pass, which is not made

    maker: MapMaker

    def of(self, batch: SharedBatch) -> Iterator[tuple[list[int], MapBatch]]:
        """Yield the maps of some of the sentences, with the places of these in the batch."""
        rows = sorted(range(len(batch)), key=lambda row: len(batch.pieces[row]))
        for length, of_length in groupby(rows, lambda row: len(batch.pieces[row])):
            together = list(of_length)
            at_once = max(1, MOST_PIECES // length)
            for start in range(0, len(together), at_once):
                places = together[start : start + at_once]
                sentences = tuple(batch.sentences[row] for row in places)
                exact = SharedBatch(batch.encoder.double, sentences, [batch.pieces[row] for row in places])
                yield places, map_batch_of(self.maker, *self.maker(exact.encoder, exact.pieces), exact)
