"""How well do all heads of a layer together align words, and where do their target words rest?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...reports.columns import Explored, Row, Schema, TableColumn, bounds
from ...reports.drawing import BLUE, COLUMN, GREEN, GREY, ORANGE, TEXT, by_layer, finish, panels, with_style
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.format import head_name, number, rows_of
from ...reports.table import ShownTable
from ..contract import Request
from ..shared.measures import head_measures
from .accuracy import RESTS, AlignmentCounts
from .rows import (
    ERROR,
    LAYERS,
    SPECIAL,
    Aligned,
    AlignmentQuestion,
    AlignmentResults,
    PlanContext,
    measure_id,
    text_of,
)
from .series import FORWARD, TO_SOURCE, TOGETHER, Series


def _mean_norm(row: Row) -> str:
    """Write the mean value of a map; that of attention weights says nothing, because their rows add up to 1."""
    return number(row["size"], 4) if row["measure"] == "norm" else ""


_LABEL = "{setting}, by {measure}{together}"
"""The name of a measure in the explorer."""

CELLS = Schema(
    "alignment",
    "One row per setting, measure, layer and head.",
    (
        TableColumn("setting", "text", "`AWI` or `AWO`; for encoders, the method", "setting"),
        TableColumn("measure", "text", "`weight` or `norm`; for the method `similarity`, `cosine`", "measure"),
        TableColumn("heads", "text", "`all` for all heads of a layer together, `single` for one head"),
        TableColumn(
            "direction",
            "text",
            "`forward` for links of target words, `reverse` for links of source words, or the method by which both "
            "are combined",
        ),
        TableColumn("layer", "number from 1", "the decoder layer", "layer"),
        TableColumn("head", "number from 1", "the attention head; 0 stands for all heads together"),
        TableColumn("links sure", "count", "links that are made, and sure gold links"),
        TableColumn(
            "hits_sure hits_possible", "count", "links that are among the sure, and among the possible gold links"
        ),
        TableColumn(
            "error_rate low high",
            "share",
            "the alignment error rate",
            "error rate",
            beside=bounds(),
            explored=Explored(
                "Alignment error rate",
                _LABEL,
                "The alignment error rate of the links (Och & Ney 2003); 0 is a perfect alignment.",
                low_is_best=True,
            ),
        ),
        TableColumn("precision", "share", "the precision of the links", "precision", room="page"),
        TableColumn("recall", "share", "the recall of the links", "recall", room="page"),
        TableColumn("f1", "share", "their F1"),
        TableColumn(
            "on_special",
            "share",
            "the share of target words with their largest value on a special token; empty if `direction` is not "
            "`forward`",
            "on special tokens",
            terminal="on special",
            explored=Explored(
                "Target words on special tokens",
                _LABEL,
                "The share of target words whose largest value is on a special token, so that they have no link.",
            ),
        ),
        TableColumn("on_punctuation", "share", "the same on punctuation", "on punctuation", room="page"),
        TableColumn("on_word", "share", "the same on another word"),
        TableColumn("size", "number", "the mean of the values", "mean norm", cell=_mean_norm, room="page"),
    ),
)

WIDE = 100
"""The columns of a terminal from which on error rates have intervals."""

_HEADINGS = (
    *("layer", "setting", "measure", "error rate", "precision", "recall"),
    *("on special tokens", "on punctuation", "mean norm"),
)

_FACTS = {ERROR: "alignment error rate", SPECIAL: "rests on special tokens"}
"""The columns that the cards of heads have, with their names there."""


class Layers(AlignmentQuestion):
    """How well do all heads of a layer together align words?"""

    name = LAYERS
    tables = (CELLS,)
    template = Path(__file__).with_name("layers.html.j2")

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the links of all series in one pass of the model."""
        return plan_context.requests(plan_context.replicates)

    def find(self, counts: Aligned, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame:
        """Return the scores of all layers and heads."""
        cells = [cell_rows(series, of_series, has_gold=counts.has_gold) for series, of_series in counts.series.items()]
        return pd.concat(cells, ignore_index=True)

    def frames(self, answer: pd.DataFrame, results: AlignmentResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {CELLS.name: results.cells}

    def show(self, answer: pd.DataFrame, results: AlignmentResults) -> Sequence[ShownTable]:
        """Return the scores of all heads together, layer by layer."""
        scored = "Alignment error rate" if results.has_gold else "Target words on special tokens"
        title = f"{scored} of all heads of a layer together (%)"
        return (ShownTable("alignment_layers", title, CELLS.only(*_HEADINGS), rows_of(results.together), wide=WIDE),)

    def draw(self, answer: pd.DataFrame, results: AlignmentResults, title: str) -> Mapping[str, Figure]:
        """Draw the error rates by layer."""
        baselines = results.baselines if "baselines" in results.answers else None
        return {"alignment_layers": error_figure(results.cells, baselines, title=title)}

    def values(self, answer: pd.DataFrame, results: AlignmentResults) -> Mapping[str, Any]:
        """Return how links are made, and the layer whose links are written."""
        choice = results.chosen
        chosen_by_norm = choice.series.measure == "norm"
        return {
            "method": results.method,
            "has_gold": results.has_gold,
            "chosen": {
                "layer": choice.layer + 1,
                "setting": choice.series.setting,
                "measure": choice.series.measure,
                "reason": "whose mean norm is the largest" if chosen_by_norm else "which is two thirds of the way up",
            },
        }

    def explore(self, answer: pd.DataFrame, counts: Aligned, results: AlignmentResults, kind: str) -> Contribution:
        """Add the measures of all heads, of each by itself and of those of a layer together."""
        measures: list[Measure] = []
        for table in (results.single, results.together):
            for (setting, measure, heads), rows in table.groupby(["setting", "measure", "heads"]):
                measures += _measures(rows, Series(str(setting), str(measure), str(heads)))
        facts: dict[str, tuple[Fact, ...]] = {}  # by the name of the head
        for column, name in _FACTS.items():
            for row in rows_of(results.single) if column in results.cells else ():
                head = head_name(row["layer"], row["head"])
                facts[head] = (*facts.get(head, ()), Fact(name, text_of(column, row), measure_id(column, row)))
        phrases = _phrases(results.single) if results.has_gold else {}
        return Contribution(tuple(measures), phrases=phrases, facts=facts)


def cell_rows(series: Series, counts: AlignmentCounts, *, has_gold: bool = True) -> pd.DataFrame:
    """Return the scores of every layer and head of a series."""
    rates = counts.error_rates()  # (1 + splits + replicates, layers, heads)
    rows: list[dict[str, object]] = []
    for layer, head in np.ndindex(rates.shape[1:]):
        row = series.columns(layer, head)
        if has_gold:
            row |= {**counts.scores(layer, head), **counts.interval(rates[:, layer, head])}
        else:
            row["links"] = int(counts.links[0, layer, head, 0])
        words_on = counts.rests[layer, head]  # how many words have their largest value on each of `RESTS`
        n_words = int(words_on.sum()) or float("nan")  # none are counted unless each target word has a row of its own
        row |= {f"on_{name}": int(count) / n_words for name, count in zip(RESTS, words_on, strict=True)}
        rows.append({**row, "size": float(counts.size[layer, head])})
    return pd.DataFrame(rows)


@with_style
def error_figure(cells: pd.DataFrame, baselines: pd.DataFrame | None = None, *, title: str = "") -> Figure:
    """Draw the error rate of all heads together by layer, and the share of target words that rest on special tokens.

    The error rates are in the first panel, beside that of the best baseline, and are missing without gold links; the
    shares are in the last one.
    """
    together = cells[(cells["heads"] == TOGETHER) & (cells["direction"] == FORWARD)]
    has_gold = "error_rate" in cells
    figure, (grid,) = panels(TEXT if has_gold else COLUMN, 2.8, columns=1 + has_gold)
    looks = zip((BLUE, ORANGE, GREEN), "os^", together.groupby("setting"), strict=False)
    for color, marker, (setting, rows_of_setting) in looks:
        for measure, rows in rows_of_setting.groupby("measure"):
            line, face = ("--", "white") if measure == "weight" else ("-", color)  # marks hide most of a legend's line
            style: dict[str, Any] = {"color": color, "ls": line, "marker": marker, "mfc": face, "ms": 4}
            style["label"] = f"{setting}, {measure}"
            if has_gold:
                grid[0].plot(rows["layer"], 100 * rows["error_rate"], **style)
                if rows["low"].notna().all():
                    grid[0].vlines(rows["layer"], 100 * rows["low"], 100 * rows["high"], color=color, lw=0.8)
                style["label"] = ""  # the legend has each line once
            grid[-1].plot(rows["layer"], 100 * rows["on_special"], **style)
    if has_gold and baselines is not None:
        for best in rows_of(baselines.dropna(subset=["error_rate"]).nsmallest(1, "error_rate")):
            label = f"best baseline: {best['name']}"
            grid[0].axhline(100 * best["error_rate"], color=GREY, ls=":", lw=1.2, label=label, zorder=1)
    labels = (["alignment error rate (%)"] if has_gold else []) + ["words on special tokens (%)"]
    for axes, label in zip(grid, labels, strict=True):
        by_layer(axes, together["layer"], label)
        axes.set_ylim(-2, 102)
    finish(figure, grid[0], title)
    return figure


def _measures(rows: pd.DataFrame, series: Series) -> Iterator[Measure]:
    """Yield the measures of a series, given its rows of the table of cells."""
    together = ", all heads together" if series.heads == TOGETHER and series.measure != "cosine" else ""
    facts = {**vars(series), "together": together}
    id_of = partial(measure_id, row=vars(series))
    yield from head_measures(CELLS, rows, id_of, facts, kind=series.kind, relation="alignment", direction=TO_SOURCE)


def _phrases(single: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return what the summary of each head says: its lowest error rate."""
    phrases: dict[str, tuple[str, ...]] = {}
    known = single.dropna(subset=["error_rate"])
    for row in rows_of(known.sort_values("error_rate", ascending=False)):  # the last row of a head has the lowest
        lowest = f"has an alignment error rate of {text_of(ERROR, row)} at best, by {row['measure']} ({row['setting']})"
        phrases[head_name(row["layer"], row["head"])] = (lowest,)
    return phrases
