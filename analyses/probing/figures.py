"""Figures of trained probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...extractors import DIRECTIONS
from ...reports.drawing import (
    AROUND_ZERO,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    TEXT,
    YELLOW,
    finish,
    number_ticks,
    panel,
    panels,
    series_label,
    styled,
    ticks,
)
from ...reports.format import ARROWS, percent
from ...reports.shapes import by_bins, heatmap, name_rows
from .attachment import ROOT_LENGTH
from .methods import RANDOM

_COLORS = {
    "right-branching": GREY,
    "best offset": GREY,
    "best offset of the gold relation": YELLOW,
    "best single head": GREEN,
    "attention": BLUE,
    "attention+words": ORANGE,
    "words+distances": PURPLE,
    "attention, random weights": SKY,
    "attention+words, random weights": SKY,
}
_BINS = (
    ("root", ROOT_LENGTH, ROOT_LENGTH), ("1", 1, 1), ("2", 2, 2), ("3–4", 3, 4), ("5–8", 5, 8), ("9+", 9, 10**9),
)  # fmt: skip
"""Ranges of lengths: their names, and the first and the last length of each."""

_NOT_BY_LENGTH = ("right-branching", "best offset of the gold relation")


@styled
def methods_figure(methods: pd.DataFrame, *, title: str) -> Figure:
    """Draw scores of all methods as bars with intervals; the control task as a hollow mark, trees as a filled one."""
    rows = methods[methods["decoding"] == "argmax"].to_dict("records")
    tree_rows = methods[methods["decoding"] == "tree"].to_dict("records")
    figure, axes = panel(TEXT, 0.9 + 0.28 * len(rows), "x")
    for position, row in enumerate(rows):
        score = 100 * row["uas"]
        axes.barh(position, score, height=0.62, color=_COLORS.get(row["method"], BLACK), zorder=2)
        if row["uas_low"] < row["uas_high"]:
            low, high = 100 * row["uas_low"], 100 * row["uas_high"]
            axes.plot([low, high], [position, position], color=BLACK, linewidth=1, zorder=3)
    marks: list[tuple[str, str, Any, dict[str, float]]] = [
        ("control task", "D", {"facecolor": "white", "edgecolor": BLACK}, _by_method(rows, "control_accuracy")),
        ("as a tree", "^", {"color": BLACK}, _by_method(tree_rows, "uas")),
        ("paper, on the Penn Treebank", "|", {"color": BLACK, "linewidth": 2}, _by_method(rows, "paper_uas")),
    ]
    names = [row["method"] for row in rows]
    for label, marker, style, by_method in marks:
        positions = [position for position, name in enumerate(names) if name in by_method]
        values = [100 * by_method[names[position]] for position in positions]
        if positions:
            axes.scatter(values, positions, s=18, marker=marker, zorder=4, label=label, **style)
    name_rows(axes, names, [percent(row["uas"]) for row in rows])
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 100)
    axes.set_xlabel("unlabeled attachment score without punctuation (%)")
    finish(figure, axes, title)
    return figure


def _by_method(rows: Sequence[dict[Any, Any]], column: str) -> dict[str, float]:
    """Return the values of a column by method, where there is one."""
    values = {row["method"]: float(row.get(column, np.nan)) for row in rows}
    return {method: value for method, value in values.items() if not np.isnan(value)}


@styled
def lengths_figure(lengths: pd.DataFrame, *, title: str) -> Figure:
    """Draw scores by the distance between word and head. Roots have no distance, so no line leads to them."""
    left_out = lengths["method"].isin(_NOT_BY_LENGTH) | lengths["method"].str.endswith(RANDOM)
    table = by_bin(lengths[(lengths["decoding"] == "argmax") & ~left_out])
    bins = list(dict.fromkeys(table["bin"]))
    totals = table.groupby("bin", sort=False)["total"].first()  # the same for all methods
    figure, axes = panel(TEXT, 3.0, "y")
    for marker, (method, rows) in zip(cycle("osD^vP"), table.groupby("method", sort=False), strict=False):
        scores = rows.set_index("bin")["uas"].reindex(bins)
        color = _COLORS.get(str(method), BLACK)
        by_bins(axes, 100 * scores, totals[bins], color, marker, str(method), first=int("root" in bins))
    axes.set_xticks(range(len(bins)), [f"{name}\nn = {totals[name]:,}" for name in bins])
    axes.set_xlabel("distance between word and head, in words")
    axes.set_ylabel("UAS (%)")
    axes.set_ylim(0, 100)
    finish(figure, axes, title)
    return figure


def by_bin(lengths: pd.DataFrame) -> pd.DataFrame:
    """Return scores by ranges of lengths, roots first: ``method, bin, total, uas``."""
    rows = []
    for method, table in lengths.groupby("method", sort=False):
        for name, low, high in _BINS:
            in_bin = table[table["length"].between(low, high)]
            if total := int(in_bin["total"].sum()):
                correct = (in_bin["correct"] / in_bin["runs"]).sum()
                rows.append({"method": method, "bin": name, "total": total, "uas": correct / total})
    return pd.DataFrame(rows)


@styled
def training_figure(history: pd.DataFrame, *, title: str) -> Figure:
    """Draw loss and scores by epoch, a line for each run; dots where there is one epoch."""
    epochs = history[(history["task"] == "dependencies") & (history["fold"] == 1)]
    last = int(epochs["epoch"].max())
    figure, ((loss_axes, train_axes, dev_axes),) = panels(TEXT, 2.8, columns=3)
    for axes, column, label, factor in (
        (loss_axes, "loss", "loss per word (nats)", 1),
        (train_axes, "train_uas", "UAS in training (%)", 100),
        (dev_axes, "dev_uas", "dev UAS (%)", 100),
    ):
        for (method, run), rows in epochs.groupby(["method", "run"], sort=False):
            trained, _, random = str(method).partition(",")  # see `RANDOM`
            axes.plot(
                rows["epoch"],
                factor * rows[column].astype(float),
                marker="o",
                markersize=3,
                linewidth=0.8,
                linestyle=":" if random else "-",
                markerfacecolor="white" if random else None,
                color=_COLORS.get(trained, BLACK),
                label=series_label(str(method)) if run == 1 else None,
            )
        axes.set_xlabel("epoch")
        axes.set_ylabel(label)
        axes.set_xticks([tick + 1 for tick in ticks(last)])
        axes.set_xlim(0.5, last + 0.5)
        if not epochs[column].notna().any():
            axes.text(0.5, 0.5, "no dev sentences", transform=axes.transAxes, ha="center", color=GREY)
            axes.set_yticks([])
    finish(figure, loss_axes, title)
    return figure


@styled
def weights_figure(heads: Mapping[str, pd.DataFrame], *, title: str) -> Figure:
    """Draw the learned weight of every head in both directions, a row of heatmaps per probe."""
    first_table = next(iter(heads.values()))  # all have the same heads
    n_layers, n_heads = int(first_table["layer"].max()), int(first_table["head"].max())
    height = 0.5 + len(heads) * max(1.7, 0.6 + 0.14 * n_layers)
    figure, grid = panels(TEXT, height, len(heads), 2)
    for row, (name, table) in zip(grid, heads.items(), strict=True):
        limit = float(table["weight"].abs().max()) or 1.0
        for axes, direction in zip(row, DIRECTIONS, strict=True):
            weights = table[table["direction"] == direction].pivot_table("weight", "layer", "head")
            cells = heatmap(axes, weights, -limit, limit, colors=AROUND_ZERO)
            number_ticks(axes.xaxis, n_heads)
            number_ticks(axes.yaxis, n_layers)
            axes.set_title(f"{name}: {ARROWS[direction]}", loc="left")
            axes.set_xlabel("head")
        row[0].set_ylabel("layer")
        figure.colorbar(cells, ax=list(row), label="weight")  # both have the same scale
    finish(figure, grid[0, 0], title)
    return figure
