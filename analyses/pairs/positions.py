"""Which words do those that differ attend to? Attention by position, counted from the words that differ.

Position 0 is the words that differ, −1 the word before them, 1 the word after them. Only pairs whose sentences have as
many words are counted: in others, the same position is another place in the sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...corpora_loaders.minimal_pairs import BAD, GOOD
from ...extractors import MapBatch
from ...reports.columns import Schema, TableColumn, bounds
from ...reports.drawing import BLUE, COLUMN, ORANGE, TEXT, finish, panels, with_style
from ...reports.format import head_name, rows_of
from ...reports.shapes import shorten
from ...reports.table import ShownTable
from ...storage.writing import amount
from ..contract import Request
from ..counting.counting import CountMaps
from ..counting.exact_sums import to_fixed_point
from ..dependency.decisions import word_positions
from .attention import PairAttention
from .rows import ALL, WITHOUT_INTERVAL, PairCounts, PairQuestion, PairResults, PlanContext

_FARTHEST = 5
"""How far from the words that differ words have a position of their own."""

_MOST_VALUES = 2**26
"""How many values are counted at most, in half a gigabyte: with very many pairs, fewer positions are told apart."""

BEFORE, AFTER, SPECIAL = "before", "after", "special"

POSITIONS = Schema(
    "pairs_positions",
    "If some pairs have as many words in both sentences. One row per group, position and head.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("group", "text", "the group"),
        TableColumn(
            "position",
            "text",
            "where the word stands that is attended to: `0` is the words that differ, `-1` the word before them, `1` "
            "the word after them; `before` and `after` are all words farther away, `special` the special tokens",
        ),
        TableColumn("example", "text", "the word there in the first pair that has one, acceptable sentence"),
        TableColumn("pairs", "count", "pairs that have a word there"),
        TableColumn("good", "share", "attention of the words that differ to what is there, acceptable sentence"),
        TableColumn("bad", "share", "the same in the other sentence"),
        TableColumn(
            "difference difference_low difference_high", "points", "`good` − `bad`, and its 95 % interval over pairs"
        ),
    ),
)


class PositionAttention(PairAttention):
    """The attention of the words that differ to each position, as a mean over these words.

    Args:
        n_layers, n_heads: the shape of the maps.
        ids: the ids of the pairs.
        places: for each pair, the first word that differs, the end of those that differ, and the number of words.
        positions: the names of the positions.
    """

    def __init__(
        self,
        n_layers: int,
        n_heads: int,
        *,
        ids: Sequence[str],
        places: Sequence[Sequence[int]],
        positions: Sequence[str],
    ) -> None:
        super().__init__(n_layers, n_heads, ids=ids, places=places, shape=(len(positions),))
        self.positions = tuple(positions)
        self._slots = {name: slot for slot, name in enumerate(positions)}

    def update(self, batch: MapBatch) -> None:
        """Add the sentences of a batch at word level.

        Raises:
            ExactSumError: a value is not finite.
        """
        position = word_positions(batch).cpu()
        for index, sentence in enumerate(batch.sentences):
            if sentence.id not in self.place:
                continue
            row, side = self.place[sentence.id]
            start, stop, n_words = self.places[row]
            words, n = position[index, :n_words], int(batch.lengths[index])
            slots = torch.full((n,), self._slots[SPECIAL])
            slots[words] = torch.tensor([self._slots.get(name, -1) for name in self.of_words(row)])
            maps = batch.maps[index, :, :, :, :n].cpu().double()
            given = maps[:, :, words[start:stop]].mean(2)  # (layers, heads, n)
            for slot in range(len(self.positions)):
                self.attention[row, side, slot] += to_fixed_point(given[..., slots == slot].sum(-1))
            self.read[row, side] += 1

    def of_words(self, row: int) -> list[str]:
        """Return the position of each word of a pair."""
        start, stop, n_words = self.places[row]
        return [position_of(word, start, stop, self._slots) for word in range(n_words)]

    def compute(self) -> Any:
        """Return the attention, shape (pairs, sentences, positions, layers, heads), NaN where it is none."""
        of_pairs = [{SPECIAL, *self.of_words(row)} for row in range(len(self.ids))]
        has = np.array([[name in found for name in self.positions] for found in of_pairs])
        return np.where(has[:, None, :, None, None], super().compute(), np.nan)


def position_of(word: int, start: int, stop: int, known: Mapping[str, int]) -> str:
    """Return the name of the position of a word; words whose position has no name of its own are far away."""
    distance = word - start if word < start else max(0, word - stop + 1)
    return str(distance) if str(distance) in known else BEFORE if distance < 0 else AFTER


def shown_position(position: str) -> str:
    """Return the name of a position as people read it."""
    return position.replace("-", "−")


class Positions(PairQuestion):
    """Which words do those that differ attend to?"""

    name = "positions"
    tables = (POSITIONS,)
    template = Path(__file__).with_name("positions.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Read the maps of all sentences, if some pairs have as many words in both."""
        pairs, maker, encoder = plan_context.pairs, plan_context.maker, plan_context.setting.encoder
        ids, places = [], []
        for row in rows_of(pairs):
            n_words, other = (len(row[end].split()) for end in (GOOD, BAD))
            if n_words == other:  # so that the ends are the same, too
                ids.append(row["pair"])
                places.append((row["start"], row["good_stop"], n_words))
        if not ids:
            return
        per_position = 2 * len(ids) * encoder.n_layers * encoder.n_heads
        names = next(
            names
            for farthest in range(_FARTHEST, -1, -1)
            if len(names := names_of_positions(places, farthest, encoder.causal)) * per_position <= _MOST_VALUES
            or not farthest
        )
        counting = CountMaps(
            PositionAttention, (("ids", tuple(ids)), ("places", tuple(places)), ("positions", tuple(names)))
        )
        yield Request(f"pairs-positions/{maker.kind}", "positions", plan_context.setting.corpus, maker, counting)

    def find(self, counts: PairCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table of positions; None if no pair has as many words in both sentences."""
        for metric in counts.metrics_of(self.name, PositionAttention):
            tables = [*_tables(counts, metric)]
            return pd.concat(tables, ignore_index=True)[POSITIONS.names] if tables else None
        return None

    def frames(self, answer: pd.DataFrame, results: PairResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {POSITIONS.name: answer}

    def show(self, answer: pd.DataFrame, results: PairResults) -> Sequence[ShownTable]:
        """Return for each group the other word to which the attention of a head differs most."""
        return (positions_table(answer),)

    def draw(self, answer: pd.DataFrame, results: PairResults, title: str) -> Mapping[str, Figure]:
        """Draw all positions of these heads."""
        return {"pairs_positions": positions_figure(answer, title=title)}


def names_of_positions(
    places: Sequence[tuple[int, int, int]], farthest: int = _FARTHEST, causal: bool = False
) -> list[str]:
    """Return the names of the positions that pairs have, from left to right; a causal model attends to none after."""
    known = {str(distance): 0 for distance in range(-farthest, farthest + 1)}
    found = {position_of(word, start, stop, known) for start, stop, n_words in places for word in range(n_words)}
    found -= {AFTER, *(name for name in known if int(name) > 0)} if causal else set()
    return [name for name in (BEFORE, *known, AFTER) if name in found] + [SPECIAL]


def _tables(counts: PairCounts, metric: PositionAttention) -> Iterator[pd.DataFrame]:
    """Yield the rows of each group and position."""
    found = metric.compute()
    order = {pair: row for row, pair in enumerate(metric.ids)}
    rows = np.array([order.get(pair, -1) for pair in counts.pairs["pair"]])
    values = np.where((rows >= 0)[:, None, None, None, None], found[rows], np.nan)  # of all pairs, in their order
    layer, head = np.indices(values.shape[3:]).reshape(2, -1) + 1
    words = [text.split() for text in counts.pairs["good"]]
    for name, chosen in counts.groups.items():
        if name == ALL and len(counts.groups) > 1:  # of other groups, the same position is another part of speech
            continue
        for slot, position in enumerate(metric.positions):
            of_pairs = values[:, :, slot]
            used = chosen & ~np.isnan(of_pairs).any(axis=(1, 2, 3))
            if not used.any():
                continue
            first = int(np.flatnonzero(used)[0])
            places = metric.of_words(rows[first])
            example = " ".join(word for word, place in zip(words[first], places, strict=True) if place == position)
            mean, low, high = counts.means(of_pairs[:, 0] - of_pairs[:, 1], used)
            good, bad = of_pairs[used].mean(0)
            columns = {"good": good, "bad": bad, "difference": mean, "difference_low": low, "difference_high": high}
            table = pd.DataFrame({"layer": layer, "head": head, "group": name, "position": position})
            table = table.assign(example=example, pairs=int(used.sum()))
            yield table.assign(**{column: array.ravel() for column, array in columns.items()})


def _largest(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each group the row of another word, which at least half of the pairs have, that differs most."""
    chosen = []
    for _, rows in table.groupby("group", sort=False):
        of_words = rows[~rows["position"].isin(["0", SPECIAL]) & (rows["pairs"] >= rows["pairs"].max() / 2)]
        chosen.append((of_words if len(of_words) else rows)["difference"].abs().idxmax())
    return table.loc[chosen]


def positions_table(table: pd.DataFrame) -> ShownTable:
    """Return for each group the head and the other word whose attention differs most between the two sentences."""
    columns = [
        TableColumn("group", "text", "", "group"),
        TableColumn("head", "text", "", "head", cell=lambda row: head_name(row["layer"], row["head"])),
        TableColumn("position", "text", "", "position", cell=lambda row: shown_position(row["position"])),
        TableColumn("example", "text", "", "such as", cell=lambda row: shorten(row["example"])),
        TableColumn("good", "share", "", "good"),
        TableColumn("bad", "share", "", "bad"),
        TableColumn(
            "difference difference_low difference_high", "points", "", "good − bad", beside=bounds("difference")
        ),
        TableColumn("pairs", "count", "", "pairs"),
    ]
    title = "Attention of the words that differ by position (%), the head and the other word that differ most"
    return ShownTable(POSITIONS.name, title, columns, rows_of(_largest(table)), uncertain=WITHOUT_INTERVAL)


@with_style
def positions_figure(table: pd.DataFrame, *, most: int = 12, title: str = "") -> Figure:
    """Draw the attention by position of the head of each group whose attention to one differs most."""
    heads = _largest(table)
    heads = heads.loc[sorted(heads["difference"].abs().nlargest(most).index)]
    columns = min(3, len(heads))
    lines = math.ceil(len(heads) / columns)
    figure, grid = panels(COLUMN if columns == 1 else TEXT, 0.7 + 1.75 * lines, lines, columns)
    for axes, row in zip(grid.flat, rows_of(heads), strict=False):
        of_head = (table["group"] == row["group"]) & (table["layer"] == row["layer"]) & (table["head"] == row["head"])
        _draw_head(axes, table[of_head])
        axes.set_title(f"{row['group']}\n{head_name(row['layer'], row['head'])} ({amount(row['pairs'], 'pairs')})")
    for axes in grid.flat[len(heads) :]:
        axes.set_visible(False)
    for line in grid:
        line[0].set_ylabel("attention (%)")
    finish(figure, grid[0, 0], title)
    return figure


def _draw_head(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the attention of a head to each position in both sentences."""
    places, are_words = np.arange(len(rows)), (rows["position"] != SPECIAL).to_numpy()
    for end, color, marker, fill, label in (
        (GOOD, BLUE, "o", BLUE, "acceptable sentence"),
        (BAD, ORANGE, "s", "none", "other sentence"),
    ):
        of_look: Any = {"marker": marker, "ms": 3.2, "color": color, "mfc": fill}
        values = 100 * rows[end].to_numpy()
        axes.plot(places[are_words], values[are_words], ls="-", lw=0.8, label=label, **of_look)
        axes.plot(places[~are_words], values[~are_words], ls="", **of_look)
    named = [
        f"{shorten(example) or position} {shown_position(position)}" if example else position
        for position, example in zip(rows["position"], rows["example"], strict=True)
    ]
    axes.set_xticks(places, named, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
