"""Figures with a dot for each head by layer: where heads attend, and how broadly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...reports.drawing import BLACK, BLUE, COLUMN, ORANGE, PAGE, TEXT, by_layer, finish, panels, with_style
from ..shared.measures import address, names_of
from .rows import has
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


@with_style
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


@with_style
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


@with_style
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


def _dots(
    axes: Axes, heads: pd.DataFrame, values: pd.Series, label: str, name: str = "", color: str = BLUE, marker: str = "o"
) -> None:
    """Draw a dot per head by layer, and the mean of each layer, in one color if there is a name for both.

    The line of squares is dashed, so that it is told apart in gray as well.
    """
    table = heads[["layer"]].assign(value=values)
    means = table.groupby("layer")["value"].mean()
    dot_label, line_label = (f"{name}: head", f"{name}: mean") if name else ("head", "mean of the layer")
    links = [PAGE + address(head=name) for name in names_of(heads)]
    style: dict[str, Any] = {"marker": marker, "color": color, "alpha": 0.55, "linewidths": 0, "label": dot_label}
    axes.scatter(table["layer"], table["value"], s=9, **style, urls=links, zorder=2)
    axes.plot(
        means.index,
        means,
        "--" if marker == "s" else "-",
        color=color if name else BLACK,
        lw=1.2,
        label=line_label,
        zorder=3,
    )
    by_layer(axes, table["layer"], label)
