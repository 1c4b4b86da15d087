"""The figures of the dependency report, drawn to be legible at the width of a journal column or page."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...reports.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, heads_map, name_rows, panels, styled
from ...reports.format import best_head, shown_rows
from .tables import TOTALS


@styled
def best_heads_figure(
    best: pd.DataFrame, *, min_count: int, title: str = "", ensembles: pd.DataFrame | None = None
) -> Figure:
    """Draw the accuracy of the best head per relation with its interval, beside that of the best fixed offset."""
    all_rows = list(shown_rows(best, min_count))
    rows = [row for row in all_rows if row["is_frequent"]] or all_rows
    figure, ((axes,),) = panels(5.2, 1.25 + 0.21 * len(rows))
    y = np.arange(len(rows))
    low, high = (100 * np.array([row[f"accuracy_{end}"] for row in rows]) for end in ("low", "high"))
    axes.hlines(y, low, high, color=BLUE, lw=1.6, alpha=0.6, zorder=2)
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
    name_rows(axes, [f"{row['relation']} (n = {row['total']:,})" for row in rows], [best_head(row) for row in rows])
    if any(row["relation"] in TOTALS for row in rows):
        axes.axhline(sum(row["relation"] in TOTALS for row in rows) - 0.5, color=GREY, lw=0.6)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, handletextpad=0.4)
    axes.set_title(title, loc="left")
    return figure


@styled
def heads_figure(cells: pd.DataFrame, best: pd.DataFrame, *, most: int = 12, title: str = "") -> Figure:
    """Draw layer × head heatmaps of the most frequent relations; the better direction of each head is shown."""
    rows = [row for row in shown_rows(best, 0) if row["relation"] not in TOTALS and row["total"]][:most]
    n_layers, n_heads = int(cells["layer"].max()), int(cells["head"].max())
    columns = min(4, max(1, len(rows)))
    lines = math.ceil(len(rows) / columns) or 1
    height = lines * (0.55 + 1.6 * min(n_layers / max(n_heads, 1), 1.2))
    figure, grid = panels(1.75 * columns + 0.6, height, lines, columns, sharex=True, sharey=True)
    image = None
    for axes, row in zip(grid.flat, rows, strict=False):
        of_relation = cells[cells["relation"] == row["relation"]]
        table = of_relation.pivot_table(index="layer", columns="head", values="accuracy", aggfunc="max")
        image = heads_map(axes, table)
        axes.plot(row["head"] - 1, row["layer"] - 1, "s", mfc="none", mec=ORANGE, ms=6, mew=1.4)
        axes.set_title(f"{row['relation']}: {best_head(row)}, {100 * row['accuracy']:.0f} %")
    for axes in grid.flat[len(rows) :]:
        axes.set_visible(False)
    figure.supxlabel("head", fontsize=8)
    figure.supylabel("layer", fontsize=8)
    figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    if image is not None:
        figure.colorbar(image, ax=grid, label="accuracy (%), better direction", shrink=0.8, pad=0.01)
    return figure
