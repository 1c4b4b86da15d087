"""The figures of the alignment analysis: error rates by layer and by head, and one sentence pair as matrices."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...reports.drawing import BLUE, GREEN, ORANGE, STYLE, by_layer, finish, heads_map
from .example import AlignedExample
from .results import AlignmentResults
from .series import FORWARD, SINGLE, TOGETHER

Array = npt.NDArray[np.float64]

_COLORS = (BLUE, ORANGE, GREEN)


def alignment_figures(results: AlignmentResults, title: str) -> dict[str, Figure]:
    """Draw all figures, by the names of their files."""
    figures = {"alignment_layers": error_figure(results.tables.cells, title=title)}
    if results.has_gold:
        figures["alignment_heads"] = heads_figure(results.tables.cells, title=title)
    if results.example is not None:
        figures["alignment_example"] = example_figure(results.example, title=title)
    return figures


def error_figure(cells: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the error rate of all heads together by layer, and the share of target words that rest on special tokens.

    Without gold links, only the second is drawn.
    """
    together = cells[(cells["heads"] == TOGETHER) & (cells["direction"] == FORWARD)]
    has_gold = "error_rate" in cells
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.9 if has_gold else 3.5, 2.8), layout="constrained")
        panels = list(figure.subplots(1, 2, squeeze=False)[0]) if has_gold else [figure.subplots()]
        for number, (setting, of_setting) in enumerate(together.groupby("setting")):
            color, marker = _COLORS[number], "os^"[number]
            for measure, rows in of_setting.groupby("measure"):
                line = "--" if measure == "weight" else "-"
                style: dict[str, Any] = {"color": color, "ls": line, "marker": marker, "ms": 4}
                style["label"] = f"{setting}, {measure}"
                if has_gold:
                    panels[0].plot(rows["layer"], 100 * rows["error_rate"], **style)
                    if rows["low"].notna().all():
                        panels[0].vlines(rows["layer"], 100 * rows["low"], 100 * rows["high"], color=color, lw=0.8)
                    style["label"] = ""
                panels[-1].plot(rows["layer"], 100 * rows["on_special"], **style)
        labels = (["alignment error rate (%)"] if has_gold else []) + ["words on special tokens (%)"]
        for axes, label in zip(panels, labels, strict=True):
            by_layer(axes, together["layer"], label)
            axes.set_ylim(-2, 102)
        finish(figure, panels[0], title)
    return figure


def heads_figure(cells: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the error rate of every head as heatmaps of layers and heads, one for each setting and measure."""
    single = cells[cells["heads"] == SINGLE]
    groups = list(single.groupby(["setting", "measure"]))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.9 * max(2, len(groups)), 2.6), layout="constrained")
        panels = figure.subplots(1, max(1, len(groups)), sharey=True, squeeze=False)[0]
        for axes, ((setting, measure), rows) in zip(panels, groups, strict=False):
            heads_map(axes, rows.pivot_table("error_rate", "layer", "head"))
            axes.set_title(f"{setting}, {measure}")
            axes.set_xlabel("head")
        panels[0].set_ylabel("layer")
        if groups:  # all panels have the same colors
            figure.colorbar(panels[0].images[0], ax=list(panels), label="alignment error rate (%)", shrink=0.9)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure


def example_figure(example: AlignedExample, *, title: str = "") -> Figure:
    """Draw a sentence pair as matrices from target words to source words: gold links, and each measure."""
    has_gold = bool(example.possible)
    panels = len(example.maps) + has_gold
    height, width = 0.19 * len(example.rows) + 1.3, 0.19 * len(example.columns) + 0.5
    words = [column for column, special in enumerate(example.special) if not special]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(min(12.0, width * panels + 0.9), height), layout="constrained")
        drawn = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
        empty = np.zeros((len(example.rows), len(example.columns)))
        matrices = [("gold links", empty)] if has_gold else []
        matrices += [
            (f"{each.measure}, {example.setting}", _by_largest(np.array(each.values))) for each in example.maps
        ]
        for axes, (name, values) in zip(drawn, matrices, strict=True):
            axes.imshow(values, vmin=0, vmax=1, cmap="Greys", aspect="equal")
            axes.set_xticks(range(len(example.columns)), list(example.columns), rotation=90)
            axes.set_yticks(range(len(example.rows)), list(example.rows))
            axes.tick_params(length=0)
            axes.set_title(name)
            for link in example.possible:
                _mark(axes, words[link[0]], link[1], sure=link in example.sure, filled=name == "gold links")
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
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
