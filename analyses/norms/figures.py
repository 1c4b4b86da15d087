"""The figures of the analysis of norms."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ...reports.drawing import (
    BLACK,
    BLUE,
    CLASSES,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    by_layer,
    finish,
    layer_line,
    panels,
    styled,
)
from .shown_tables import NormResults

_VARIANTS = {
    "attn-w": (GREY, "o", ":"),
    "attnres-w": (GREY, "s", ":"),
    "attn-n": (SKY, "o", "-"),
    "attnres-n": (YELLOW, "s", "-"),
    "attnresln-n": (BLUE, "D", "-"),
    "atbff-n": (PURPLE, "v", "--"),
    "atbffres-n": (GREEN, "^", "--"),
    "atbffresln-n": (ORANGE, "o", "--"),
}
_SHARES = (
    ("weight", "attention weight α (%)", 100),
    ("value_norm", "norm of f(x)", 1),
    ("norm_share", "share of norms ‖αf(x)‖ (%)", 100),
)
_COMPONENTS = {"FF": (BLUE, "o"), "RES": (GREEN, "^"), "LN": (PURPLE, "D"), "FFB": (BLACK, "s")}


def norm_figures(results: NormResults, title: str) -> dict[str, Figure]:
    """Draw all figures, by the names of their files."""
    figures = {
        "norms_shares": shares_figure(results.shares, title=title),
        "norms_mixing": mixing_figure(results.mixing, title=title),
    }
    if results.change is not None:
        figures["norms_change"] = change_figure(results.change, title=title)
    return figures


@styled
def shares_figure(shares: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the weight, the norm of f(x) and the share of norms by class and layer, as means over heads."""
    figure, grid = panels(6.9, 2.5, columns=3)
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
    figure, ((left, right),) = panels(6.9, 3.3, columns=2)
    for variant, (color, marker, style) in _VARIANTS.items():
        is_line = (single_layers["variant"] == variant) & (single_layers["class"] == "all")
        layer_line(left, single_layers[is_line]["mean"] * 100, color, marker, variant, style)
    layer_norm = single_layers[single_layers["variant"] == "attnresln-n"]
    for name, group in layer_norm.groupby("class", sort=False):
        layer_line(right, group["mean"] * 100, *CLASSES[str(name)], str(name))
    left.set_ylim(0, 100)
    right.set_ylim(bottom=0)
    by_layer(left, single_layers.index, "mixing ratio (%), all tokens")
    by_layer(right, single_layers.index, "mixing ratio (%), attnresln-n")
    for axes in (left, right):
        axes.legend(frameon=False, fontsize=6.5, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure


@styled
def change_figure(change: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw how far each component of the feed-forward block rearranges the map, by layer."""
    figure, ((axes,),) = panels(3.6, 2.6)
    for name, group in change.groupby("component", sort=False):
        layer_line(axes, group.set_index("layer")["change"], *_COMPONENTS[str(name)], str(name))
    axes.set_ylim(bottom=0)
    by_layer(axes, change["layer"], "change of the map (1 − ρ)")
    finish(figure, axes, title)
    return figure
