"""Do heads attend to the head noun or to the attractor? Attention from the words that differ, if both are named.

Where the two words stand matters: a head that attends to the words just before the verb prefers an attractor that
stands there, whatever it is. In both sentences of a pair they stand in the same places, so how the preference changes
between the sentences is free of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...corpora_loaders.minimal_pairs import BAD, GOOD, WORDS
from ...extractors import MapBatch, get_kind
from ...reports.columns import Explored, Row, Schema, TableColumn, bounds
from ...reports.drawing import BLUE, COLUMN, ORANGE, TEXT, finish, panels, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import head_name, interval, percent, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..contract import Request
from ..counting.counting import CountMaps
from ..counting.exact_sums import to_fixed_point
from ..counting.resampling import simultaneous_intervals
from ..dependency.decisions import word_positions
from ..shared.measures import address, head_measures, names_of
from .attention import PairAttention
from .rows import ALL, WITHOUT_INTERVAL, PairCounts, PairQuestion, PairResults, PlanContext

_GROUP = "attractors"
_PREFERENCE = "attention of the words that differ to the head noun minus that to the attractor"

ATTRACTORS = Schema(
    "pairs_attractors",
    "If pairs name their words, see [](definitions/pairs.md). One row per head and group, and one of all such pairs.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("group", "text", "the group, or `all`"),
        TableColumn("pairs", "count", "pairs that name both words and have words that differ"),
        TableColumn("nearer", "count", "pairs whose attractor is nearer to the words that differ than the head noun"),
        TableColumn(
            "head_good",
            "share",
            "attention of the words that differ to the head noun, acceptable sentence",
            explored=Explored(_GROUP, "attention to the head noun", counted="pairs"),
        ),
        TableColumn(
            "attractor_good",
            "share",
            "the same to the attractor",
            explored=Explored(
                _GROUP,
                "attention to the attractor",
                "Attention of the words that differ to the attractor, acceptable sentence.",
                counted="pairs",
            ),
        ),
        TableColumn("head_bad attractor_bad", "share", "both in the other sentence"),
        TableColumn(
            "preference preference_low preference_high",
            "points",
            "`head_good` − `attractor_good`, and its 95 % interval over pairs",
            explored=Explored(
                _GROUP,
                "head noun − attractor",
                f"In acceptable sentences, {_PREFERENCE}. Where the two stand matters.",
                counted="pairs",
                center=0.0,
            ),
        ),
        TableColumn(
            "change change_low change_high",
            "points",
            "`preference` − (`head_bad` − `attractor_bad`), and its 95 % interval over pairs",
            explored=Explored(
                _GROUP,
                "head noun − attractor, good − bad",
                f"The {_PREFERENCE}, acceptable sentence minus the other.",
                counted="pairs",
                center=0.0,
            ),
        ),
        TableColumn(
            "band_low band_high", "points", "the interval of `change` that holds for all heads of a group together"
        ),
    ),
)


class AttractorAttention(PairAttention):
    """The attention of the words that differ to the head noun and to the attractor, as a mean over these words.

    Args:
        n_layers, n_heads: the shape of the maps.
        ids: the ids of the pairs.
        places: for each pair, the first word that differs; and for each sentence, the end of those that differ, the
            head noun and the attractor, from 0.
    """

    def __init__(self, n_layers: int, n_heads: int, *, ids: Sequence[str], places: Sequence[Sequence[int]]) -> None:
        super().__init__(n_layers, n_heads, ids=ids, places=places, shape=(len(WORDS),))

    def update(self, batch: MapBatch) -> None:
        """Add the sentences of a batch at word level.

        Raises:
            ExactSumError: a value is not finite.
        """
        position = word_positions(batch)
        for index, sentence in enumerate(batch.sentences):
            if sentence.id not in self.place:  # its pair names no words
                continue
            row, side = self.place[sentence.id]
            start, *ends = self.places[row]
            stop, *named = ends[3 * side : 3 * side + 3]
            if start >= stop:  # nothing is there that the other sentence has not
                continue
            maps = batch.maps[index].cpu().double()
            differ, keys = position[index, start:stop].cpu(), position[index, named].cpu()
            self.attention[row, side] += to_fixed_point(maps[:, :, differ[:, None], keys].mean(-2)).permute(2, 0, 1)
            self.read[row, side] += 1


class Attractors(PairQuestion):
    """Do heads attend to the head noun or to the attractor?"""

    name = "attractors"
    tables = (ATTRACTORS,)
    template = Path(__file__).with_name("attractors.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Read the maps of all sentences, if pairs name both words."""
        corpus, maker = plan_context.setting.corpus, plan_context.maker
        comments = {sentence.id: sentence.comments for sentence in corpus}
        ids, places = [], []
        for row in rows_of(plan_context.pairs):
            sides = [(row[f"{end}_stop"], comments[f"{row['pair']} {end}"]) for end in (GOOD, BAD)]
            if all(name in named for _, named in sides for name in WORDS):
                ids.append(row["pair"])
                of_sides = [(stop, *(int(str(named[name])) - 1 for name in WORDS)) for stop, named in sides]
                places.append((row["start"], *of_sides[0], *of_sides[1]))
        if ids:
            counting = CountMaps(AttractorAttention, (("ids", tuple(ids)), ("places", tuple(places))))
            yield Request(f"pairs-attractors/{maker.kind}", "attractors", corpus, maker, counting)

    def find(self, counts: PairCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the table of heads; None if no pair names its words."""
        for metric in counts.metrics_of(self.name, AttractorAttention):
            tables = [*_tables(counts, metric)]
            return pd.concat(tables, ignore_index=True)[ATTRACTORS.names] if tables else None
        return None

    def frames(self, answer: pd.DataFrame, results: PairResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {ATTRACTORS.name: answer}

    def show(self, answer: pd.DataFrame, results: PairResults) -> Sequence[ShownTable]:
        """Return for each group the heads that prefer either word most, and that whose preference changes most."""
        return (attractors_table(answer),)

    def draw(self, answer: pd.DataFrame, results: PairResults, title: str) -> Mapping[str, Figure]:
        """Draw the attention of all heads to both words."""
        return {"pairs_attractors": attractors_figure(answer, title=title)}

    def explore(self, answer: pd.DataFrame, counts: PairCounts, results: PairResults, kind: str) -> Contribution:
        """Add the attention of each head over all pairs, and say which heads attend to the attractor."""
        total = answer[answer["group"] == ALL]
        measures = tuple(head_measures(ATTRACTORS, total, lambda column: f"attractors/{column}/{kind}", kind=kind))
        is_share = not kind or get_kind(kind).rows_sum_to_one  # norms are no shares of attention
        return Contribution(measures=measures, findings=tuple(_findings(total, kind)) if is_share else ())


def _tables(counts: PairCounts, metric: AttractorAttention) -> Iterator[pd.DataFrame]:
    """Yield the rows of each group that has pairs which name their words."""
    found = metric.compute()
    values = np.full((len(counts.pairs), *found.shape[1:]), np.nan)  # of all pairs, in their order
    nearer = np.zeros(len(counts.pairs), dtype=bool)
    order = {pair: row for row, pair in enumerate(counts.pairs["pair"])}
    for of_pair, pair, (start, stop, noun, attractor, *_) in zip(found, metric.ids, metric.places, strict=True):
        values[order[pair]] = of_pair
        nearer[order[pair]] = _distance(attractor, start, stop) < _distance(noun, start, stop)
    both = ~np.isnan(values).any(axis=(1, 2, 3, 4))
    layer, head = np.indices(values.shape[3:]).reshape(2, -1) + 1
    preference = values[:, :, 0] - values[:, :, 1]  # (pairs, sentences, layers, heads)
    changes = preference[:, 0] - preference[:, 1]
    for name, chosen in counts.groups.items():
        used = chosen & both
        if not used.any():
            continue
        columns: dict[str, Any] = {"pairs": int(used.sum()), "nearer": int((used & nearer).sum())}
        for side, end in enumerate((GOOD, BAD)):
            columns |= {f"{word}_{end}": values[used, side, place].mean(0) for place, word in enumerate(WORDS)}
        for column, of_pairs in (("preference", preference[:, 0]), ("change", changes)):
            mean, low, high = counts.means(of_pairs, used)
            columns |= {column: mean, f"{column}_low": low, f"{column}_high": high}
        columns |= _band(counts, changes, used, columns["change_low"])
        flat = {column: value if isinstance(value, int) else value.ravel() for column, value in columns.items()}
        yield pd.DataFrame({"layer": layer, "head": head, "group": name, **flat})


def _distance(word: int, start: int, stop: int) -> int:
    """Return how far a word is from those that differ."""
    return max(start - word, word - stop + 1, 0)


def _band(counts: PairCounts, values: Any, used: Any, low: Any) -> dict[str, Any]:
    """Return the intervals that hold for all heads together; NaN where single heads have none, either."""
    if np.isnan(low).any():
        return {"band_low": low, "band_high": low}
    weights, of_heads = counts.weights(used), values[used].reshape(used.sum(), -1)
    drawn = (weights @ of_heads / weights.sum(1, keepdims=True)).T
    bands = np.array(simultaneous_intervals([*zip(of_heads.mean(0), drawn, strict=True)]))
    return {"band_low": bands[:, 0], "band_high": bands[:, 1]}


def extremes(of_group: pd.DataFrame) -> dict[int, list[str]]:
    """Return which heads of a group stand out, by their rows, and in what."""
    named: dict[int, list[str]] = {}
    for row, why in (
        (of_group["preference"].idxmax(), "prefers the head noun"),
        (of_group["preference"].idxmin(), "prefers the attractor"),
        (of_group["change"].abs().idxmax(), "changes"),
    ):
        named.setdefault(cast(int, row), []).append(why)
    return named


def attractors_table(table: pd.DataFrame) -> ShownTable:
    """Return for each group the heads that stand out."""
    rows = [
        {**rows_of(table.loc[[row]])[0], "why": ", ".join(whys)}
        for _, of_group in table.groupby("group", sort=False)
        for row, whys in extremes(of_group).items()
    ]
    columns = [
        TableColumn("group", "text", "", "group"),
        TableColumn("head", "text", "", "head", cell=lambda row: head_name(row["layer"], row["head"])),
        TableColumn("why", "text", "", "most of all heads"),
        TableColumn("head_good", "share", "", "head noun"),
        TableColumn("attractor_good", "share", "", "attractor"),
        TableColumn(
            "preference preference_low preference_high", "points", "", "difference", beside=bounds("preference")
        ),
        TableColumn("change change_low change_high", "points", "", "good − bad", beside=bounds("change")),
        TableColumn("pairs", "count", "", "pairs"),
    ]
    title = "Attention of the words that differ to the head noun and to the attractor (%), acceptable sentences"
    return ShownTable(ATTRACTORS.name, title, columns, rows, uncertain=WITHOUT_INTERVAL)


@with_style
def attractors_figure(table: pd.DataFrame, *, most: int = 6, heads: int = 8, title: str = "") -> Figure:
    """Draw the attention to both words in each sentence, for the heads of each group that attend to either most."""
    groups = [*dict.fromkeys(table["group"])]
    shown = [group for group in groups if group != ALL][:most] or groups
    columns = min(3, len(shown))
    lines = math.ceil(len(shown) / columns)
    width = COLUMN if columns == 1 else TEXT
    figure, grid = panels(width, 0.7 + lines * (0.6 + 0.16 * heads), lines, columns)
    for axes, group in zip(grid.flat, shown, strict=False):
        rows = table[table["group"] == group]
        rows = rows.loc[rows[["head_good", "attractor_good"]].max(axis=1).nlargest(heads).index]
        for word, color, label in (("head", BLUE, "head noun"), ("attractor", ORANGE, "attractor")):
            good, bad = (100 * rows[f"{word}_{end}"].to_numpy() for end in (GOOD, BAD))
            places = np.arange(len(rows)) + (-0.15 if word == "head" else 0.15)
            axes.hlines(places, good, bad, color=color, lw=0.8, zorder=1)
            for values, marker, fill, end in ((good, "o", color, "acceptable"), (bad, "s", "none", "other")):
                axes.plot(
                    values, places, ls="", marker=marker, ms=3.2, mew=0.8, color=color, mfc=fill,
                    label=f"{label}, {end} sentence", zorder=2,
                )  # fmt: skip
        axes.set_yticks(range(len(rows)), names_of(rows))
        axes.invert_yaxis()
        axes.set_xlim(left=-0.03 * axes.get_xlim()[1])
        axes.grid(axis="x")
        axes.set_title(f"{group}\n({amount(int(rows['pairs'].iloc[0]), 'pairs')})")
        axes.set_xlabel("attention (%)")
    for axes in grid.flat[len(shown) :]:
        axes.set_visible(False)
    finish(figure, grid[0, 0], title)
    return figure


def _findings(total: pd.DataFrame, kind: str) -> Iterator[Finding]:
    """Say which heads prefer either word, and whether heads tell the two sentences apart."""
    rows = rows_of(total)
    of_map = "" if kind in ("", "weight") else f" (map “{kind}”)"
    most, least = (choose(rows, key=lambda row: row["preference"]) for choose in (max, min))
    if most["preference_low"] > 0:
        nearer = f"the attractor is nearer in {most['nearer']} of {amount(most['pairs'], 'pairs')}"
        yield Finding(
            f"{percent(most['preference'], sign=True)} points {_interval(most, 'preference')} more of the attention of "
            f"the words that differ goes to the head noun than to the attractor in head {_name(most)}{of_map}, the "
            f"most of {amount(len(rows), 'heads')}; it is {percent(least['preference'], sign=True)} points in head "
            f"{_name(least)}, and {nearer}.",
            address(head=_name(most), measure=f"attractors/preference/{kind}"),
        )
    clear = [row for row in rows if row["band_low"] > 0 or row["band_high"] < 0]
    if clear:
        top = max(clear, key=lambda row: abs(row["change"]))
        yield Finding(
            f"{percent(top['change'], sign=True)} points {_interval(top, 'band')} is how much the preference of head "
            f"{_name(top)}{of_map} for the head noun, against the attractor, changes from the other sentence to the "
            f"acceptable one, the most of {amount(len(rows), 'heads')}; the intervals of {len(clear)} that hold for "
            f"all heads together {verb(len(clear), 'exclude', 'excludes')} 0.",
            address(head=_name(top), measure=f"attractors/change/{kind}"),
        )


def _interval(row: Row, name: str) -> str:
    return interval(row[f"{name}_low"], row[f"{name}_high"])


def _name(row: Row) -> str:
    return head_name(row["layer"], row["head"])
