"""The figures of the coreference report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binomtest

from ...reports.drawing import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    ORANGE,
    PAGE,
    PURPLE,
    SKY,
    TEXT,
    finish,
    panel,
    panels,
    with_style,
)
from ...reports.format import ARROWS, best_head, head_name, percent, rows_of
from ...reports.shapes import by_bins, heads_map, intervals, mark_head, move_apart, name_rows
from ..shared.measures import address
from .decisions import BASELINES, DIRECTIONS, column_name

_BASELINES = {
    "nearest": (ORANGE, "D"),
    "head match": (GREEN, "^"),
    "rule-based": (PURPLE, "s"),
    "random": (GREY, "v"),
}
"""The color and the marker of each baseline."""

_MARKERS = dict(zip(DIRECTIONS, ("o", "^"), strict=True))
_SPACING = 5.5
"""The distance in percentage points between the names of two heads, one above the other."""

_Head = tuple[str, int, int]  # direction, layer, head


@with_style
def best_figure(best: pd.DataFrame, published: Mapping[str, Mapping[str, int]] | None, *, title: str = "") -> Figure:
    """Draw the accuracy of the best head by type of mention with its interval, beside the baselines."""
    rows = rows_of(best[best["total"] > 0])
    figure, axes = panel(TEXT, 1.5 + 0.36 * len(rows))
    y = np.arange(len(rows))
    low, high = ([100 * row[f"accuracy_{end}"] for row in rows] for end in ("low", "high"))
    intervals(axes, y, low, high)
    label = "best head" + (" (95 % interval)" if np.isfinite(low).any() else "")
    axes.plot([100 * row["accuracy"] for row in rows], y, "o", color=BLUE, ms=5.5, label=label, zorder=4)
    held_out = [100 * row["heldout_accuracy"] for row in rows]
    axes.plot(held_out, y, "|", color=BLACK, ms=10, mew=1.3, label="chosen on one half, scored on the other", zorder=5)
    for name in BASELINES:
        color, marker = _BASELINES[name]
        values = [100 * row[f"{column_name(name)}_accuracy"] for row in rows]
        axes.plot(values, y, marker, mfc="none", color=color, ms=5, label=_baseline_label(name), zorder=3)
    if "control_accuracy" in best:
        control = [100 * row["control_accuracy"] for row in rows]
        axes.plot(control, y, "x", color=GREY, ms=5, label="best head, random weights", zorder=3)
    if published:
        paper = [published["head 5-4"][row["type"]] for row in rows]
        label = "BERT’s head 5-4, CoNLL-2012 (paper)"
        axes.plot(paper, y, "*", color=BLACK, ms=6, label=label, zorder=3)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("mentions whose antecedent is found (%)")
    names = [f"{row['type']} (n = {row['total']:,})" for row in rows]
    name_rows(axes, names, [best_head(row) for row in rows], heading="best head")
    finish(figure, axes, title)
    return figure


@with_style
def heads_figure(cells: pd.DataFrame, best: pd.DataFrame, policy: str, *, title: str = "") -> Figure:
    """Draw layer × head heatmaps, one per direction, over all types of mentions, with the best head marked."""
    shown = cells[(cells["candidates"] == policy) & (cells["type"] == "all")]
    n_layers, n_heads = int(shown["layer"].max()), int(shown["head"].max())
    best_row = rows_of(best[best["type"] == "all"])[0]
    figure, (grid,) = panels(TEXT, 0.9 + 2.4 * min(n_layers / n_heads, 1.2), columns=2, sharex=True, sharey=True)
    for axes, direction in zip(grid, DIRECTIONS, strict=True):
        table = shown[shown["direction"] == direction].pivot_table(index="layer", columns="head", values="accuracy")
        drawn = heads_map(axes, table, partial(_link, direction))
        name = direction.replace("->", "→")
        if best_row["direction"] == direction and best_row["correct"]:
            mark_head(axes, best_row["layer"], best_row["head"])
            name += f": {percent(best_row['accuracy'])} % by {head_name(best_row['layer'], best_row['head'])}"
        axes.set_title(name)
        axes.set_xlabel("head")
    grid[0].set_ylabel("layer")
    finish(figure, grid[0], title)
    figure.colorbar(drawn, ax=list(grid), label="antecedents found (%)", shrink=0.9, pad=0.01)
    return figure


def _link(direction: str, layer: int, head: int) -> str:
    """Return where a cell leads: to the mentions of the sample that its head is asked about."""
    return PAGE + address(head=head_name(layer, head), relation="coreference", direction=direction)


@with_style
def distance_figure(distances: pd.DataFrame, best: pd.DataFrame, policy: str, *, title: str = "") -> Figure:
    """Draw the accuracy of the best head and of the baselines by the distance to the nearest antecedent."""
    best_row = rows_of(best[best["type"] == "all"])[0]
    all_types = distances[distances["type"] == "all"]
    figure, (grid,) = panels(TEXT, 2.8, columns=2, sharey=True)
    for axes, unit in zip(grid, ("sentences", "words"), strict=True):
        by_distance = all_types[all_types["unit"] == unit]
        of_head = by_distance[
            (by_distance["candidates"] == policy)
            & (by_distance["layer"] == best_row["layer"])
            & (by_distance["head"] == best_row["head"])
            & (by_distance["direction"] == best_row["direction"])
        ]
        _line(axes, of_head, BLUE, "o", f"best head, {best_head(best_row)} (95 % interval of independent mentions)")
        filled = of_head[of_head["total"] > 0]  # the distances at which there are mentions
        limits = [binomtest(row["correct"], row["total"]).proportion_ci(method="wilson") for row in rows_of(filled)]
        ends = 100 * np.array([(limit.low, limit.high) for limit in limits]).reshape(-1, 2)
        axes.vlines(np.flatnonzero(of_head["total"] > 0), *ends.T, color=BLUE, lw=1.5, alpha=0.6, zorder=2)
        for name in BASELINES:
            rows = by_distance[by_distance["candidates"] == name]
            _line(axes, rows, *_BASELINES[name], _baseline_label(name))
        totals = of_head["total"].tolist()
        labels = [f"{bin_}\n({total:,})" for bin_, total in zip(of_head["distance"], totals, strict=True)]
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel(f"{unit} to the nearest antecedent (mentions)")
        axes.set_ylim(-2, 102)
        axes.grid(axis="y")
    grid[0].set_ylabel("antecedents found (%)")
    finish(figure, grid[0], title)
    return figure


def _line(axes: Axes, rows: pd.DataFrame, color: str, marker: str, label: str) -> None:
    by_bins(axes, 100 * rows["accuracy"].astype(float), rows["total"], color, marker, label)


def _baseline_label(name: str) -> str:
    """Return the name of a baseline in a legend; picking at random is the one that is called chance."""
    return {"nearest": "nearest mention", "head match": "same head word", "rule-based": "rules"}.get(name, "chance")


@with_style
def contrasts_figure(
    compared: Mapping[tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]], best: pd.DataFrame, *, title: str = ""
) -> Figure:
    """Draw the accuracy of every head in one group against that in another, in a panel for each pair of groups."""
    # compared: for each pair of groups, the rows of every head, and of those with the largest differences.
    best_row = rows_of(best[best["type"] == "all"])[0]
    best_head = tuple(best_row[name] for name in ("direction", "layer", "head"))
    is_single = len(compared) == 1
    figure, (grid,) = panels(COLUMN if is_single else TEXT, 3.4 if is_single else 2.9, columns=len(compared))
    for axes, (pair, (heads, largest)) in zip(grid, compared.items(), strict=True):
        colors = {
            (row["direction"], row["layer"], row["head"]): BLUE if row["higher"] == pair[0] else ORANGE
            for row in rows_of(largest)
        }
        _panel(axes, heads, {best_head: BLACK, **colors})
        axes.set_xlabel(f"{pair[0]} (%)")
        axes.set_ylabel(f"{pair[1].split(', ')[-1]} (%)")
    for direction, marker in _MARKERS.items():
        grid[-1].plot([], [], marker, color=GREY, ms=4, label=ARROWS[direction])
    finish(figure, grid[-1], title)
    return figure


def _panel(axes: Axes, heads: pd.DataFrame, colors: dict[_Head, str]) -> None:
    """Draw all heads as points, and those that have a color with their names."""
    axes.plot([0, 100], [0, 100], color=GREY, lw=0.8, zorder=1)
    labels: list[tuple[float, float, str, str]] = []  # x, y, text, color
    for row in rows_of(heads):
        x, y = 100 * row["first_accuracy"], 100 * row["second_accuracy"]
        color = colors.get((row["direction"], row["layer"], row["head"]))
        marker = _MARKERS[row["direction"]]
        style: dict[str, Any] = {"mfc": "none", "ms": 3, "zorder": 3}
        if color:
            style = {"mfc": color, "ms": 3.6, "zorder": 4}
        axes.plot(x, y, marker, color=color or SKY, mew=0.7, **style)
        if color:
            labels.append((x, y, head_name(row["layer"], row["head"]), color))
    # Names stand on the outer side of the diagonal, unless they would leave the panel.
    below = [label for label in labels if label[1] <= label[0] < 88]
    above = [label for label in labels if label not in below]
    for side, distance, alignment in ((below, 7, "left"), (above, -7, "right")):
        side.sort(key=lambda label: label[1])
        for (x, y, text, color), height in zip(side, move_apart([label[1] for label in side], _SPACING), strict=True):
            axes.annotate(
                text,
                (x, y),
                xytext=(x + distance, height),
                ha=alignment,
                va="center",
                fontsize=7,
                color=color,
                arrowprops={"arrowstyle": "-", "color": color, "lw": 0.5, "shrinkA": 0, "shrinkB": 2},
            )
    axes.set_aspect("equal")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    axes.set_xticks(range(0, 101, 25))
    axes.set_yticks(range(0, 101, 25))
