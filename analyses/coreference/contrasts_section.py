"""The contrasts between groups of documents in the report, in the terminal, and as a figure."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...reports.drawing import BLACK, BLUE, GREY, ORANGE, SKY, STYLE
from ...reports.format import ARROWS, head_name, interval, percent, rows_of
from .antecedents import DIRECTIONS
from .contrasts import STEREOTYPES
from .tables import CoreferenceTables

_MARKERS = dict(zip(DIRECTIONS, ("o", "^"), strict=True))
_SPACING = 5.5
"""The distance in percentage points between the names of two heads, one above the other."""


_Head = tuple[str, int, int]  # direction, layer, head


def shown_contrasts(tables: CoreferenceTables, policy: str) -> list[dict[str, Any]]:
    """Return the comparisons under the policy that the report is about."""
    comparisons = []
    for (first, second), rows in _by_comparison(tables.largest_contrasts, policy).items():
        heads = _by_comparison(tables.head_contrasts, policy)[first, second]
        comparisons.append(
            {
                "first": first,
                "second": second,
                "first_total": int(heads["first_total"].iloc[0]),
                "second_total": int(heads["second_total"].iloc[0]),
                "rows": rows_of(rows),
                "choices": len(heads),
                "above": int((heads["simultaneous_low"] > 0).sum()),
                "below": int((heads["simultaneous_high"] < 0).sum()),
                "has_intervals": bool(heads["simultaneous_low"].notna().any()),
            }
        )
    return comparisons


def _by_comparison(table: pd.DataFrame, policy: str) -> dict[tuple[str, str], pd.DataFrame]:
    if not len(table):
        return {}
    groups = table[table["candidates"] == policy].groupby(["first", "second"], sort=False)
    return {(str(first), str(second)): rows for (first, second), rows in groups}


def contrast_lines(tables: CoreferenceTables, policy: str) -> list[str]:
    """Return lines for the terminal with the largest difference on each side of every comparison."""
    lines = []
    for comparison in shown_contrasts(tables, policy):
        heads = "; ".join(
            f"{percent(row['difference'], sign=True)} {interval(row['simultaneous_low'], row['simultaneous_high'])} "
            f"in head {head_name(row['layer'], row['head'])} {ARROWS[row['direction']]}, "
            f"held-out {percent(row['heldout_difference'], sign=True)}".replace("  ", " ")
            for row in comparison["rows"]
            if row["rank"] == 1
        )
        lines.append(f"Largest differences, {comparison['first']} minus {comparison['second']}: {heads}.")
    if lines:
        lines.append("The intervals of the largest differences hold for all heads at once.")
    return lines


def contrasts_figure(tables: CoreferenceTables, best: pd.DataFrame, policy: str, *, title: str = "") -> Figure:
    """Draw the accuracy of every head in one group against that in another, in a panel for each comparison.

    The comparisons are those of pro- and anti-stereotypical sentences or, if there are none, those of pronouns.
    """
    largest = _by_comparison(tables.largest_contrasts, policy)
    heads = _by_comparison(tables.head_contrasts, policy)
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
        axes.plot(
            x,
            y,
            marker,
            color=color or SKY,
            mfc=color or "none",
            ms=3.6 if color else 3,
            mew=0.7,
            zorder=4 if color else 3,
        )
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
