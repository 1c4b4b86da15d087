"""The figures of the analysis of surface patterns: where heads attend, how broadly, and how much of it matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ...reports.drawing import (
    BLACK,
    BLUE,
    CLASSES,
    COLUMN,
    ORANGE,
    PAGE,
    TEXT,
    by_layer,
    finish,
    layer_line,
    number_ticks,
    panels,
    styled,
)
from ...reports.shapes import heatmap
from ..shared.explored import address, names_of
from .shown_tables import SurfaceResults, class_names, has
from .statistics import LEARNED_SINK

_WIDTHS = {1: COLUMN, 2: TEXT}
"""The width of a figure by its panels."""

_PANELS = (
    ("previous", "to the previous token (%)"),
    ("next", "to the next token (%)"),
    ("self", "to itself (%)"),
    ("first_special", "to {first} (%)"),
    ("last_special", "to {last} (%)"),
    ("punctuation", "to punctuation (%)"),
    (LEARNED_SINK, "to the learned sink (%)"),
)


def surface_figures(results: SurfaceResults, title: str) -> dict[str, Figure]:
    """Draw all figures, by the names of their files. Those that the template does not place follow at its end."""
    heads, layers, offsets, _ = results.tables
    figures = {
        "surface_statistics": statistics_figure(heads, results.specials, title=title),
        "surface_offsets": offsets_figure(offsets, title=title),
        "surface_entropy": entropy_figure(heads, layers, results.specials, title=title),
    }
    if results.specials:
        figures["surface_special"] = special_figure(heads, results.specials, title=title)
    if results.gradients is not None:
        figures["surface_gradients"] = gradients_figure(results.gradients, results.specials, title=title)
    return figures


@styled
def statistics_figure(heads: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """Draw attention to neighbors, special tokens and punctuation: a dot per head, and a line through the means."""
    # Each panel has its own axis, because attention to neighbors is often a tenth of that to special tokens.
    names = {"first": specials.get("first_special", "–"), "last": specials.get("last_special", "–")}
    shown = [(statistic, label) for statistic, label in _PANELS if has(heads, statistic)]
    rows = -(-len(shown) // 3)
    figure, grid = panels(TEXT, 1.9 * rows, rows, 3)
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    for axes, (statistic, label) in zip(grid.flat[: len(shown)], shown, strict=True):
        percentages = heads[statistic] * 100
        _dots(axes, heads, percentages, label.format(**names))
        axes.set_ylim(0, 1.06 * max(1.0, float(percentages.max())))
    for axes in grid.flat[: len(shown) - 3]:  # those with a panel below
        axes.set_xlabel("")
    finish(figure, grid[0, 0], title)
    return figure


@styled
def special_figure(heads: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """Draw attention to special tokens from themselves and from all others (Clark et al. 2019, Figure 2 below)."""
    shown = [(end, specials[f"{end}_special"]) for end in ("first", "last") if f"{end}_special" in specials]
    figure, grid = panels(_WIDTHS[len(shown)], 2.6, columns=len(shown), sharey=True)
    for axes, (end, name) in zip(grid.flat, shown, strict=True):
        for column, source, color, marker in (
            (f"rest_to_{end}", "all others", BLUE, "o"),
            (f"{end}_to_{end}", "themselves", ORANGE, "s"),
        ):
            _dots(axes, heads, heads[column] * 100, f"attention to {name} (%)", f"from {source}", color, marker)
        axes.set_ylim(-2, 102)
    finish(figure, grid[0, 0], title)
    return figure


@styled
def entropy_figure(
    heads: pd.DataFrame, layers: pd.DataFrame, specials: Mapping[str, str], *, title: str = ""
) -> Figure:
    """Draw the entropy of all rows and of the first special token's row, with the entropy of uniform attention."""
    shown = [("entropy", "entropy of all rows (nats)")]
    if "first_special" in specials:
        shown.append(("entropy_first", f"entropy of the row of {specials['first_special']} (nats)"))
    uniform = float(layers["uniform_entropy"].iloc[0])
    figure, grid = panels(_WIDTHS[len(shown)], 2.6, columns=len(shown), sharey=True)
    for axes, (statistic, label) in zip(grid.flat, shown, strict=True):
        _dots(axes, heads, heads[statistic], label)
        axes.axhline(uniform, color=ORANGE, lw=1, ls="--", label="uniform attention", zorder=1)
        axes.set_ylim(0, uniform * 1.06)
    finish(figure, grid[0, 0], title)
    return figure


@styled
def gradients_figure(gradients: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """Draw how much the loss depends on attention, and beside it where attention goes, by layer (mean over heads)."""
    names = class_names(specials)
    figure, ((left, right),) = panels(TEXT, 2.6, columns=2)
    for name, group in gradients.groupby("class", sort=False):
        means = group.groupby("layer")[["gradient", "attention"]].mean()
        for axes, values in ((left, means["gradient"]), (right, means["attention"] * 100)):
            layer_line(axes, values, *CLASSES[str(name)], names.get(str(name), str(name)))
    left.set_yscale("log")
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    right.set_ylim(bottom=0)
    by_layer(left, gradients["layer"], "mean |∂L/∂α|, per weight")
    by_layer(right, gradients["layer"], "share of attention (%)")
    finish(figure, left, title)
    return figure


@styled
def offsets_figure(offsets: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw attention by offset, with a row per layer: the mean over heads, and the head with the most attention."""
    n_layers = int(offsets["layer"].max())
    figure, (grid,) = panels(TEXT, 1.6 + 0.15 * min(n_layers, 24), columns=2, sharey=True)
    by_head = offsets.pivot_table(index=["layer", "head"], columns="offset", values="attention") * 100
    tables = {"mean over heads": by_head.groupby("layer").mean(), "head with most": by_head.groupby("layer").max()}
    for axes, (name, table) in zip(grid, tables.items(), strict=True):
        cells = heatmap(axes, table, 0, float(np.nanmax(table.to_numpy())))
        n_offsets = table.shape[1]
        ticks = range(0, n_offsets, max(1, n_offsets // 11))
        # With a sign, except for 0.
        labels = [f"{int(table.columns[index]):+d}".replace("-", "−").replace("+0", "0") for index in ticks]
        axes.set_xticks(ticks, labels)
        number_ticks(axes.yaxis, n_layers)
        axes.set_title(name, loc="left")
        axes.set_xlabel("offset (+1: the next token)")
        figure.colorbar(cells, ax=axes, label="attention (%)", location="bottom", aspect=30)
    grid[0].set_ylabel("layer")
    finish(figure, grid[0], " · ".join(filter(None, [title, "attention by offset"])))
    return figure


def _dots(
    axes: Axes, heads: pd.DataFrame, values: pd.Series, label: str, name: str = "", color: str = BLUE, marker: str = "o"
) -> None:
    """Draw a dot per head by layer, and the mean of each layer, in one color if there is a name for both."""
    table = heads[["layer"]].assign(value=values)
    means = table.groupby("layer")["value"].mean()
    dot_label, line_label = (f"{name}: head", f"{name}: mean") if name else ("head", "mean of the layer")
    links = [PAGE + address(head=name) for name in names_of(heads)]
    style: dict[str, Any] = {"marker": marker, "color": color, "alpha": 0.55, "linewidths": 0, "label": dot_label}
    axes.scatter(table["layer"], table["value"], s=9, **style, urls=links, zorder=2)
    axes.plot(means.index, means, "-", color=color if name else BLACK, lw=1.2, label=line_label, zorder=3)
    by_layer(axes, table["layer"], label)
