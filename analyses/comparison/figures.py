"""Figures of differences with their intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...reports.drawing import BLUE, GREY, ORANGE, PAGE, TEXT, finish, panel, with_style
from ...reports.shapes import intervals, name_rows
from .differences import Difference
from .findings import group_name, view_of
from .results import Contrast

_LABEL = 48  # characters of a label in one line
_MAX_HEADING = 36  # characters that have room above the values on the right


@with_style
def contrast_figure(contrast: Contrast) -> Figure | None:
    """Draw the difference of each tested group with its interval, the largest one on top."""
    # If no group is tested, all groups with a difference are drawn, and the legend says that they are not tested.
    # Returns the figure; None if no group has a difference.
    rows = contrast.tested or [row for row in contrast.others if row.difference == row.difference]
    if not rows:
        return None
    names = [textwrap.fill(_label(contrast, row), _LABEL) for row in rows]
    lines = sum(1 + 0.6 * name.count("\n") for name in names)  # further lines of a name are closer to each other
    figure, axes = panel(TEXT, 1.15 + 0.2 * lines)
    # The kinds of maps of one run share its page, where the head that finds more can be looked at.
    is_one_run = contrast.first.run == contrast.second.run
    links = [
        PAGE + view_of(contrast, row) if is_one_run and row.first and row.first.choice and row.second else None
        for row in rows
    ]
    texts = [_values(contrast, row) for row in rows]
    difference_rows(axes, rows, contrast.scale, names=names, texts=texts, links=links)
    unit = "percentage points" if contrast.is_share else contrast.unit
    label = f"{contrast.quantity}: {contrast.first.name} minus {contrast.second.name} ({unit})"
    axes.set_xlabel(textwrap.fill(label, 90))
    both_names = f"{contrast.first.name} − {contrast.second.name}"
    heading = both_names if len(both_names) <= _MAX_HEADING else "first − second"
    axes.annotate(heading, (1, 1), (4, 2), xycoords="axes fraction", textcoords="offset points", color="#666666")
    of_run = f"{contrast.first.run} · " if is_one_run else ""  # the names of two runs are those of the sides
    finish(figure, axes, f"{of_run}{contrast.analysis}, {contrast.family}")
    return figure


def _label(contrast: Contrast, row: Difference) -> str:
    """Name a group in words, with the number of decisions on each side, once if they are the same."""
    name = group_name(contrast, row.group)
    counts = dict.fromkeys(f"{side.n:,}" for side in (row.first, row.second) if side)
    return f"{name} (n = {' and '.join(counts)})" if counts else name


def _values(contrast: Contrast, row: Difference) -> str:
    """Write the values of both sides as a difference, such as ``71.2 − 65.0`` or ``−3.4 − (−5.6)``."""
    digits = 1 if contrast.is_share else 3
    first, second = (
        f"{contrast.scale * measured.value:.{digits}f}".replace("-", "−") if measured else "?"
        for measured in (row.first, row.second)
    )
    return f"{first} − ({second})" if second.startswith("−") else f"{first} − {second}"


def difference_rows(
    axes: Axes,
    rows: Sequence[Difference],
    scale: float,
    *,
    names: Sequence[str],
    texts: Sequence[str] = (),
    links: Sequence[str | None] = (),
) -> None:
    """Draw differences, times a scale, with their 95 % intervals, one below the other.

    A dot is filled if the difference is significant. Rows that were not tested are grey. Names are on the left, texts
    on the right, and both lead to the links.
    """
    axes.axvline(0, color=GREY, lw=0.8, zorder=1)
    for y, row in enumerate(rows):
        color = ORANGE if row.significant else BLUE if row.tested else GREY
        if row.low == row.low:
            intervals(axes, [y], scale * row.low, scale * row.high, color)
        filling = color if row.significant else "white"
        axes.plot(scale * row.difference, y, "o", mec=color, mfc=filling, ms=4.5, zorder=3)
    for color, filling, label, occurs in (
        (ORANGE, ORANGE, "p (Holm) below 0.05", any(row.significant for row in rows)),
        (BLUE, "white", "not significant", any(row.tested and not row.significant for row in rows)),
        (GREY, "white", "not tested", any(not row.tested for row in rows)),
    ):
        if occurs:
            axes.plot([], [], "o", mec=color, mfc=filling, ms=4.5, label=label)
    name_rows(axes, names, list(texts) or [""] * len(rows), links=links)
