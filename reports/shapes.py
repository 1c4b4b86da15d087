"""The shapes of figures: rows with intervals and marks, matrices of cells, and lines with their names beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Affine2DBase, AffineDeltaTransform

from .drawing import BLUE, ORANGE, SCALE, number_ticks

MIN_DECISIONS = 50
"""A line joins two bins only if each has at least this many decisions."""

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


def intervals(
    axes: Axes, rows: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, color: str = BLUE, **style: Any
) -> None:
    """Draw an interval in each of some rows."""
    axes.hlines(rows, low, high, color=color, **{"lw": 1.5, "alpha": 0.6, "zorder": 2, **style})


def by_bins(
    axes: Axes, values: npt.ArrayLike, totals: npt.ArrayLike, color: str, marker: str, label: str, *, first: int = 0
) -> None:
    """Draw values of bins 0, 1, … as marks, with a line between neighbors that have enough decisions each."""
    # The line begins at the bin `first`; bins before it are not neighbors of the others.
    values, frequent = np.asarray(values, dtype=float), np.asarray(totals) >= MIN_DECISIONS
    positions = np.arange(len(values))
    joined = np.where(frequent & (positions >= first), values, np.nan)
    axes.plot(positions, values, marker, color=color, mfc="none", ms=4.5, label=label, zorder=3)
    axes.plot(positions, joined, "-", color=color, lw=1, zorder=2)


def direct_labels(axes: Axes, ends: Sequence[tuple[float, str, str]], gap: float) -> None:
    """Write the names of lines at the right of the axes, each with its end, name and color, at least a gap apart."""
    ordered = sorted(ends)
    heights = apart([end for end, _, _ in ordered], gap)
    for (end, name, color), height in zip(ordered, heights, strict=True):
        axes.annotate(
            name, (1, end), (1.04, height), xycoords=("axes fraction", "data"), textcoords=("axes fraction", "data"),
            va="center", fontsize=7, color=color, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.5, "shrinkA": 1, "shrinkB": 1, "relpos": (0, 0.5)},
        )  # fmt: skip


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Move ascending heights apart so that neighbors do not touch, without a change of their mean."""
    moved: list[float] = []
    for height in heights:
        moved.append(max(height, moved[-1] + gap) if moved else height)
    shift = float(np.mean(moved) - np.mean(heights)) if moved else 0.0
    return [height - shift for height in moved]


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
    axes.add_patch(Rectangle((head - 1.5, layer - 1.5), 1, 1, fc="none", ec=ORANGE, lw=1.4, zorder=4, clip_on=False))
