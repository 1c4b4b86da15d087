"""The figures of the analysis of norms."""

from __future__ import annotations

import matplotlib as mpl
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
    STYLE,
    YELLOW,
    by_layer,
    finish,
)
from .results import NormResults

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


def shares_figure(shares: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the weight, the norm of f(x) and the share of norms by class and layer, as means over heads."""
    panels = (
        ("weight", "attention weight α (%)", 100),
        ("value_norm", "norm of f(x)", 1),
        ("norm_share", "share of norms ‖αf(x)‖ (%)", 100),
    )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.9, 2.5), layout="constrained")
        grid = figure.subplots(1, 3)
        for axes, (column, label, factor) in zip(grid, panels, strict=True):
            for name, group in shares.groupby("class", sort=False):
                means = group.groupby("layer")[column].mean() * factor
                color, marker = CLASSES[str(name)]
                axes.plot(means.index, means, marker=marker, color=color, ms=3.5, lw=1.2, label=str(name))
            axes.set_ylim(bottom=0)
            by_layer(axes, shares["layer"], label)
        finish(figure, grid[0], title)
    return figure


def mixing_figure(mixing: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the mixing ratio by layer: all variants over all tokens, and attnresln-n by class of tokens."""
    single_layers = mixing[mixing["layer"] > 0]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.9, 3.3), layout="constrained")
        left, right = figure.subplots(1, 2)
        for variant, (color, marker, style) in _VARIANTS.items():
            is_line = (single_layers["variant"] == variant) & (single_layers["class"] == "all")
            line = single_layers[is_line].sort_values("layer")
            left.plot(
                line["layer"], line["mean"] * 100, style, marker=marker, color=color, ms=3.5, lw=1.2, label=variant
            )
        layer_norm = single_layers[single_layers["variant"] == "attnresln-n"]
        for name, group in layer_norm.groupby("class", sort=False):
            color, marker = CLASSES[str(name)]
            line = group.sort_values("layer")
            right.plot(line["layer"], line["mean"] * 100, marker=marker, color=color, ms=3.5, lw=1.2, label=str(name))
        left.set_ylim(0, 100)
        right.set_ylim(bottom=0)
        by_layer(left, single_layers["layer"], "mixing ratio (%), all tokens")
        by_layer(right, single_layers["layer"], "mixing ratio (%), attnresln-n")
        for axes in (left, right):
            axes.legend(frameon=False, fontsize=6.5, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
        figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    return figure


def change_figure(change: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw how far each component of the feed-forward block rearranges the map, by layer."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.6, 2.6), layout="constrained")
        axes = figure.subplots()
        for name, group in change.groupby("component", sort=False):
            color, marker = _COMPONENTS[str(name)]
            line = group.sort_values("layer")
            axes.plot(line["layer"], line["change"], marker=marker, color=color, ms=3.5, lw=1.2, label=str(name))
        axes.set_ylim(bottom=0)
        by_layer(axes, change["layer"], "change of the map (1 − ρ)")
        finish(figure, axes, title)
    return figure
