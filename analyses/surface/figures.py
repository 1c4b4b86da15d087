"""Figures of the surface analyses: what heads attend to, how broadly, what of it matters, and which are alike."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from scipy.cluster.hierarchy import dendrogram

from attentionology.analyses.clusters.geography import Geography
from attentionology.analyses.surface.labels import LABELS
from attentionology.reports.drawing import BLACK, BLUE, CLASSES, GREY, ORANGE, STYLE, by_layer, finish, ticks
from attentionology.reports.format import head_name

_PANELS = (
    ("previous", "to the previous token (%)"),
    ("next", "to the next token (%)"),
    ("self", "to itself (%)"),
    ("first_special", "to {first} (%)"),
    ("last_special", "to {last} (%)"),
    ("punctuation", "to punctuation (%)"),
)
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


def statistics_figure(heads: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """Attention to neighbours, special tokens and punctuation: a dot per head, a line through the means."""
    names = {"first": specials.get("first_special", "–"), "last": specials.get("last_special", "–")}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.9, 4.0), layout="constrained")
        grid = figure.subplots(2, 3, sharey=True)
        for axes, (statistic, label) in zip(grid.flat, _PANELS, strict=True):
            _dots(axes, heads, heads[statistic] * 100, label.format(**names))
            axes.set_ylim(-2, 102)
        for axes in grid[0]:
            axes.set_xlabel("")
        finish(figure, grid[0, 0], title)
    return figure


def entropy_figure(
    heads: pd.DataFrame, layers: pd.DataFrame, specials: Mapping[str, str], *, title: str = ""
) -> Figure:
    """Entropy of all rows and of the first special token's row, with that of uniform attention."""
    panels = [("entropy", "entropy of all rows (nats)")]
    if "first_special" in specials:
        panels.append(("entropy_first", f"entropy of the row of {specials['first_special']} (nats)"))
    uniform = float(layers["uniform_entropy"].iloc[0])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.45 * len(panels), 2.6), layout="constrained")
        grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)
        for axes, (statistic, label) in zip(grid.flat, panels, strict=True):
            _dots(axes, heads, heads[statistic], label)
            axes.axhline(uniform, color=ORANGE, lw=1, ls="--", label="attention to all tokens alike", zorder=1)
            axes.set_ylim(0, uniform * 1.06)
        finish(figure, grid[0, 0], title)
    return figure


def gradients_figure(gradients: pd.DataFrame, specials: Mapping[str, str], *, title: str = "") -> Figure:
    """What the loss depends on, and beside it where attention goes, by layer (mean over heads)."""
    names = class_names(specials)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.9, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, group in gradients.groupby("class", sort=False):
            means = group.groupby("layer")[["gradient", "attention"]].mean()
            colour, marker = CLASSES[str(name)]
            label = names.get(str(name), str(name))
            for axes, values in ((left, means["gradient"]), (right, means["attention"] * 100)):
                axes.plot(means.index, values, marker=marker, color=colour, ms=3.5, lw=1.2, label=label)
        left.set_yscale("log")
        left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        right.set_ylim(bottom=0)
        by_layer(left, gradients["layer"], "mean |∂L/∂α|, per weight")
        by_layer(right, gradients["layer"], "share of attention (%)")
        finish(figure, left, title)
    return figure


def offsets_figure(offsets: pd.DataFrame, *, title: str = "") -> Figure:
    """Attention by offset, a row per layer: mean over heads, and the head that has most."""
    with mpl.rc_context(STYLE):
        n_layers = int(offsets["layer"].max())
        figure = Figure(figsize=(6.9, 1.2 + 0.17 * min(n_layers, 24)), layout="constrained")
        grid = figure.subplots(1, 2, sharey=True)
        by_head = offsets.pivot_table(index=["layer", "head"], columns="offset", values="attention") * 100
        shown = {"mean over heads": by_head.groupby("layer").mean(), "head with most": by_head.groupby("layer").max()}
        for axes, (label, table) in zip(grid, shown.items(), strict=True):
            image = axes.imshow(table.to_numpy(), vmin=0, cmap="cividis", origin="lower", aspect="auto")
            places = range(0, table.shape[1], max(1, table.shape[1] // 11))
            axes.set_xticks(places, [f"{table.columns[i]:+d}" if table.columns[i] else "0" for i in places])
            axes.set_yticks(ticks(n_layers), [str(i + 1) for i in ticks(n_layers)])
            axes.set_xlabel("offset (+1: the next token)")
            figure.colorbar(image, ax=axes, label=f"{label} (%)", pad=0.02)
        grid[0].set_ylabel("layer")
        figure.suptitle(" · ".join(filter(None, [title, "attention by offset"])), fontsize=8, x=0.01, ha="left")
    return figure


def head_map_figure(
    geography: Geography, heads: pd.DataFrame, label_names: Mapping[str, str], *, title: str = ""
) -> Figure:
    """Heads in two dimensions: colour is the layer, the marker what the head is for, words its best relation."""
    places = geography.embedding.merge(heads[[c for c in _SHOWN if c in heads]], on=["layer", "head"])
    n_layers = int(places["layer"].max())
    colours, norm = layer_colours(n_layers)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 4.8), layout="constrained")
        axes = figure.subplots()
        for label in LABELS:
            own = places[places["label"] == label]
            if len(own):
                axes.scatter(
                    own["x"], own["y"], s=34 if label != "other" else 20, marker=_MARKERS[label],
                    c=own["layer"], cmap=colours, norm=norm, edgecolors=BLACK, linewidths=0.4, zorder=3,
                )  # fmt: skip
        if "relation" in places:
            named = places.dropna(subset=["relation"]).nlargest(_MOST_NAMED, "relation_gain")
            for row in named.to_dict("records"):
                text = f"{row['relation']} {head_name(row['layer'], row['head'])}"
                axes.annotate(text, (row["x"], row["y"]), (4, 3), textcoords="offset points", fontsize=6, zorder=4)
        present = [label for label in LABELS if (places["label"] == label).any()]
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
        bar = figure.colorbar(ScalarMappable(norm, colours), ax=axes, label="layer", pad=0.02, shrink=0.9)
        bar.set_ticks([i + 1 for i in ticks(n_layers)])
        bar.ax.minorticks_off()
        axes.set_title(title, loc="left")
    return figure


def tree_figure(geography: Geography, heads: pd.DataFrame, *, title: str = "") -> Figure:
    """Agglomerative clusters of heads as a dendrogram; leaves are coloured by layer and name the best relation."""
    places = geography.embedding.merge(heads[[c for c in _SHOWN if c in heads]], on=["layer", "head"])
    n_layers, count = int(places["layer"].max()), len(places)
    colours, norm = layer_colours(n_layers)
    with mpl.rc_context({**STYLE, "lines.linewidth": 0.9}):
        figure = Figure(figsize=(6.9, 0.9 + 0.105 * count), layout="constrained")
        axes = figure.subplots()
        names = [_leaf(row) for row in places.to_dict("records")]
        drawn = dendrogram(
            geography.merges, orientation="left", ax=axes, labels=names, color_threshold=0,
            above_threshold_color=GREY, leaf_font_size=6,
        )  # fmt: skip
        for at, leaf in enumerate(drawn["leaves"]):
            colour = colours(norm(int(places["layer"].iloc[leaf])))
            axes.plot(0, 10 * at + 5, "s", color=colour, ms=4, mec=BLACK, mew=0.3, clip_on=False, zorder=3)
        axes.tick_params(axis="y", length=0, pad=5)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("Jensen-Shannon divergence, mean over rows (nats)")
        axes.set_title(title, loc="left")
        bar = figure.colorbar(
            ScalarMappable(norm, colours), ax=axes, label="layer", pad=0.02, shrink=0.3, anchor=(0, 1)
        )
        bar.set_ticks([i + 1 for i in ticks(n_layers)])
        bar.ax.minorticks_off()
    return figure


_SHOWN = ("layer", "head", "label", "relation", "relation_gain")


def class_names(specials: Mapping[str, str]) -> dict[str, str]:
    """What the model calls the classes that are named after BERT's special tokens."""
    return {"[CLS]": specials.get("first_special", "[CLS]"), "[SEP]": specials.get("last_special", "[SEP]")}


def layer_colours(n_layers: int) -> tuple[mpl.colors.Colormap, BoundaryNorm]:
    """One colour per layer, from dark to light, told apart with any colour vision and in print."""
    colours = mpl.colormaps["cividis"].resampled(max(n_layers, 2))
    return colours, BoundaryNorm(np.arange(0.5, n_layers + 1), colours.N)


def _leaf(row: Mapping[object, object]) -> str:
    relation = row.get("relation")
    name = head_name(int(str(row["layer"])), int(str(row["head"])))
    return f"{name} {relation}" if isinstance(relation, str) else name


def _dots(axes: Axes, heads: pd.DataFrame, values: pd.Series, label: str) -> None:
    """A dot per head by layer, and the mean of each layer."""
    table = heads[["layer"]].assign(value=values)
    means = table.groupby("layer")["value"].mean()
    axes.plot(table["layer"], table["value"], "o", color=BLUE, ms=3, mew=0, alpha=0.55, label="head", zorder=2)
    axes.plot(means.index, means, "-", color=BLACK, lw=1.2, label="mean of the layer", zorder=3)
    by_layer(axes, table["layer"], label)
