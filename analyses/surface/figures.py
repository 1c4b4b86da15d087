"""The figures of the analysis of surface patterns: where heads attend, how broadly, and how much of it matters."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, Colormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ...reports.drawing import BLACK, BLUE, CLASSES, ORANGE, by_layer, finish, layer_line, number_ticks, panels, styled
from .shown_tables import SurfaceResults, class_names

_PANELS = (
    ("previous", "to the previous token (%)"),
    ("next", "to the next token (%)"),
    ("self", "to itself (%)"),
    ("first_special", "to {first} (%)"),
    ("last_special", "to {last} (%)"),
    ("punctuation", "to punctuation (%)"),
)


def surface_figures(results: SurfaceResults, title: str) -> dict[str, Figure]:
    """Draw all figures, by the names of their files. Those that the template does not place follow at its end."""
    heads, layers, offsets, _ = results.tables
    figures = {
        "surface_statistics": statistics_figure(heads, results.specials, title=title),
        "surface_offsets": offsets_figure(offsets, title=title),
        "surface_entropy": entropy_figure(heads, layers, results.specials, title=title),
    }
    if results.specials:
        figures["surface_special"] = special_figure(heads, results.specials, title=title)
    if results.gradients is not None:
        figures["surface_gradients"] = gradients_figure(results.gradients, results.specials, title=title)
    return figures


@styled
def statistics_figure(heads: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """Draw attention to neighbors, special tokens and punctuation: a dot per head, and a line through the means."""
    names = {"first": specials.get("first_special", "–"), "last": specials.get("last_special", "–")}
    figure, grid = panels(6.9, 4.0, 2, 3, sharey=True)
    for axes, (statistic, label) in zip(grid.flat, _PANELS, strict=True):
        _dots(axes, heads, heads[statistic] * 100, label.format(**names))
        axes.set_ylim(-2, 102)
    for axes in grid[0]:
        axes.set_xlabel("")
    finish(figure, grid[0, 0], title)
    return figure


@styled
def special_figure(heads: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """Draw attention to special tokens from themselves and from all others (Clark et al. 2019, Figure 2 below)."""
    shown = [(end, specials[f"{end}_special"]) for end in ("first", "last") if f"{end}_special" in specials]
    figure, grid = panels(3.45 * len(shown), 2.6, columns=len(shown), sharey=True)
    for axes, (end, name) in zip(grid.flat, shown, strict=True):
        for column, source, color, marker in (
            (f"rest_to_{end}", "all others", BLUE, "o"),
            (f"{end}_to_{end}", "themselves", ORANGE, "s"),
        ):
            _dots(axes, heads, heads[column] * 100, f"attention to {name} (%)", f"from {source}", color, marker)
        axes.set_ylim(-2, 102)
    finish(figure, grid[0, 0], title)
    return figure


@styled
def entropy_figure(
    heads: pd.DataFrame, layers: pd.DataFrame, specials: Mapping[str, str], *, title: str = ""
) -> Figure:
    """Draw the entropy of all rows and of the first special token's row, with the entropy of uniform attention."""
    shown = [("entropy", "entropy of all rows (nats)")]
    if "first_special" in specials:
        shown.append(("entropy_first", f"entropy of the row of {specials['first_special']} (nats)"))
    uniform = float(layers["uniform_entropy"].iloc[0])
    figure, grid = panels(3.45 * len(shown), 2.6, columns=len(shown), sharey=True)
    for axes, (statistic, label) in zip(grid.flat, shown, strict=True):
        _dots(axes, heads, heads[statistic], label)
        axes.axhline(uniform, color=ORANGE, lw=1, ls="--", label="uniform attention", zorder=1)
        axes.set_ylim(0, uniform * 1.06)
    finish(figure, grid[0, 0], title)
    return figure


@styled
def gradients_figure(gradients: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """Draw how much the loss depends on attention, and beside it where attention goes, by layer (mean over heads)."""
    names = class_names(specials)
    figure, ((left, right),) = panels(6.9, 2.6, columns=2)
    for name, group in gradients.groupby("class", sort=False):
        means = group.groupby("layer")[["gradient", "attention"]].mean()
        for axes, values in ((left, means["gradient"]), (right, means["attention"] * 100)):
            layer_line(axes, values, *CLASSES[str(name)], names.get(str(name), str(name)))
    left.set_yscale("log")
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    right.set_ylim(bottom=0)
    by_layer(left, gradients["layer"], "mean |∂L/∂α|, per weight")
    by_layer(right, gradients["layer"], "share of attention (%)")
    finish(figure, left, title)
    return figure


@styled
def offsets_figure(offsets: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw attention by offset, with a row per layer: the mean over heads, and the head with the most attention."""
    n_layers = int(offsets["layer"].max())
    figure, (grid,) = panels(6.9, 1.2 + 0.17 * min(n_layers, 24), columns=2, sharey=True)
    by_head = offsets.pivot_table(index=["layer", "head"], columns="offset", values="attention") * 100
    shown = {"mean over heads": by_head.groupby("layer").mean(), "head with most": by_head.groupby("layer").max()}
    for axes, (label, table) in zip(grid, shown.items(), strict=True):
        image = axes.imshow(table.to_numpy(), vmin=0, cmap="cividis", origin="lower", aspect="auto")
        labelled = range(0, table.shape[1], max(1, table.shape[1] // 11))
        axes.set_xticks(labelled, [f"{table.columns[i]:+d}" if table.columns[i] else "0" for i in labelled])
        number_ticks(axes.yaxis, n_layers)
        axes.set_xlabel("offset (+1: the next token)")
        figure.colorbar(image, ax=axes, label=f"{label} (%)", pad=0.02)
    grid[0].set_ylabel("layer")
    figure.suptitle(" · ".join(filter(None, [title, "attention by offset"])), fontsize=8, x=0.01, ha="left")
    return figure


def layer_colors(n_layers: int) -> tuple[Colormap, BoundaryNorm]:
    """Return one color per layer, from dark to light, which are distinct with any color vision and in print."""
    colors = mpl.colormaps["cividis"].resampled(max(n_layers, 2))
    return colors, BoundaryNorm(np.arange(0.5, n_layers + 1), colors.N)


def _dots(
    axes: Axes,
    heads: pd.DataFrame,
    values: pd.Series,
    label: str,
    name: str = "",
    color: str = BLUE,
    marker: str = "o",
) -> None:
    """Draw a dot per head by layer, and the mean of each layer, in one color if there is a name for both."""
    table = heads[["layer"]].assign(value=values)
    means = table.groupby("layer")["value"].mean()
    dots, line = (f"{name}: head", f"{name}: mean") if name else ("head", "mean of the layer")
    axes.plot(table["layer"], table["value"], marker, color=color, ms=3, mew=0, alpha=0.55, label=dots, zorder=2)
    axes.plot(means.index, means, "-", color=color if name else BLACK, lw=1.2, label=line, zorder=3)
    by_layer(axes, table["layer"], label)
