"""The figures of the alignment analysis: error rates by layer and by head, and one sentence pair as matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...reports.drawing import BLUE, COLUMN, GREEN, ORANGE, PAGE, REVERSED, TEXT, by_layer, finish, panels, styled
from ...reports.format import head_name, rows_of
from ...reports.shapes import heads_map, heatmap, mark_head
from ..shared.explored import address
from .example import AlignedExample
from .results import AlignmentResults
from .series import FORWARD, SINGLE, TOGETHER

Array = npt.NDArray[np.float64]


def alignment_figures(results: AlignmentResults, title: str) -> dict[str, Figure]:
    """Draw all figures, by the names of their files."""
    figures = {"alignment_layers": error_figure(results.tables.cells, title=title)}
    if results.has_gold:
        figures["alignment_heads"] = heads_figure(results.tables.cells, title=title)
    if results.example is not None:
        figures["alignment_example"] = example_figure(results.example, title=title)
    return figures


@styled
def error_figure(cells: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the error rate of all heads together by layer, and the share of target words that rest on special tokens.

    The error rates are in the first panel, and are missing without gold links; the shares are in the last one.
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
    labels = (["alignment error rate (%)"] if has_gold else []) + ["words on special tokens (%)"]
    for axes, label in zip(grid, labels, strict=True):
        by_layer(axes, together["layer"], label)
        axes.set_ylim(-2, 102)
    finish(figure, grid[0], title)
    return figure


@styled
def heads_figure(cells: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the error rate of every head as heatmaps of layers and heads, one for each setting and measure.

    Few errors are dark, the head with the fewest is marked, and each cell leads to the sentence pairs of its head.
    """
    single = cells[cells["heads"] == SINGLE]
    groups = list(single.groupby(["setting", "measure"]))
    columns = min(2, max(1, len(groups)))
    lines = math.ceil(len(groups) / columns) or 1
    figure, grid = panels(TEXT if columns == 2 else COLUMN, 0.5 + 1.8 * lines, lines, columns, sharex=True, sharey=True)
    for axes, ((setting, measure), rows) in zip(grid.flat, groups, strict=False):
        table = rows.pivot_table("error_rate", "layer", "head")
        drawn = heads_map(axes, table, lambda layer, head: PAGE + address(head=head_name(layer, head)), colors=REVERSED)
        fewest = rows_of(rows.nsmallest(1, "error_rate"))[0]
        layer, head = int(fewest["layer"]), int(fewest["head"])
        mark_head(axes, layer, head)
        axes.set_title(f"{setting}, {measure}: {head_name(layer, head)}, {100 * fewest['error_rate']:.0f} %")
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    figure.supxlabel("head", fontsize=7.5)
    figure.supylabel("layer", fontsize=7.5)
    finish(figure, grid[0, 0], title)
    if groups:  # all panels have the same colors
        figure.colorbar(drawn, ax=grid, label="alignment error rate (%)", shrink=0.9)
    return figure


@styled
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
