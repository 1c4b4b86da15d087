"""The figures of the clusters of heads (Clark et al. 2019, Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.cluster.hierarchy import dendrogram

from ...reports.drawing import BLACK, GREY, STYLE, panels, styled, ticks
from ...reports.format import head_name, rows_of
from ..surface.figures import layer_colors
from ..surface.labels import LABELS
from .geography import Geography

_MARKERS = {
    "next": ">",
    "previous": "<",
    "self": "D",
    "broad": "s",
    "first-special": "^",
    "last-special": "v",
    "punctuation": "P",
    "other": "o",
}
_MOST_NAMED = 12
_SHOWN = ("layer", "head", "label", "relation", "relation_gain")


@styled
def head_map_figure(
    geography: Geography, heads: pd.DataFrame, label_names: Mapping[str, str], *, title: str = ""
) -> Figure:
    """Draw the heads in two dimensions."""
    points = geography.embedding.merge(heads[[c for c in _SHOWN if c in heads]], on=["layer", "head"])
    n_layers = int(points["layer"].max())
    colors, norm = layer_colors(n_layers)
    figure, ((axes,),) = panels(5.2, 4.8)
    for label in LABELS:
        labeled = points[points["label"] == label]
        if len(labeled):
            axes.scatter(
                labeled["x"], labeled["y"], s=34 if label != "other" else 20, marker=_MARKERS[label],
                c=labeled["layer"], cmap=colors, norm=norm, edgecolors=BLACK, linewidths=0.4, zorder=3,
            )  # fmt: skip
    if "relation" in points:
        named = points.dropna(subset=["relation"]).nlargest(_MOST_NAMED, "relation_gain")
        for row in named.to_dict("records"):
            text = f"{row['relation']} {head_name(row['layer'], row['head'])}"
            axes.annotate(text, (row["x"], row["y"]), (4, 3), textcoords="offset points", fontsize=6, zorder=4)
    present = [label for label in LABELS if (points["label"] == label).any()]
    figure.legend(
        handles=[
            Line2D([], [], ls="", marker=_MARKERS[label], mfc="#dddddd", mec=BLACK, mew=0.5, ms=5,
                   label=label_names.get(label, label))
            for label in [*present[1:], *present[:1]]
        ],
        loc="outside lower center", ncols=4, frameon=False, handletextpad=0.2,
    )  # fmt: skip
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("first dimension (nats)")
    axes.set_ylabel("second dimension (nats)")
    _layer_bar(axes, n_layers, shrink=0.9)
    axes.set_title(title, loc="left")
    return figure


def tree_figure(geography: Geography, heads: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the clusters of heads as a dendrogram, whose leaves are colored by layer and name the best relation."""
    points = geography.embedding.merge(heads[[c for c in _SHOWN if c in heads]], on=["layer", "head"])
    n_layers, count = int(points["layer"].max()), len(points)
    colors, norm = layer_colors(n_layers)
    with mpl.rc_context({**STYLE, "lines.linewidth": 0.9}):
        figure, ((axes,),) = panels(6.9, 0.9 + 0.105 * count)
        names = [_leaf(row) for row in rows_of(points)]
        tree = dendrogram(
            geography.merges, orientation="left", ax=axes, labels=names, color_threshold=0,
            above_threshold_color=GREY, leaf_font_size=6,
        )  # fmt: skip
        for row, leaf in enumerate(tree["leaves"]):
            color = colors(norm(int(points["layer"].iloc[leaf])))
            axes.plot(0, 10 * row + 5, "s", color=color, ms=4, mec=BLACK, mew=0.3, clip_on=False, zorder=3)
        axes.tick_params(axis="y", length=0, pad=5)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("Jensen-Shannon divergence, mean over rows (nats)")
        axes.set_title(title, loc="left")
        _layer_bar(axes, n_layers, shrink=0.3, anchor=(0, 1))
    return figure


def _layer_bar(axes: Axes, n_layers: int, **place: Any) -> None:
    """Draw the colors of the layers beside the axes."""
    mappable = ScalarMappable(*layer_colors(n_layers)[::-1])
    bar = axes.figure.colorbar(mappable, ax=axes, label="layer", pad=0.02, **place)
    bar.set_ticks([position + 1 for position in ticks(n_layers)])
    bar.ax.minorticks_off()


def _leaf(row: Mapping[str, Any]) -> str:
    relation = row.get("relation")
    name = head_name(int(str(row["layer"])), int(str(row["head"])))
    return f"{name} {relation}" if isinstance(relation, str) else name
