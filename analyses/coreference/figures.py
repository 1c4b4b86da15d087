"""The figures of the coreference report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...reports.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, STYLE, finish, heads_map, name_rows
from ...reports.format import ARROWS, best_head, head_name, rows_of
from .antecedents import DIRECTIONS
from .baselines import BASELINES, column_name
from .contrasts import STEREOTYPES, by_comparison
from .tables import CoreferenceTables

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


def best_figure(best: pd.DataFrame, published: Mapping[str, Mapping[str, int]] | None, *, title: str = "") -> Figure:
    """Draw the accuracy of the best head by type of mention with its interval, beside the baselines."""
    rows = rows_of(best[best["total"] > 0])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.6, 1.5 + 0.42 * len(rows)), layout="constrained")
        axes = figure.subplots()
        y = np.arange(len(rows))
        low, high = ([100 * row[f"accuracy_{end}"] for row in rows] for end in ("low", "high"))
        axes.hlines(y, low, high, color=BLUE, lw=1.8, alpha=0.6, zorder=2)
        label = "best head" + (" (95 % interval)" if np.isfinite(low).any() else "")
        axes.plot([100 * row["accuracy"] for row in rows], y, "o", color=BLUE, ms=5.5, label=label, zorder=4)
        held_out = [100 * row["heldout_accuracy"] for row in rows]
        axes.plot(
            held_out, y, "|", color=BLACK, ms=10, mew=1.3, label="chosen on one half, scored on the other", zorder=5
        )
        for name in BASELINES:
            color, marker = _BASELINES[name]
            values = [100 * row[f"{column_name(name)}_accuracy"] for row in rows]
            axes.plot(values, y, marker, mfc="none", color=color, ms=5, label=_baseline_label(name), zorder=3)
        if "control_accuracy" in best:
            control = [100 * row["control_accuracy"] for row in rows]
            axes.plot(control, y, "x", color=GREY, ms=5, label="best head, random weights", zorder=3)
        if published:
            axes.plot(
                [published["head 5-4"][row["type"]] for row in rows],
                y,
                "*",
                color=BLACK,
                ms=6,
                label="BERT’s head 5-4, CoNLL-2012 (paper)",
                zorder=3,
            )
        axes.set_xlim(-2, 102)
        axes.set_xlabel("mentions whose antecedent is found (%)")
        name_rows(axes, [f"{row['type']} (n = {row['total']:,})" for row in rows], [best_head(row) for row in rows])
        figure.legend(loc="outside upper left", ncols=2, frameon=False, handletextpad=0.4)
        axes.set_title(title, loc="left")
    return figure


def heads_figure(cells: pd.DataFrame, best: pd.DataFrame, policy: str, *, title: str = "") -> Figure:
    """Draw layer × head heatmaps, one per direction, over all types of mentions, with the best head marked."""
    shown = cells[(cells["candidates"] == policy) & (cells["type"] == "all")]
    n_layers, n_heads = int(shown["layer"].max()), int(shown["head"].max())
    best_row = rows_of(best[best["type"] == "all"])[0]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 0.9 + 2.6 * min(n_layers / n_heads, 1.2)), layout="constrained")
        grid = figure.subplots(1, 2, squeeze=False, sharex=True, sharey=True)
        image = None
        for axes, direction in zip(grid.flat, DIRECTIONS, strict=True):
            table = shown[shown["direction"] == direction].pivot_table(index="layer", columns="head", values="accuracy")
            image = heads_map(axes, table)
            axes.set_title(ARROWS[direction])
            if best_row["direction"] == direction and best_row["correct"]:
                axes.plot(best_row["head"] - 1, best_row["layer"] - 1, "s", mfc="none", mec=ORANGE, ms=10, mew=1.6)
            axes.set_xlabel("head")
        grid[0, 0].set_ylabel("layer")
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
        if image is not None:
            figure.colorbar(image, ax=grid, label="antecedents found (%)", shrink=0.9, pad=0.01)
    return figure


def distance_figure(distances: pd.DataFrame, best: pd.DataFrame, policy: str, *, title: str = "") -> Figure:
    """Draw the accuracy of the best head and of the baselines by the distance to the nearest antecedent."""
    best_row = rows_of(best[best["type"] == "all"])[0]
    all_types = distances[distances["type"] == "all"]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.9, 2.9), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, unit in zip(panels, ("sentences", "words"), strict=True):
            by_distance = all_types[all_types["unit"] == unit]
            of_head = by_distance[
                (by_distance["candidates"] == policy)
                & (by_distance["layer"] == best_row["layer"])
                & (by_distance["head"] == best_row["head"])
                & (by_distance["direction"] == best_row["direction"])
            ]
            _line(axes, of_head, BLUE, "o", f"best head, {best_head(best_row)}")
            for name in BASELINES:
                rows = by_distance[by_distance["candidates"] == name]
                _line(axes, rows, *_BASELINES[name], _baseline_label(name))
            totals = of_head["total"].tolist()
            labels = [f"{bin_}\n({total:,})" for bin_, total in zip(of_head["distance"], totals, strict=True)]
            axes.set_xticks(range(len(labels)), labels)
            axes.set_xlabel(f"{unit} to the nearest antecedent (mentions)")
            axes.set_ylim(-2, 102)
            axes.grid(axis="y", color="#eeeeee", zorder=0)
        panels[0].set_ylabel("antecedents found (%)")
        finish(figure, panels[0], title)
    return figure


def _line(axes: Axes, rows: pd.DataFrame, color: str, marker: str, label: str) -> None:
    values = (rows["accuracy"].astype(float) * 100).tolist()
    axes.plot(range(len(values)), values, marker + "-", color=color, mfc="none", ms=4.5, lw=1, label=label)


def _baseline_label(name: str) -> str:
    return {"nearest": "nearest mention", "head match": "same head word", "rule-based": "rules"}.get(name, "chance")


def contrasts_figure(tables: CoreferenceTables, best: pd.DataFrame, policy: str, *, title: str = "") -> Figure:
    """Draw the accuracy of every head in one group against that in another, in a panel for each comparison.

    The comparisons are those of pro- and anti-stereotypical sentences or, if there are none, those of pronouns.
    """
    largest, heads = (by_comparison(each, policy) for each in (tables.largest_contrasts, tables.head_contrasts))
    pairs = [pair for pair in largest if pair in STEREOTYPES] or list(largest)
    best_row = rows_of(best[best["type"] == "all"])[0]
    best_head = tuple(best_row[name] for name in ("direction", "layer", "head"))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(3.2, 2.5 * len(pairs)), 2.9 if len(pairs) > 1 else 3.6), layout="constrained")
        panels: list[Axes] = list(figure.subplots(1, len(pairs), squeeze=False).flat)
        for axes, pair in zip(panels, pairs, strict=True):
            named = {
                (row["direction"], row["layer"], row["head"]): BLUE if row["higher"] == pair[0] else ORANGE
                for row in rows_of(largest[pair])
            }
            _panel(axes, heads[pair], {best_head: BLACK, **named})
            axes.set_xlabel(f"{pair[0]} (%)")
            axes.set_ylabel(f"{pair[1].split(', ')[-1]} (%)")
        for direction, marker in _MARKERS.items():
            panels[-1].plot([], [], marker, color=GREY, ms=4, label=ARROWS[direction])
        figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure


def _panel(axes: Axes, heads: pd.DataFrame, named: dict[_Head, str]) -> None:
    """Draw all heads as points, the named ones in their colors and with their names."""
    axes.plot([0, 100], [0, 100], color=GREY, lw=0.8, zorder=1)
    labels: list[tuple[float, float, str, str]] = []
    for row in rows_of(heads):
        x, y = 100 * row["first_accuracy"], 100 * row["second_accuracy"]
        color = named.get((row["direction"], row["layer"], row["head"]))
        marker = _MARKERS[row["direction"]]
        style: dict[str, Any] = {"mfc": "none", "ms": 3, "zorder": 3}
        if color:
            style = {"mfc": color, "ms": 3.6, "zorder": 4}
        axes.plot(x, y, marker, color=color or SKY, mew=0.7, **style)
        if color:
            labels.append((x, y, head_name(row["layer"], row["head"]), color))
    for right in (True, False):
        # Names stand on the outer side of the diagonal, unless they would leave the panel.
        side = sorted((label for label in labels if (label[1] <= label[0] < 88) == right), key=lambda label: label[1])
        for (x, y, text, color), height in zip(side, _apart([label[1] for label in side]), strict=True):
            axes.annotate(
                text,
                (x, y),
                xytext=(x + (7 if right else -7), height),
                ha="left" if right else "right",
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


def _apart(heights: list[float]) -> list[float]:
    """Move ascending heights apart so that neighbors do not touch, without a change of their mean."""
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + _SPACING) if moved else height)
    shift = float(np.mean(moved) - np.mean(heights)) if heights else 0.0
    return [height - shift for height in moved]
