"""The figures of the dependency report, drawn to be legible at the width of a journal column or page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...reports.drawing import (
    BLACK,
    BLUE,
    COLUMN,
    GREY,
    ORANGE,
    PAGE,
    TEXT,
    finish,
    panel,
    panels,
    with_style,
)
from ...reports.format import ARROWS, best_head, head_name, rows_of, shown_rows
from ...reports.shapes import heads_map, intervals, mark_head, row_columns
from ..shared.measures import address
from .accuracy import TOTALS

Row = dict[str, Any]

_TAG_RULES = ("tag_offset_heldout", "tag_rule_heldout")
_SHORT = {"all-nopunct": "  -nopunct", "all-nopunct-noroot": "  -noroot"}  # below “all”, each without more words
_LEAST = 0.55  # of the width of a figure in which marks are
_MARGIN = 0.07  # inches


class Mark(NamedTuple):
    """How the values of a column are drawn: a marker, its color, its name in the legend and its size."""

    column: str
    marker: str
    color: str
    label: str
    size: float = 4.5


@with_style
def best_heads_figure(best: pd.DataFrame, *, min_count: int, title: str = "") -> Figure:
    """Draw the accuracy of the best head per relation with its interval, beside that of the best rule."""
    rows = _rank_relations(best, min_count)
    has_intervals = _is_known(rows, "accuracy_low")
    marks = [Mark("accuracy", "o", BLUE, "best head" + (" (95 % interval)" if has_intervals else ""), 3.6)]
    if _is_known(rows, "heldout_accuracy"):
        marks.append(Mark("heldout_accuracy", "|", BLACK, "chosen on one half, scored on the other", 8))
    marks.append(_rule_mark(best))
    if "control_accuracy" in best:
        marks.append(Mark("control_accuracy", "x", GREY, "best head, random weights", 4))
    return _rows_figure(rows, marks, "words whose head is found (%)", title)


@with_style
def ensembles_figure(best: pd.DataFrame, ensembles: pd.DataFrame, *, min_count: int, title: str = "") -> Figure | None:
    """Draw what several heads find together beside the best single head and the best rule, all of them held out."""
    of_relation = {row["relation"]: row for row in rows_of(ensembles)}
    rows = [row for row in _rank_relations(best, min_count) if row["relation"] in of_relation]
    for row in rows:
        together = of_relation[row["relation"]]
        row["heads"], row["single"], row["ensemble"] = (
            together[name] for name in ("heads", "single_accuracy", "heldout_accuracy")
        )
        for end in ("low", "high"):  # of the difference, from the single head
            row[f"accuracy_{end}"] = together["single_accuracy"] + together[f"gain_{end}"]
    if not _is_known(rows, "ensemble"):
        return None
    interval = " (95 % interval of the difference)" if _is_known(rows, "accuracy_low") else ""
    marks = [
        Mark("ensemble", "o", BLUE, f"several heads{interval}", 3.6),
        Mark("single", "|", BLACK, "one head", 8),
        _rule_mark(best),
    ]
    rows.sort(key=lambda row: -row["ensemble"])
    return _rows_figure(rows, marks, "words whose head is found, held out (%)", title)


def _rank_relations(best: pd.DataFrame, min_count: int) -> list[Row]:
    """Return the totals and the frequent relations, or all if none is frequent, those with the best heads first."""
    all_rows = list(shown_rows(best, min_count))
    rows = [row for row in all_rows if row["is_frequent"]] or all_rows
    for row in rows:
        row["rule"] = best_rule_accuracy(row)
    places = {name: place - len(TOTALS) for place, name in enumerate(TOTALS)}  # below 0, in their own order
    return sorted(rows, key=lambda row: places.get(row["relation"], 1 - row["accuracy"]))


def best_rule_accuracy(row: Mapping[str, Any]) -> float:
    """Return what the best of the rules finds that were counted, held out wherever the heads are."""
    of_offset = row["heldout_accuracy"] - row["heldout_gain"]
    held_out = [of_offset, *(row.get(name, math.nan) for name in _TAG_RULES)]
    return float(max((rate for rate in held_out if not math.isnan(rate)), default=row["offset_accuracy"]))


def _rule_mark(best: pd.DataFrame) -> Mark:
    has_tags = any(name in best and best[name].notna().any() for name in _TAG_RULES)
    return Mark("rule", "D", ORANGE, f"best rule ({'position or parts of speech' if has_tags else 'fixed offset'})")


def _is_known(rows: Sequence[Row], name: str) -> bool:
    return bool(np.isfinite([row[name] for row in rows]).any())


def _rows_figure(rows: Sequence[Row], marks: Sequence[Mark], label: str, title: str) -> Figure:
    """Draw a row of marks for each relation, between columns that say how many words it has and what is drawn."""
    figure, axes = panel(COLUMN, 1.35 + 0.15 * (len(rows) + len(marks)))  # inches around the rows, and of each row
    y = np.arange(len(rows))
    low, high = (100 * np.array([row[f"accuracy_{end}"] for row in rows]) for end in ("low", "high"))
    links = [_link(row["layer"], row["head"], row["relation"], row["direction"]) for row in rows]
    intervals(axes, y, low, high, lw=5, alpha=0.35, urls=links)  # wider than the marks in it
    for mark in marks:
        values = [100 * row[mark.column] for row in rows]
        look: dict[str, Any] = {"mfc": "none", "zorder": 3} if mark.marker == "D" else {"zorder": 4}
        axes.plot(values, y, mark.marker, color=mark.color, label=mark.label, ms=mark.size, clip_on=False, **look)
    axes.set_xlim(0, 100)
    axes.set_xlabel(label)
    axes.grid(axis="y")
    names = [_SHORT.get(str(row["relation"]), str(row["relation"])) for row in rows]
    numbers = [f"{row['total']:,}" for row in rows]
    heads = [str(row.get("heads") or best_head(row)) for row in rows]
    beside = row_columns(axes, {"relation": names, "n": numbers}, {"head": heads}, links=links)
    if beside + _MARGIN > (1 - _LEAST) * COLUMN:
        figure.set_figwidth(TEXT)
    if n_totals := sum(row["relation"] in TOTALS for row in rows):
        axes.axhline(n_totals - 0.5, color=GREY, lw=0.6)  # between the last total and the first relation
    finish(figure, axes, title)
    return figure


@with_style
def heads_figure(cells: pd.DataFrame, best: pd.DataFrame, *, most: int = 12, title: str = "") -> Figure:
    """Draw layer × head heatmaps of the most frequent relations; the better direction of each head is shown."""
    rows = [row for row in shown_rows(best, 0) if row["relation"] not in TOTALS and row["total"]][:most]
    n_layers, n_heads = int(cells["layer"].max()), int(cells["head"].max())
    columns = min(4, max(1, len(rows)))
    lines = math.ceil(len(rows) / columns) or 1
    height = 0.5 + lines * (0.55 + 1.4 * min(n_layers / max(n_heads, 1), 1.2))
    figure, grid = panels(TEXT, height, lines, columns, sharex=True, sharey=True)
    cells_drawn = None
    for axes, row in zip(grid.flat, rows, strict=False):
        of_relation = cells[cells["relation"] == row["relation"]]
        better = of_relation.loc[of_relation.groupby(["layer", "head"])["accuracy"].idxmax()]
        table = better.pivot_table(index="layer", columns="head", values="accuracy")
        directions = better.set_index(["layer", "head"])["direction"].to_dict()
        cells_drawn = heads_map(axes, table, partial(_cell_link, row["relation"], directions))
        mark_head(axes, row["layer"], row["head"])
        arrow = f" {ARROWS[row['direction']]}" if row["correct"] else ""
        axes.set_title(f"{row['relation']}: {100 * row['accuracy']:.0f} %\nby {best_head(row)}{arrow}")
    for axes in grid.flat[len(rows) :]:
        axes.set_visible(False)
    figure.supxlabel("head", fontsize=7.5)
    figure.supylabel("layer", fontsize=7.5)
    finish(figure, grid[0, 0], title)
    if cells_drawn is not None:
        figure.colorbar(cells_drawn, ax=grid, label="accuracy (%), better direction", shrink=0.8, pad=0.01)
    return figure


def _cell_link(relation: str, directions: Mapping[tuple[int, int], str], layer: int, head: int) -> str:
    return _link(layer, head, relation, directions[layer, head])


def _link(layer: int, head: int, relation: str, direction: str) -> str:
    """Return where a head leads: to its sentences with a relation."""
    return PAGE + address(head=head_name(layer, head), relation=relation, direction=direction)
