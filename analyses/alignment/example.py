"""One sentence pair to look at: its maps by weight and by norm, and its links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...corpora_loaders.alignment import Link, SentencePair
from ...extractors import MapBatch, Merge
from ...extractors.translation import PairBatch
from ..plans import Reader
from ..shared.resampling import sentence_keys
from .hypotheses import map_maker, maps_of
from .series import Series

_MOST_WORDS, _FEWEST_WORDS = 16, 4


@dataclass(frozen=True)
class ExampleMap:
    """The map of one measure.

    Attributes:
        measure: the measure, such as ``"norm"``.
        values: the values by row and column.
    """

    measure: str
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class AlignedExample:
    """A sentence pair with its maps of all heads of one layer together.

    Attributes:
        id: the id of the pair.
        setting: the setting, such as ``"AWI"``.
        layer: the layer, 0-based.
        rows: the target words.
        columns: the source words and special tokens.
        special: whether each column is a special token.
        maps: the maps, at most one for each measure.
        sure, possible: the gold links, source word first, counted from 0 without special tokens; empty without gold.
    """

    id: str
    setting: str
    layer: int
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    special: tuple[bool, ...]
    maps: tuple[ExampleMap, ...]
    sure: tuple[Link, ...] = ()
    possible: tuple[Link, ...] = ()


@dataclass(frozen=True)
class MapsOfSeries:
    """Makes the maps of several series of a batch.

    Attributes:
        series: the series, whose direction has no effect.
        merge: how norms of pieces become norms of words.
    """

    series: tuple[Series, ...]
    merge: Merge = "norm"

    @property
    def reads_weights(self) -> bool:
        """Whether a series is about norms."""
        return any(each.measure == "norm" for each in self.series)

    def of(self, batch: object) -> list[MapBatch]:
        """Make the maps of each series."""
        if not isinstance(batch, PairBatch):
            raise TypeError("these maps are made of batches of sentence pairs")
        made = batch.maps([map_maker(each, self.merge) for each in self.series])
        return [maps_of(each, maps) for each, maps in zip(self.series, made, strict=True)]


def choose_pair(pairs: Iterable[SentencePair]) -> SentencePair | None:
    """Return the pair to look at: a short one, chosen by the hash of its id, so that a part of a corpus may draw first.

    Example:
        >>> pairs = [SentencePair(id=str(n), source=("a",) * n, words=("b",) * n) for n in range(1, 8)]
        >>> choose_pair(pairs).id in {"4", "5", "6", "7"}, choose_pair(pairs[:1]).id, choose_pair([])
        (True, '1', None)
    """

    def rank(pair: SentencePair) -> tuple[bool, int, str]:
        sizes = len(pair.source), len(pair)
        fits = min(sizes) >= _FEWEST_WORDS and max(sizes) <= _MOST_WORDS
        return not fits, int(sentence_keys([pair.id])[0]), pair.id

    return min(pairs, key=rank, default=None)


def first_example(examples: Sequence[AlignedExample]) -> AlignedExample | None:
    """Return the example that `choose_pair` would choose among those of several runs."""
    by_id = {each.id: each for each in examples}
    pairs = []
    for each in examples:
        source = tuple(word for word, special in zip(each.columns, each.special, strict=True) if not special)
        pairs.append(SentencePair(id=each.id, source=source, words=each.rows))
    pair = choose_pair(pairs)
    return None if pair is None else by_id[pair.id]


def read_example(
    pairs: Iterable[SentencePair], series: Sequence[Series], layer: int, merge: Merge, read: Reader
) -> AlignedExample | None:
    """Read a pair once more and return it with its maps; None if it could not be read."""
    pair = choose_pair(pairs)
    if pair is None or not series:
        return None
    for batches in read([pair], MapsOfSeries(tuple(series), merge)):
        columns = batches[0].columns
        gold = pair.gold
        return AlignedExample(
            id=pair.id,
            setting=series[0].setting,
            layer=layer,
            rows=pair.words,
            columns=columns.labels[0],
            special=tuple(columns.special[0].tolist()),
            maps=tuple(
                ExampleMap(each.measure, _rounded(batch.maps[0, layer, 0].tolist()))
                for each, batch in zip(series, batches, strict=True)
            ),
            sure=tuple(sorted(gold.sure)) if gold else (),
            possible=tuple(sorted(gold.possible)) if gold else (),
        )
    return None


def _rounded(values: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(round(value, 5) for value in row) for row in values)
