"""The figures of the coreference report."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...reports.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, STYLE, finish, heads_map, name_rows
from ...reports.format import ARROWS, best_head, rows_of
from .antecedents import DIRECTIONS
from .baselines import BASELINES, column_name

_BASELINES = {
    "nearest": (ORANGE, "D"),
    "head match": (GREEN, "^"),
    "rule-based": (PURPLE, "s"),
    "random": (GREY, "v"),
}
"""The color and the marker of each baseline."""


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
