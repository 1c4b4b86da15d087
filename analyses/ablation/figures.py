"""The figures of the analysis of ablation: the effect of each head, and of removing more and more heads."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...reports.drawing import BLUE, COLUMN, GREEN, GREY, ORANGE, finish, number_ticks, panel, styled
from ...reports.shapes import heatmap
from .tables import AblationTables

_LABELS = {
    "cosine": "1 − cosine of final vectors",
    "l2": "relative change of final vectors",
    "loss": "increase of −log p (nats)",
}
_ORDERS = {"effect": (BLUE, "o"), "importance": (GREEN, "s"), "random": (GREY, "^"), "reverse": (ORANGE, "v")}
_NAMES = {
    "effect": "smallest effect first",
    "importance": "smallest importance first",
    "random": "random (ten orders)",
    "reverse": "largest effect first",
}


def ablation_figures(
    tables: AblationTables, pruning: pd.DataFrame | None, effect: str, *, title: str = ""
) -> dict[str, Figure]:
    """Draw all figures, by the names of their files."""
    figures = {"ablation_heads": heads_figure(tables.heads, effect, title=title)}
    if pruning is not None:
        figures["ablation_pruning"] = pruning_figure(pruning, effect, title=title)
    return figures


@styled
def heads_figure(heads: pd.DataFrame, effect: str, *, title: str = "") -> Figure:
    """Draw the effect of every head as a heatmap: layers are rows, the first on top, and heads are columns."""
    values = heads.pivot_table(effect, "layer", "head", dropna=False)
    values = values.reindex(index=range(1, heads["layer"].max() + 1), columns=range(1, heads["head"].max() + 1))
    figure, axes = panel(COLUMN, 2.6)
    image = heatmap(axes, values, min(0.0, np.nanmin(values.to_numpy())), np.nanmax(values.to_numpy()))
    number_ticks(axes.xaxis, values.shape[1])
    number_ticks(axes.yaxis, values.shape[0])
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    figure.colorbar(image, ax=axes, label=_LABELS[effect])
    finish(figure, axes, title)
    return figure


@styled
def pruning_figure(pruning: pd.DataFrame, effect: str, *, title: str = "") -> Figure:
    """Draw the effect of removing heads against the share of heads that are gone, a line for each order."""
    figure, axes = panel(COLUMN, 2.8, "y")
    rows = pruning[pruning["effect"] == effect]
    for order, (color, marker) in _ORDERS.items():
        line = rows[rows["order"] == order]
        if len(line):
            axes.plot(100 * line["share"], line["value"], color=color, marker=marker, ms=3.5, label=_NAMES[order])
            if line["low"].notna().all():
                axes.fill_between(100 * line["share"], line["low"], line["high"], color=color, alpha=0.25, lw=0)
    axes.set_xlabel("heads switched off (%)")
    axes.set_ylabel(_LABELS[effect])
    finish(figure, axes, title)
    return figure
