"""The maps of the sentence pairs that the report shows, which are made when a pair is drawn for the sample.

A batch of an alignment run consists of links, whose maps are dropped as soon as the links are made. Of all pairs only a
few are drawn, so these are read once more, in float64. Their maps therefore depend neither on the batch nor on how the
corpus was cut: they are quantized, which is far coarser than what rounding in float64 may differ by. And their largest
values are the decisions that are counted, because those that float32 cannot make are made in float64, too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders import Sentence
from ...extractors import MapBatch, Merge
from ...extractors.translation import PairBatch, PairPieces
from ..plans import Guesses, SampledMaps
from ..shared.sampled_input import Drawable
from .decisions import SAME, best_columns, in_float64
from .series import SINGLE, TO_SOURCE, Series, all_series, map_makers, maps_of


@dataclass(frozen=True)
class PairsToDraw:
    """Makes batches of sentence pairs that may be drawn."""

    reads_weights: ClassVar[bool] = False  # maps are made in later passes

    series: tuple[Series, ...]  # the series whose maps are made of a pair that is drawn
    merge: Merge = "norm"

    def of(self, batch: object) -> DrawablePairs:
        """Return a batch of sentence pairs without maps."""
        if not isinstance(batch, PairBatch):
            raise TypeError("these maps are made of batches of sentence pairs")
        return DrawablePairs(batch, self.series, self.merge)


@dataclass(frozen=True, eq=False)
class DrawablePairs(Drawable):
    """A batch of sentence pairs whose maps are made when a pair is drawn."""

    batch: PairBatch
    series: tuple[Series, ...]
    merge: Merge

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentence pairs."""
        return self.batch.sentences

    def sizes(self) -> list[int]:
        """Return the number of words of the longer side of each pair; a translator's source has special tokens, too."""
        sizes = []
        for pair, pieces in zip(self.batch.sentences, self.batch.pieces, strict=True):
            columns = pieces.source.special if isinstance(pieces, PairPieces) else pair.source
            sizes.append(max(len(pair), len(columns)))
        return sizes

    def shape(self, kind: str | None) -> tuple[int, int]:
        """Return the numbers of layers and heads of a series; all heads together count as one."""
        has_heads = self.series[self._index_of(kind)].heads == SINGLE
        return self.batch.reader.n_layers, (self.batch.reader.n_heads if has_heads else 1)

    def drawn(self, indices: Sequence[int], kind: str | None) -> Iterator[MapBatch]:
        """Yield the maps of each of some pairs."""
        # All series of a pair are made when the first of them is asked for.
        missing = [index for index in indices if index not in self._maps]
        for group, made in self.batch.exact(map_makers(self.series, self.merge), missing):
            maps = maps_of(self.series, self.merge, made)
            for position, index in enumerate(group):
                self._maps[index] = [in_float64(maps[series], position) for series in self.series]
        for index in indices:
            yield self._maps[index][self._index_of(kind)]

    def _index_of(self, kind: str | None) -> int:
        """Return the index of the series of a kind of map."""
        return [series.kind for series in self.series].index(kind or "")

    @functools.cached_property
    def _maps(self) -> dict[int, list[MapBatch]]:
        """The maps of all series of the pairs that have been read."""
        return {}


def source_guesses(batch: MapBatch) -> Int[Tensor, "batch 1 layers heads n"]:
    """Return the column with the largest value of each target word, which may be that of a special token."""
    # The maps are in float64, see `DrawablePairs.drawn`.
    best, _ = best_columns(batch, SAME * batch.noise)
    return best[:, None]


def sampled_maps(method: str, merge: Merge) -> tuple[SampledMaps, ...]:
    """Return what is kept of the sentence pairs that the report shows: the maps and decisions of every series."""
    shown = tuple(sorted(all_series(method), key=lambda series: series.heads != SINGLE))  # single heads first
    maker, guesses = PairsToDraw(shown, merge), (Guesses((TO_SOURCE,), source_guesses),)
    return tuple(SampledMaps(each.kind, maker, shares=each.measure == "weight", guesses=guesses) for each in shown)
