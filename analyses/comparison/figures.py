"""The figure of a comparison: two dots per group, joined by a line, sorted by their difference."""

from __future__ import annotations

import textwrap

import matplotlib as mpl
from matplotlib.figure import Figure

from ...reports.drawing import BLUE, GREY, ORANGE, STYLE, name_rows
from .differences import Difference
from .results import Contrast

_LONGEST = 48  # characters of a label in one line


def dumbbells(contrast: Contrast) -> Figure | None:
    """Draw the values of both sides for each tested group, sorted by the difference.

    Dots are filled if the difference is significant. If no group is tested, all groups with a difference are drawn, and
    the legend says that they are not tested.

    Returns:
        the figure; None if no group has a difference.
    """
    rows = contrast.tested or [row for row in contrast.others if row.difference == row.difference]
    if not rows:
        return None
    scale, percent = contrast.scale, contrast.unit == "%"
    labels = [textwrap.fill(_label(row), _LONGEST) for row in rows]
    wrapped = sum(label.count("\n") for label in labels)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 1.35 + 0.21 * len(rows) + 0.12 * wrapped), layout="constrained")
        axes = figure.subplots()
        gaps = []
        for y, row in enumerate(rows):
            values = [scale * measured.value for measured in (row.first, row.second) if measured]
            axes.plot(values, [y, y], color=GREY, lw=1.2, zorder=2)
            for value, color in zip(values, (BLUE, ORANGE), strict=True):
                axes.plot(value, y, "o", mec=color, mfc=color if row.significant else "white", ms=4.8, zorder=3)
            gaps.append(f"{scale * row.difference:+.1f}" if percent else f"{row.difference:+.3f}")
        for side, color in ((contrast.first, BLUE), (contrast.second, ORANGE)):
            axes.plot([], [], "o", color=color, ms=4.8, label=side.name)
        hollow = "difference not significant" if contrast.tested else "difference not tested"
        axes.plot([], [], "o", mec=GREY, mfc="white", ms=4.8, label=hollow)
        if percent:
            axes.set_xlim(0, 100)
        axes.set_xlabel(f"{contrast.quantity} ({contrast.unit})")
        name_rows(axes, labels, gaps)
        handles = axes.get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper left", ncols=3, frameon=False, handletextpad=0.4)
        axes.set_title(f"{contrast.analysis}, {contrast.family}", loc="left")
    return figure


def _label(row: Difference) -> str:
    counts = dict.fromkeys(f"{measured.n:,}" for measured in (row.first, row.second) if measured)
    return f"{row.group} (n = {' and '.join(counts)})"
