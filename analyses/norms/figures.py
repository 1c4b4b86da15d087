"""The figures of the analysis of norms."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ...extractors.maps.stage_batch import LEFT_OUT
from ...reports.drawing import (
    BLACK,
    BLUE,
    CLASSES,
    COLUMN,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    TEXT,
    YELLOW,
    by_layer,
    finish,
    layer_line,
    panel,
    panels,
    styled,
)
from ...reports.shapes import direct_labels
from .block import PAIR_TYPES, BlockTables
from .shown_tables import NormResults
from .weights_and_norms import WeightsAndNormsTables

_VARIANTS = {
    "attn-w": ("attention (weights)", GREY, "o", ":"),
    "attnres-w": ("+ residual (weights)", GREY, "s", ":"),
    "attn-n": ("attention", SKY, "o", "-"),
    "attnres-n": ("+ residual", YELLOW, "s", "-"),
    "attnresln-n": ("+ layer norm", BLUE, "D", "-"),
    "atbff-n": ("+ FF", PURPLE, "v", "--"),
    "atbffres-n": ("+ FF + residual", GREEN, "^", "--"),
    "atbffresln-n": ("+ layer norm after FF", ORANGE, "o", "--"),
}
"""The name, the color, the marker and the line of each variant."""

_SHARES = (
    ("weight", "attention weight α (%)", 100),
    ("value_norm", "norm of f(x)", 1),
    ("norm_share", "share of norms ‖αf(x)‖ (%)", 100),
)
_AGAINST_RANK = (
    ("value_norm", "norm of f(x)", 1),
    ("weight", "attention weight received (%)", 100),
    ("attnresln-n", "mixing ratio, attnresln-n (%)", 100),
)
_TYPES = dict(zip(PAIR_TYPES, (ORANGE, BLUE, SKY, GREEN, PURPLE, YELLOW, GREY), strict=True))
_PANELS_PER_ROW = 4
_SMALLEST_SHARE = 0.002
_COMPONENTS = {"FF": (BLUE, "o"), "RES": (GREEN, "^"), "LN": (PURPLE, "D"), "FFB": (BLACK, "s")}


def norm_figures(results: NormResults, title: str) -> dict[str, Figure]:
    """Draw all figures, by the names of their files."""
    figures = {
        "norms_shares": shares_figure(results.shares, title=title),
        "norms_mixing": mixing_figure(results.mixing, title=title),
        "norms_frequency": frequency_figure(results.points, title=title),
    }
    if results.spread is not None and len(results.spread.grid):
        figures["norms_grid"] = grid_figure(results.spread, title=title)
    if results.change is not None:
        figures["norms_change"] = change_figure(results.change, title=title)
    if results.block is not None:
        if len(results.block.overwriting):
            figures["norms_block"] = block_figure(results.block, title=title)
        if len(results.block.pairs):
            figures["norms_pairs"] = pairs_figure(results.block.pairs, title=title)
    return figures


@styled
def shares_figure(shares: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the weight, the norm of f(x) and the share of norms by class and layer, as means over heads."""
    figure, grid = panels(TEXT, 2.5, columns=3)
    for axes, (column, label, factor) in zip(grid.flat, _SHARES, strict=True):
        for name, group in shares.groupby("class", sort=False):
            layer_line(axes, group.groupby("layer")[column].mean() * factor, *CLASSES[str(name)], str(name))
        axes.set_ylim(bottom=0)
        by_layer(axes, shares["layer"], label)
    finish(figure, grid[0, 0], title)
    return figure


@styled
def mixing_figure(mixing: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the mixing ratio by layer: all variants over all tokens, and attnresln-n by class of tokens."""
    single_layers = mixing[mixing["layer"] > 0].set_index("layer").sort_index(kind="stable")
    figure, ((left, right),) = panels(TEXT, 3.0, columns=2)
    labels_of_variants = []  # a label stands at the end of its line, and has its color
    for variant, (name, color, marker, style) in _VARIANTS.items():
        is_line = (single_layers["variant"] == variant) & (single_layers["class"] == "all")
        values = single_layers[is_line]["mean"] * 100
        layer_line(left, values, color, marker, f"_{variant}", style)
        if len(values):
            labels_of_variants.append((float(values.iloc[-1]), name, color))
    direct_labels(left, labels_of_variants, 6)
    layer_norm = single_layers[single_layers["variant"] == "attnresln-n"]
    labels_of_classes = []
    for token_class, group in layer_norm.groupby("class", sort=False):
        color, marker = CLASSES[str(token_class)]
        layer_line(right, group["mean"] * 100, color, marker, f"_{token_class}")
        labels_of_classes.append((float(100 * group["mean"].iloc[-1]), str(token_class), color))
    left.set_ylim(0, 100)
    right.set_ylim(bottom=0)
    direct_labels(right, labels_of_classes, 0.06 * right.get_ylim()[1])
    by_layer(left, single_layers.index, "mixing ratio (%)")
    by_layer(right, single_layers.index, "mixing ratio (%)")
    left.set_title("all tokens", loc="left")
    right.set_title(f"{_VARIANTS['attnresln-n'][0]}, by class", loc="left")
    finish(figure, left, title)
    return figure


@styled
def change_figure(change: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw how far each component of the feed-forward block rearranges the map, by layer."""
    figure, axes = panel(COLUMN, 2.6)
    for name, group in change.groupby("component", sort=False):
        layer_line(axes, group.set_index("layer")["change"], *_COMPONENTS[str(name)], str(name))
    axes.set_ylim(bottom=0)
    by_layer(axes, change["layer"], "change of the map (1 − ρ)")
    finish(figure, axes, title)
    return figure


@styled
def grid_figure(spread: WeightsAndNormsTables, *, title: str = "") -> Figure:
    """Draw α against ‖f(x)‖ by class, for all layers and each. The area of a dot is its share of the class's pairs."""
    layers = spread.grid.groupby("layer", sort=False)
    correlations = spread.correlation[spread.correlation["head"] == 0].set_index(["layer", "class"])["rho"]
    n_columns = min(len(layers), _PANELS_PER_ROW)
    n_rows = -(-len(layers) // n_columns)
    figure, grid = panels(TEXT, 1.75 * n_rows + 0.5, n_rows, n_columns, sharex=True, sharey=True)
    for axes, (layer, cells_of_layer) in zip(grid.flat, layers, strict=False):
        for name, cells in cells_of_layer.groupby("class", sort=False):
            # The lowest cell has no lower edge on a logarithmic axis, and rare cells would cover what is frequent.
            share = cells["pairs"] / cells["pairs"].sum()
            is_drawn = (share >= _SMALLEST_SHARE) & (cells["weight"] > 0) & (cells["value_norm"] > 0)
            color, marker = CLASSES[str(name)]
            axes.scatter(
                cells["weight"][is_drawn] * 2**0.5 * 100,  # the middle of the octave
                cells["value_norm"][is_drawn] * 2**0.125,  # the middle of the quarter of an octave
                s=250 * share[is_drawn],
                color=color,
                marker=marker,
                alpha=0.55,
                linewidths=0,
                label=str(name) if axes is grid.flat[0] else None,
            )
        rho = correlations.get((layer, "all"), float("nan"))
        scope = "layer " + str(layer) if layer else "all layers"
        axes.set_title(f"{scope}, ρ = {rho:.2f}")
        _log_scale(axes, "x", "y")
    for axes in grid.flat[len(layers) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("attention weight α (%)")
    for axes in grid[:, 0]:
        axes.set_ylabel("norm of f(x)")
    finish(figure, grid[0, 0], title)
    for handle in figure.legends[0].legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([20])  # in the panels, sizes have a meaning
    return figure


def _log_scale(axes: Axes, *names: Literal["x", "y"]) -> None:
    """Make the axes of these names logarithmic, with a plain number at each power of 10."""
    for name in names:
        axes.set(**{f"{name}scale": "log"})
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


@styled
def frequency_figure(points: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the frequency rank of tokens against ‖f(x)‖, the weight that they receive, and their mixing ratio."""
    figure, grid = panels(TEXT, 2.5, columns=3)
    for axes, (column, label, factor) in zip(grid.flat, _AGAINST_RANK, strict=True):
        for is_special, name, color, marker in ((False, "words", BLUE, "o"), (True, "[CLS], [SEP]", ORANGE, "s")):
            tokens = points[points["special"] == is_special]
            values = tokens[column] * factor
            axes.scatter(tokens["rank"], values, s=5, color=color, marker=marker, alpha=0.5, linewidths=0)
            axes.scatter([], [], s=12, color=color, marker=marker, label=name)  # a larger dot for the legend
        _log_scale(axes, "x")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("frequency rank")
        axes.set_ylabel(label)
    finish(figure, grid[0, 0], title)
    return figure


@styled
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
        name = f"without {n_left_out}" if n_left_out else "all dimensions"
        layer_line(changes, rows.set_index("layer")["change"], color, marker, name)
    layers = block.overwriting["layer"]
    by_layer(norms, layers, "norm: median and quartiles")
    by_layer(angles, layers, "angle of FF and residual (°)")
    by_layer(changes, layers, "change by LN (1 − ρ)")
    norms.set_ylim(bottom=0)
    angles.set_ylim(0, 180)
    angles.set_yticks([0, 45, 90, 135, 180])
    changes.set_ylim(bottom=0)
    finish(figure, norms, title, changes.get_legend_handles_labels()[0])
    return figure


@styled
def pairs_figure(pairs: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the types of the pairs that FF amplifies most, layer by layer, beside those of all pairs."""
    figure, axes = panel(TEXT, 2.8)
    shares = pairs.pivot_table(index="layer", columns="type", values="share", aggfunc="sum").fillna(0)
    shares_of_all = pairs.pivot_table(index="layer", columns="type", values="share_of_all", aggfunc="sum").fillna(0)
    shares.loc[0] = shares_of_all.mean()  # the bar of all pairs, left of the layers
    shares = shares.sort_index()
    bottom = pd.Series(0.0, index=shares.index)
    for name in PAIR_TYPES:
        if name in shares:
            axes.bar(shares.index, shares[name] * 100, bottom=bottom * 100, color=_TYPES[name], width=0.8, label=name)
            bottom += shares[name]
    axes.set_xticks(shares.index, ["all\npairs", *(str(layer) for layer in shares.index[1:])])
    axes.set_xlabel("layer, the pairs that are amplified most")
    axes.set_ylabel("share of pairs (%)")
    axes.set_ylim(0, 100)
    finish(figure, axes, title)
    return figure
