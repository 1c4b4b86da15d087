"""The shapes of figures: rows with intervals and marks, matrices of cells, and lines with their names beside them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import Rectangle
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Affine2DBase, AffineDeltaTransform

from ..storage.characters import in_document
from .drawing import AROUND_ZERO, BLACK, BLUE, ORANGE, SCALE, number_ticks

MIN_DECISIONS = 50
"""A line joins two bins only if each has at least this many decisions."""

ROW_SIZE = 6.5
"""The size of the text of `row_columns` in points."""

LONGEST = 36
"""The letters of a name beside rows that leave enough room for what is drawn."""

_GAP = 0.04  # inches beside a column of text
_SIDE = 0.48  # half the side of a cell, so that the ground shows between cells
_CELL = Path([(-_SIDE, -_SIDE), (_SIDE, -_SIDE), (_SIDE, _SIDE), (-_SIDE, _SIDE), (-_SIDE, -_SIDE)], closed=True)


def name_rows(
    axes: Axes, left: Sequence[str], right: Sequence[str], *, heading: str = "", links: Sequence[str | None] = ()
) -> None:
    """Label the rows 0, 1, … of a figure, which go from top to bottom, on both sides."""
    # `heading` stands above the labels on the right, and both labels of a row lead to its link.
    rows = range(len(left))
    axes.set_yticks(rows, left)
    axes.set_ylim(len(left) - 0.5, -0.5)
    axes.grid(axis="y")
    right_axis = axes.secondary_yaxis("right")
    right_axis.set_yticks(rows, right)
    right_axis.tick_params(length=0)
    right_axis.spines["right"].set_visible(False)
    for labels in (axes.get_yticklabels(), right_axis.get_yticklabels()):
        for label, link in zip(labels, links, strict=False):
            label.set_url(link)
    if heading:
        axes.annotate(heading, (1, 1), (4, 2), xycoords="axes fraction", textcoords="offset points", color="#666666")


def row_columns(
    axes: Axes, left: Mapping[str, Sequence[str]], right: Mapping[str, Sequence[str]], **style: Any
) -> float:
    """Write columns of text beside the rows 0, 1, … of a figure, which go from top to bottom, by their headings.

    The first column on the left is aligned at its left, as names are, the others at their right, as numbers are. Names
    of more than `LONGEST` letters are shortened.

    Returns:
        The width of all columns in inches.
    """
    left, right = (
        {heading: [shorten(text) for text in texts] for heading, texts in columns.items()} for columns in (left, right)
    )
    n_rows = max(map(len, (*left.values(), *right.values())))
    axes.set_yticks(range(n_rows), [])
    axes.set_ylim(n_rows - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    size = float(style.setdefault("fontsize", ROW_SIZE))
    links = style.pop("links", [None] * n_rows)
    total = 0.0

    def write(texts: Sequence[str], heading: str, side: int, offset: float, alignment: str) -> None:
        # From the top of the axes to a heading it is always as far: rows become higher the fewer they are, so that
        # a heading one row above a single row would leave the axes no room.
        for row, text in [(-0.5, heading), *enumerate(texts)]:
            above = 0.8 * size if row < 0 else 0
            place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
            look: dict[str, Any] = {"color": "#666666"} if row < 0 else {}
            label = axes.annotate(
                text, (side, row), (72 * offset, above), ha=alignment, va="center", annotation_clip=False,
                **place, **style, **look,
            )  # fmt: skip
            label.set_url(None if row < 0 else links[int(row)])

    place = -_GAP
    for index, (heading, texts) in reversed([*enumerate(left.items())]):
        width = max(letters_wide(text, size) for text in (heading, *texts))
        write(texts, heading, 0, place - (width if index == 0 else 0), "left" if index == 0 else "right")
        place -= width + 2 * _GAP
    total -= place + _GAP
    place = 2 * _GAP  # beside marks at the end of the axis
    for heading, texts in right.items():
        write(texts, heading, 1, place, "left")
        place += max(letters_wide(text, size) for text in (heading, *texts)) + 2 * _GAP
    return total + place - _GAP


def shorten(text: str) -> str:
    """Return a text in one line of at most `LONGEST` letters."""
    line = in_document(" ".join(text.split("\n")))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def letters_wide(text: str, size: float) -> float:
    """Return about how wide a line of text is in inches, given the size of its font in points."""
    # Metrics would depend on the fonts of the system. These widths are those of DejaVu Sans, rounded up.
    wide = [1.0 if unicodedata.east_asian_width(c) in "WF" else 0.34 if c in " .,:;-|iljft" else 0.61 for c in text]
    return sum(wide) * size / 72


def intervals(
    axes: Axes, rows: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, color: str = BLUE, **style: Any
) -> None:
    """Draw an interval in each of some rows."""
    axes.hlines(rows, low, high, color=color, **{"lw": 1.5, "alpha": 0.6, "zorder": 2, **style})


def by_bins(
    axes: Axes,
    values: npt.ArrayLike,
    totals: npt.ArrayLike,
    color: str,
    marker: str,
    label: str,
    *,
    first: int = 0,
    beside: float = 0.0,
) -> None:
    """Draw values of bins 0, 1, … as marks, with a line between neighbors that have enough decisions each."""
    # The line begins at the bin `first`; bins before it are not neighbors of the others. Marks are drawn `beside` the
    # middle of their bins.
    values, frequent = np.asarray(values, dtype=float), np.asarray(totals) >= MIN_DECISIONS
    positions = np.arange(len(values)) + beside
    joined = np.where(frequent & (np.arange(len(values)) >= first), values, np.nan)
    axes.plot(positions, values, marker, color=color, mfc="none", ms=4.5, label=label, zorder=3)
    axes.plot(positions, joined, "-", color=color, lw=1, zorder=2)


def direct_labels(axes: Axes, ends: Sequence[tuple[float, str, str]], gap: float) -> None:
    """Write the names of lines at the right of the axes, each with its end, name and color, at least a gap apart."""
    ordered = sorted(ends)
    heights = move_apart([end for end, _, _ in ordered], gap)
    for (end, name, color), height in zip(ordered, heights, strict=True):
        axes.annotate(
            name, (1, end), (1.04, height), xycoords=("axes fraction", "data"), textcoords=("axes fraction", "data"),
            va="center", fontsize=7, color=color, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.5, "shrinkA": 1, "shrinkB": 1, "relpos": (0, 0.5)},
        )  # fmt: skip


def move_apart(heights: Sequence[float], gap: float) -> list[float]:
    """Move ascending heights apart so that neighbors do not touch, without a change of their mean."""
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + gap) if moved else height)
    shift = float(np.mean(moved) - np.mean(heights)) if moved else 0.0
    return [height - shift for height in moved]


_FAINT = 0.1
"""The share of a scale around zero below which the sign of a cell is not marked."""


def heatmap(
    axes: Axes,
    values: npt.ArrayLike,
    low: float,
    high: float,
    *,
    colors: Colormap = SCALE,
    links: Sequence[str | None] = (),
) -> PathCollection:
    """Draw a matrix as one cell per value, its first row on top. Cells without a value stay empty.

    The colors go from ``low`` to ``high``. The ``links`` are where the cells lead, row by row.
    """
    # Cells are shapes rather than pixels, so that they have links, and colors that a dark page can replace.
    matrix = np.ma.masked_invalid(np.asarray(values, dtype=float))
    rows, columns = np.indices(matrix.shape)
    cells = PathCollection(
        [_CELL],
        offsets=np.column_stack([columns.ravel(), rows.ravel()]),
        offset_transform=axes.transData,
        transform=AffineDeltaTransform(cast(Affine2DBase, axes.transData)),
        array=matrix.ravel(),
        cmap=colors,
        norm=Normalize(low, high),
        linewidths=0,
        urls=list(links) or None,
    )
    axes.add_collection(cells, autolim=False)
    axes.set_xlim(-0.5, matrix.shape[1] - 0.5)
    axes.set_ylim(matrix.shape[0] - 0.5, -0.5)
    return cells


def signed_heatmap(axes: Axes, values: npt.ArrayLike, most: float) -> PathCollection:
    """Draw a matrix on a scale from ``-most`` to ``most``, with a minus sign in the cells that are clearly below zero.

    Otherwise the two ends of the scale could not be told apart in gray.
    """
    matrix = np.asarray(values, dtype=float)
    cells = heatmap(axes, matrix, -most, most, colors=AROUND_ZERO)
    rows, columns = np.nonzero(matrix < -_FAINT * most)
    axes.plot(columns, rows, ls="", marker="_", ms=3.5, mew=0.8, color=BLACK, zorder=3)
    return cells


def heads_map(
    axes: Axes, rates: pd.DataFrame, link: Callable[[int, int], str] | None = None, *, colors: Colormap = SCALE
) -> PathCollection:
    """Draw the rates of all heads as a heatmap from 0 to 100 %. Layers are rows, heads are columns, both from 1."""
    # `link` says where the cell of a layer and a head, both from 1, leads.
    n_layers, n_heads = rates.shape
    number_ticks(axes.xaxis, n_heads)
    number_ticks(axes.yaxis, n_layers)
    layers, heads = rates.index.astype(int), rates.columns.astype(int)
    links = [link(layer, head) for layer in layers for head in heads] if link else []
    return heatmap(axes, 100 * rates.to_numpy(), 0, 100, colors=colors, links=links)


def mark_head(axes: Axes, layer: int, head: int) -> None:
    """Draw a frame around the cell of a head, which leaves the cell itself visible."""
    frame = Rectangle((head - 1.5, layer - 1.5), 1, 1, fc="none", ec=ORANGE, lw=1.4, zorder=4, clip_on=False)
    # In gray, the frame and a dark cell are alike without a light line between them.
    frame.set_path_effects([withStroke(linewidth=3, foreground="white")])
    axes.add_patch(frame)
