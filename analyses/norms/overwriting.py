"""What does the feed-forward network add, and what does its layer norm shrink? (Kobayashi et al. 2024, §4.2)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ...extractors.maps.stage_batch import LEFT_OUT
from ...reports.columns import Row, Schema, TableColumn
from ...reports.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    TEXT,
    YELLOW,
    by_layer,
    finish,
    layer_line,
    panels,
    with_style,
)  # fmt: skip
from ...reports.format import rows_of
from ...reports.table import ShownTable
from .block import BlockTables
from .rows import NormCounts, NormQuestion, NormResults, wide_by_layer

OVERWRITING = Schema(
    "norms_overwriting",
    "One row per layer and quantity: what the feed-forward network adds to the residual.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn(
            "quantity",
            "text",
            "`FF`, the norm of what the network computes; `residual`, the norm of what it is added to; or `angle`, "
            "the angle between both in degrees",
        ),
        TableColumn("median", "number", "the median over tokens"),
        TableColumn("low high", "number", "the quartiles"),
        TableColumn("tokens", "count", "tokens"),
    ),
)

DIMENSIONS = Schema(
    "norms_dimensions",
    "One row per layer and rank: the largest dimensions of what the layer norm of the feed-forward block reads.",
    (
        TableColumn("layer", "number from 1", "the layer", "layer"),
        TableColumn("rank", "number from 1", "the rank of the dimension", "rank"),
        TableColumn("dimension", "number from 0", "the dimension, counted from 0 as in the weights", "dimension"),
        TableColumn("size", "number", "its mean absolute value", "mean |x|", digits=2),
        TableColumn("median_size", "number", "the median of this over all dimensions", "median of all", digits=2),
        TableColumn("gamma", "number", "the weight γ of the layer norm for it", "γ", digits=2),
        TableColumn("median_gamma", "number", "the median of γ over all dimensions", "median γ", digits=2),
    ),
)

LEFT = Schema(
    "norms_left_out",
    "One row per layer and number of dimensions that are left out.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("left_out", "count", "how many dimensions are left out, those that are largest in the sentence"),
        TableColumn(
            "change", "number, 0 to 2", "1 − Spearman's ρ between the maps before and after the layer norm without them"
        ),
        TableColumn("sentences", "count", "sentences for which it is defined"),
    ),
)

_SHOWN_DIMENSIONS = 3


class Overwriting(NormQuestion):
    """What does the feed-forward network add, and what does the layer norm after it shrink?"""

    name = "overwriting"
    tables = (OVERWRITING, DIMENSIONS, LEFT)
    needs = ("block",)
    template = Path(__file__).with_name("overwriting.html.j2")

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> BlockTables | None:
        """Return what is known of the block."""
        return earlier.get("block")

    def frames(self, answer: BlockTables, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return all tables but the pairs."""
        return {OVERWRITING.name: answer.overwriting, DIMENSIONS.name: answer.dimensions, LEFT.name: answer.left_out}

    def show(self, answer: BlockTables, results: NormResults) -> Sequence[ShownTable]:
        """Return the norms and angles, the largest dimensions, and the changes without these."""
        largest = rows_of(answer.dimensions[answer.dimensions["rank"] <= _SHOWN_DIMENSIONS])
        title = "The largest dimensions before the layer norm"
        changes = answer.left_out
        changes = changes.assign(left_out=[f"without {n}" if n else "with all" for n in changes["left_out"]])
        title_of_changes = "Change by the layer norm without the largest dimensions, 1 − ρ"
        return (
            _overwriting(answer.overwriting),
            ShownTable("norms_dimensions", title, DIMENSIONS.columns, largest),
            wide_by_layer(changes, "left_out", "change", title_of_changes, name="norms_left_out"),
        )

    def draw(self, answer: BlockTables, results: NormResults, title: str) -> Mapping[str, Figure]:
        """Draw the norms, the angles and the changes by layer."""
        return {"norms_block": block_figure(answer, title=title)} if len(answer.overwriting) else {}


def _overwriting(overwriting: pd.DataFrame) -> ShownTable:
    """Return the medians and quartiles of the norms and of the angle, layer by layer."""
    rows: dict[int, dict[str, Any]] = {}
    for row in rows_of(overwriting):
        cells = {f"{column}:{row['quantity']}": row[column] for column in ("median", "low", "high")}
        rows.setdefault(row["layer"], {"layer": row["layer"], "tokens": row["tokens"]}).update(cells)
    columns = [
        TableColumn("layer", "number from 1", "", "layer"),
        _median_column("FF", "‖FF‖", 2),
        _median_column("residual", "‖residual‖", 2),
        _median_column("angle", "angle (°)", 0),
        TableColumn("tokens", "count", "", "tokens"),
    ]
    title = "What the network adds, and to what: medians and quartiles"
    return ShownTable("norms_overwriting", title, columns, list(rows.values()))


def _median_column(quantity: str, heading: str, digits: int) -> TableColumn:
    """Return the column of the medians of a quantity in `_overwriting`, with the quartiles beside them."""

    def quartiles(row: Row) -> str:
        return f"[{row[f'low:{quantity}']:.{digits}f}, {row[f'high:{quantity}']:.{digits}f}]"

    return TableColumn(f"median:{quantity}", "number", "", heading, digits=digits, beside=quartiles)


@with_style
def block_figure(block: BlockTables, *, title: str = "") -> Figure:
    """Draw the norms of FF and residual, the angle between them, and what LN changes without its largest dimensions."""
    figure, ((norms, angles, changes),) = panels(TEXT, 2.5, columns=3)
    by_quantity = {name: rows.set_index("layer") for name, rows in block.overwriting.groupby("quantity")}
    for axes, name, color, marker in (
        (norms, "residual", GREY, "s"), (norms, "FF", BLUE, "o"), (angles, "angle", PURPLE, "D"),
    ):  # fmt: skip
        rows = by_quantity[name]
        axes.fill_between(rows.index, rows["low"], rows["high"], color=color, alpha=0.25, linewidth=0)
        layer_line(axes, rows["median"], color, marker, name)
    for n_left_out, color, marker in zip((0, *LEFT_OUT), (BLACK, YELLOW, ORANGE, GREEN), "sov^", strict=True):
        rows = block.left_out[block.left_out["left_out"] == n_left_out]
        largest = {0: "all dimensions", 1: "without the largest one"}
        name = f"LN: {largest.get(n_left_out, f'without the {n_left_out} largest')}"
        layer_line(changes, rows.set_index("layer")["change"], color, marker, name)
    layers = block.overwriting["layer"]
    by_layer(norms, layers, "norm: median and quartiles")
    by_layer(angles, layers, "angle of FF and residual (°)")
    by_layer(changes, layers, "change by LN (1 − ρ)")
    norms.set_ylim(bottom=0)
    angles.set_ylim(0, 180)
    angles.set_yticks([0, 45, 90, 135, 180])
    changes.set_ylim(bottom=0)
    finish(figure, changes, title, norms.get_legend_handles_labels()[0])
    return figure
