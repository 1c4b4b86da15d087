"""The figures of the dependency report, drawn to be legible at the width of a journal column or page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...reports.drawing import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    ORANGE,
    PAGE,
    PURPLE,
    TEXT,
    finish,
    panel,
    panels,
    styled,
)
from ...reports.format import best_head, head_name, shown_rows
from ...reports.shapes import heads_map, intervals, mark_head, name_rows
from ..shared.explored import address
from .accuracy import TOTALS


@styled
def best_heads_figure(
    best: pd.DataFrame, *, min_count: int, title: str = "", ensembles: pd.DataFrame | None = None
) -> Figure:
    """Draw the accuracy of the best head per relation with its interval, beside that of the best fixed offset."""
    all_rows = list(shown_rows(best, min_count))
    rows = [row for row in all_rows if row["is_frequent"]] or all_rows
    figure, axes = panel(COLUMN, 1.9 + 0.17 * len(rows))  # inches around the rows, and of each row
    y = np.arange(len(rows))
    low, high = (100 * np.array([row[f"accuracy_{end}"] for row in rows]) for end in ("low", "high"))
    links = [_link(row["layer"], row["head"], row["relation"], row["direction"]) for row in rows]
    intervals(axes, y, low, high, urls=links)

    def mark(column: str, marker: str, color: str, label: str, **style: Any) -> None:
        style = {"ms": 4.5, "zorder": 3, **style}
        axes.plot([100 * row[column] for row in rows], y, marker, color=color, label=label, **style)

    mark("accuracy", "o", BLUE, "best head" + (" (95 % interval)" if np.isfinite(low).any() else ""))
    mark("heldout_accuracy", "|", BLACK, "chosen on one half, scored on the other", ms=8, mew=1.2, zorder=4)
    mark("offset_accuracy", "D", ORANGE, "best fixed offset", mfc="none")
    if "tag_rule_heldout" in best:
        mark("tag_rule_heldout", "s", PURPLE, "nearest word by part of speech", mfc="none", ms=4)
    if "control_accuracy" in best:
        mark("control_accuracy", "x", GREY, "best head, random weights")
    if ensembles is not None and len(ensembles):
        accuracies = dict(zip(ensembles["relation"], ensembles["heldout_accuracy"], strict=True))
        for row in rows:
            row["ensemble_accuracy"] = accuracies.get(row["relation"], math.nan)
        mark("ensemble_accuracy", "^", GREEN, "ensemble, scored on the other half", mfc="none")
    axes.set_xlim(0, 100)
    axes.set_xlabel("words whose head is found (%)")
    names = [f"{row['relation']} (n = {row['total']:,})" for row in rows]
    name_rows(axes, names, [best_head(row) for row in rows], heading="best head", links=links)
    if n_totals := sum(row["relation"] in TOTALS for row in rows):
        axes.axhline(n_totals - 0.5, color=GREY, lw=0.6)  # between the last total and the first relation
    finish(figure, axes, title)
    return figure


@styled
def heads_figure(cells: pd.DataFrame, best: pd.DataFrame, *, most: int = 12, title: str = "") -> Figure:
    """Draw layer × head heatmaps of the most frequent relations; the better direction of each head is shown."""
    rows = [row for row in shown_rows(best, 0) if row["relation"] not in TOTALS and row["total"]][:most]
    n_layers, n_heads = int(cells["layer"].max()), int(cells["head"].max())
    columns = min(4, max(1, len(rows)))
    lines = math.ceil(len(rows) / columns) or 1
    height = 0.5 + lines * (0.4 + 1.4 * min(n_layers / max(n_heads, 1), 1.2))
    figure, grid = panels(TEXT, height, lines, columns, sharex=True, sharey=True)
    cells_drawn = None
    for axes, row in zip(grid.flat, rows, strict=False):
        of_relation = cells[cells["relation"] == row["relation"]]
        better = of_relation.loc[of_relation.groupby(["layer", "head"])["accuracy"].idxmax()]
        table = better.pivot_table(index="layer", columns="head", values="accuracy")
        directions = better.set_index(["layer", "head"])["direction"].to_dict()
        cells_drawn = heads_map(axes, table, partial(_cell_link, row["relation"], directions))
        mark_head(axes, row["layer"], row["head"])
        axes.set_title(f"{row['relation']}: {best_head(row)}, {100 * row['accuracy']:.0f} %")
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
