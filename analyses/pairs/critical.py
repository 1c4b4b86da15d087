"""Where does the model attend at the words that differ? Attention to what both sentences have before them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...extractors import MapBatch
from ...reports.columns import Explored, Schema, TableColumn, bounds
from ...reports.explorer.contribution import Contribution
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..contract import Request
from ..counting.counting import CountMaps
from ..counting.exact_sums import to_fixed_point
from ..dependency.decisions import word_positions
from ..shared.measures import head_measures
from .attention import PairAttention
from .rows import ALL, WITHOUT_INTERVAL, PairCounts, PairQuestion, PairResults, PlanContext

CHANGE = "difference difference_low difference_high"
"""The columns of a difference and its interval."""

_NOTE = "Attention of the words that differ to those before them, the acceptable sentence minus the other."

CRITICAL = Schema(
    "pairs_attention",
    "One row per head and group, and one of all pairs.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("group", "text", "the group, or `all`"),
        TableColumn("pairs", "count", "pairs with words before those that differ"),
        TableColumn("good", "share", "attention of the words that differ to those before them, acceptable sentence"),
        TableColumn("bad", "share", "the same in the other sentence"),
        TableColumn(
            CHANGE,
            "points",
            "`good` − `bad`, and its 95 % interval over pairs",
            explored=Explored("minimal pairs", "attention to what precedes, good − bad", _NOTE),
        ),
    ),
)


class CriticalAttention(PairAttention):
    """The attention of the words that differ to all words before them, as a mean over these words.

    Args:
        n_layers, n_heads: the shape of the maps.
        ids: the ids of the pairs.
        places: for each pair, the first word that differs, and the ends of those of both sentences.
    """

    def update(self, batch: MapBatch) -> None:
        """Add the sentences of a batch at word level.

        Raises:
            ExactSumError: a value is not finite.
        """
        position = word_positions(batch)
        for index, sentence in enumerate(batch.sentences):
            row, column = self.place[sentence.id]
            start, stop = self.places[row][0], self.places[row][1 + column]
            if not 0 < start < stop:  # nothing precedes, or nothing is there that the other sentence has not
                continue
            words, before = position[index, start:stop], position[index, :start]
            maps = batch.maps[index].cpu().double()
            self.attention[row, column] += to_fixed_point(maps[:, :, words[:, None], before].sum(-1).mean(-1))
            self.read[row, column] += 1


class Critical(PairQuestion):
    """How much do heads attend to what precedes the words that differ?"""

    name = "critical"
    tables = (CRITICAL,)
    template = Path(__file__).with_name("critical.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Read the maps of all sentences."""
        pairs = plan_context.pairs
        places = tuple(
            zip(pairs["start"].tolist(), pairs["good_stop"].tolist(), pairs["bad_stop"].tolist(), strict=True)
        )
        counting = CountMaps(CriticalAttention, (("ids", tuple(pairs["pair"])), ("places", places)))
        return (
            Request(
                f"pairs/{plan_context.maker.kind}", "pairs", plan_context.setting.corpus, plan_context.maker, counting
            ),
        )

    def find(self, counts: PairCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the table of heads."""
        (metric,) = counts.metrics_of(self.name, CriticalAttention)
        values = metric.compute()
        layer, head = np.indices(values.shape[2:]).reshape(2, -1) + 1
        both = ~np.isnan(values).any(axis=(1, 2, 3))
        tables = []
        for name, chosen in counts.groups.items():
            used = chosen & both
            if not used.any():
                continue
            difference, low, high = counts.means(values[:, 0] - values[:, 1], used)
            good, bad = values[used].mean(0)
            columns = {
                "good": good,
                "bad": bad,
                "difference": difference,
                "difference_low": low,
                "difference_high": high,
            }
            table = pd.DataFrame({"layer": layer, "head": head, "group": name, "pairs": int(used.sum())})
            tables.append(table.assign(**{column: array.ravel() for column, array in columns.items()}))
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=CRITICAL.names)

    def frames(self, answer: pd.DataFrame, results: PairResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {CRITICAL.name: answer}

    def show(self, answer: pd.DataFrame, results: PairResults) -> Sequence[ShownTable]:
        """Return for each group the head whose attention differs most."""
        return (critical_table(answer),)

    def values(self, answer: pd.DataFrame, results: PairResults) -> Mapping[str, Any]:
        """Return the notes."""
        return {"notes": results.notes}

    def explore(self, answer: pd.DataFrame, counts: PairCounts, results: PairResults, kind: str) -> Contribution:
        """Add the difference of each head over all pairs."""
        total = answer[answer["group"] == ALL]
        measures = head_measures(CRITICAL, total, lambda column: f"pairs/{column}/{kind}", kind=kind, center=0.0)
        return Contribution(measures=tuple(measures) if len(total) else ())


def critical_table(table: pd.DataFrame) -> ShownTable:
    """Return for each group the head whose attention to what precedes differs most between the two sentences."""
    columns = [
        TableColumn("group", "text", "", "group"),
        TableColumn("head", "text", "", "head", cell=lambda row: f"{row['layer']}-{row['head']}"),
        TableColumn("good", "share", "", "good"),
        TableColumn("bad", "share", "", "bad"),
        TableColumn(
            "difference difference_low difference_high", "points", "", "good − bad", beside=bounds("difference")
        ),
        TableColumn("pairs", "count", "", "pairs"),
    ]
    largest = table["difference"].abs().groupby(table["group"], sort=False).idxmax()
    title = "Attention of the words that differ to all words before them (%), the head that differs most"
    return ShownTable("pairs_critical", title, columns, rows_of(table.loc[largest]), uncertain=WITHOUT_INTERVAL)
