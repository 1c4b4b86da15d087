"""What do the maps of one sentence pair look like, by weight and by norm, and which links has it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...corpora_loaders.alignment import Link, SentencePair
from ...extractors import MapBatch, Merge
from ...extractors.translation import PairBatch
from ...reports.drawing import BLUE, COLUMN, ORANGE, finish, panels, with_style
from ...reports.shapes import heatmap
from ..contract import Reader
from ..counting.resampling import sentence_keys
from .rows import Aligned, AlignmentQuestion, AlignmentResults, LookupContext
from .series import TOGETHER, Series, map_makers, maps_of

Array = npt.NDArray[np.float64]

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

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> AlignedExample:
        """Return the example that has been stored as plain data."""
        sure, possible = (tuple((source, target) for source, target in plain[name]) for name in ("sure", "possible"))
        return cls(
            id=plain["id"],
            setting=plain["setting"],
            layer=plain["layer"],
            rows=tuple(plain["rows"]),
            columns=tuple(plain["columns"]),
            special=tuple(plain["special"]),
            maps=tuple(ExampleMap(each["measure"], tuple(map(tuple, each["values"]))) for each in plain["maps"]),
            sure=sure,
            possible=possible,
        )


class Example(AlignmentQuestion):
    """What do the maps of one sentence pair look like?"""

    name = "example"
    template = Path(__file__).with_name("example.html.j2")

    def look(self, lookup_context: LookupContext) -> dict[str, Any] | None:
        """Read the pair once more, to show its maps in the layer that was chosen."""
        choice = lookup_context.counts.choice
        setting = choice.series.setting
        all_series = lookup_context.counts.series
        together = {series.one_way for series in all_series if (series.heads, series.setting) == (TOGETHER, setting)}
        shown = sorted(together, key=lambda series: ("weight", "norm", "cosine").index(series.measure))
        example = read_example(lookup_context.pair, shown, choice.layer, lookup_context.merge, lookup_context.read)
        return None if example is None else asdict(example)

    def join(self, lookups: Sequence[Any]) -> AlignedExample | None:
        """Return the example that would be chosen among those of merged runs."""
        return first_example([AlignedExample.of(plain) for plain in lookups])

    def find(self, counts: Aligned, lookups: Any, earlier: Mapping[str, Any]) -> AlignedExample | None:
        """Return the example."""
        example: AlignedExample | None = lookups
        return example

    def draw(self, answer: AlignedExample, results: AlignmentResults, title: str) -> Mapping[str, Figure]:
        """Draw its maps."""
        return {"alignment_example": example_figure(answer, title=title)}

    def values(self, answer: AlignedExample, results: AlignmentResults) -> Mapping[str, Any]:
        """Return which pair and which layer it is."""
        return {"example": {"id": answer.id, "layer": answer.layer + 1}}


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


def read_example(
    pair: SentencePair, series: Sequence[Series], layer: int, merge: Merge, read: Reader
) -> AlignedExample | None:
    """Read a pair once more and return it with its maps in a layer; None if it could not be read.

    All series are about the same setting.
    """
    if not series:
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


@with_style
def example_figure(example: AlignedExample, *, title: str = "") -> Figure:
    """Draw a sentence pair as matrices from target words to source words: gold links, and each measure."""
    has_gold = bool(example.possible)
    empty = np.zeros((len(example.rows), len(example.columns)))
    matrices = [("gold links", empty)] if has_gold else []
    matrices += [(f"{drawn.measure}, {example.setting}", _by_largest(np.array(drawn.values))) for drawn in example.maps]
    width = min(12.0, (0.19 * len(example.columns) + 0.5) * len(matrices) + 0.9)
    height = 0.19 * len(example.rows) + 1.3
    figure, (grid,) = panels(max(COLUMN, width), height, columns=len(matrices), sharey=True)
    column_of_word = [column for column, special in enumerate(example.special) if not special]
    for axes, (name, values) in zip(grid, matrices, strict=True):
        heatmap(axes, values, 0, 1)
        axes.set_aspect("equal")
        axes.set_xticks(range(len(example.columns)), list(example.columns), rotation=90)
        axes.set_yticks(range(len(example.rows)), list(example.rows))
        axes.tick_params(length=0)
        axes.set_title(name)
        for source, target in example.possible:
            is_sure = (source, target) in example.sure
            _mark(axes, column_of_word[source], target, sure=is_sure, filled=name == "gold links")
    finish(figure, grid[0], title)
    return figure


def _by_largest(values: Array) -> Array:
    """Divide each row by its largest value."""
    largest = values.max(1, keepdims=True)
    return np.asarray(values / np.where(largest > 0, largest, 1))


def _mark(axes: Axes, column: int, row: int, *, sure: bool, filled: bool) -> None:
    """Draw the square of a gold link."""
    color = BLUE if sure else ORANGE
    face = color if filled else "none"
    line = "-" if sure else ":"
    axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fc=face, ec=color, ls=line, lw=1.2, alpha=0.9))
