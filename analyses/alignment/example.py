"""One sentence pair to look at: its maps by weight and by norm, and its links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...corpora_loaders.alignment import Link, SentencePair
from ...extractors import MapBatch, Merge
from ...extractors.translation import PairBatch
from ..counting.resampling import sentence_keys
from ..plans import Reader
from .series import Series, map_makers, maps_of

_MAX_WORDS, _MIN_WORDS = 16, 4


@dataclass(frozen=True)
class ExampleMap:
    """The map of one measure, such as ``"norm"``, by row and column."""

    measure: str
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class AlignedExample:
    """A sentence pair with its maps of all heads of one layer together. Links count words from 0, source word first."""

    id: str
    setting: str  # such as "AWI"
    layer: int  # 0-based
    rows: tuple[str, ...]  # the target words
    columns: tuple[str, ...]  # the source words and special tokens
    special: tuple[bool, ...]  # whether each column is a special token
    maps: tuple[ExampleMap, ...]  # at most one for each measure
    sure: tuple[Link, ...] = ()
    possible: tuple[Link, ...] = ()


@dataclass(frozen=True)
class MapsOfSeries:
    """Makes the maps of several series of a batch in the forward direction."""

    series: tuple[Series, ...]
    merge: Merge

    @property
    def reads_weights(self) -> bool:
        """Whether a series is about norms."""
        return any(series.measure == "norm" for series in self.series)

    def of(self, batch: object) -> dict[Series, MapBatch]:
        """Make the maps of each series."""
        if not isinstance(batch, PairBatch):
            raise TypeError("these maps are made of batches of sentence pairs")
        return maps_of(self.series, self.merge, batch.maps(map_makers(self.series, self.merge)))


def choose_pair(pairs: Iterable[SentencePair]) -> SentencePair | None:
    """Return the pair to look at: of the short ones, or else of all, that with the smallest hash of its id."""
    # So each part of a corpus can choose first, and then one of what the parts have chosen.

    def sort_key(pair: SentencePair) -> tuple[bool, int, str]:
        sizes = len(pair.source), len(pair)
        fits = min(sizes) >= _MIN_WORDS and max(sizes) <= _MAX_WORDS
        return not fits, int(sentence_keys([pair.id])[0]), pair.id

    return min(pairs, key=sort_key, default=None)


def first_example(examples: Sequence[AlignedExample]) -> AlignedExample | None:
    """Return the example that `choose_pair` would choose among those of several runs."""
    by_id = {example.id: example for example in examples}
    pairs = []
    for example in by_id.values():
        source = tuple(word for word, special in zip(example.columns, example.special, strict=True) if not special)
        pairs.append(SentencePair(id=example.id, source=source, words=example.rows))
    chosen = choose_pair(pairs)
    return None if chosen is None else by_id[chosen.id]


def read_example(
    pairs: Iterable[SentencePair], series: Sequence[Series], layer: int, merge: Merge, read: Reader
) -> AlignedExample | None:
    """Read one of the pairs once more and return it with its maps in a layer; None if it could not be read.

    All series are about the same setting.
    """
    pair = choose_pair(pairs)
    if pair is None or not series:
        return None
    batches = list(read([pair], MapsOfSeries(tuple(series), merge)))
    if not batches:
        return None
    maps_by_series = batches[0]  # the only one, because one pair was read
    columns, gold = maps_by_series[series[0]].columns, pair.gold
    maps = []
    for shown in series:
        rows = maps_by_series[shown].maps[0, layer, 0].tolist()  # of this pair, and of all heads together
        maps.append(ExampleMap(shown.measure, tuple(tuple(round(value, 5) for value in row) for row in rows)))
    return AlignedExample(
        id=pair.id,
        setting=series[0].setting,
        layer=layer,
        rows=pair.words,
        columns=columns.labels[0],
        special=tuple(columns.special[0].tolist()),
        maps=tuple(maps),
        sure=tuple(sorted(gold.sure)) if gold else (),
        possible=tuple(sorted(gold.possible)) if gold else (),
    )
