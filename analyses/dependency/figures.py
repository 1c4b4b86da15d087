"""The figures of the dependency report, drawn to be legible at the width of a journal column or page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

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
from .tables import TOTALS


@styled
def best_heads_figure(
    best: pd.DataFrame, *, min_count: int, title: str = "", ensembles: pd.DataFrame | None = None
) -> Figure:
    """Draw the accuracy of the best head per relation with its interval, beside that of the best fixed offset."""
    all_rows = list(shown_rows(best, min_count))
    rows = [row for row in all_rows if row["is_frequent"]] or all_rows
    figure, axes = panel(COLUMN, 1.9 + 0.17 * len(rows))
    y = np.arange(len(rows))
    low, high = (100 * np.array([row[f"accuracy_{end}"] for row in rows]) for end in ("low", "high"))
    links = [_link(row["layer"], row["head"], row["relation"], row["direction"]) for row in rows]
    intervals(axes, y, low, high, urls=links)
    label = "best head" + (" (95 % interval)" if np.isfinite(low).any() else "")
    axes.plot([100 * row["accuracy"] for row in rows], y, "o", color=BLUE, ms=4.5, label=label, zorder=3)
    heldout = [100 * row["heldout_accuracy"] for row in rows]
    axes.plot(heldout, y, "|", color=BLACK, ms=8, mew=1.2, label="chosen on one half, scored on the other", zorder=4)
    offsets = [100 * row["offset_accuracy"] for row in rows]
    axes.plot(offsets, y, "D", mfc="none", color=ORANGE, ms=4.5, label="best fixed offset", zorder=3)
    if "tag_rule_heldout" in best:
        rules = [100 * row["tag_rule_heldout"] for row in rows]
        axes.plot(rules, y, "s", mfc="none", color=PURPLE, ms=4, label="nearest word by part of speech", zorder=3)
    if "control_accuracy" in best:
        control = [100 * row["control_accuracy"] for row in rows]
        axes.plot(control, y, "x", color=GREY, ms=4.5, label="best head, random weights", zorder=3)
    if ensembles is not None and len(ensembles):
        accuracies = dict(zip(ensembles["relation"], ensembles["heldout_accuracy"], strict=True))
        together = [100 * accuracies.get(row["relation"], math.nan) for row in rows]
        axes.plot(
            together, y, "^", mfc="none", color=GREEN, ms=4.5, label="ensemble, scored on the other half", zorder=3
        )
    axes.set_xlim(0, 100)
    axes.set_xlabel("words whose head is found (%)")
    names = [f"{row['relation']} (n = {row['total']:,})" for row in rows]
    name_rows(axes, names, [best_head(row) for row in rows], heading="best head", links=links)
    if any(row["relation"] in TOTALS for row in rows):
        axes.axhline(sum(row["relation"] in TOTALS for row in rows) - 0.5, color=GREY, lw=0.6)
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
