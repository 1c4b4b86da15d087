"""The figure of the clusters of heads: their distances in the order of a tree (after Clark et al. 2019, Figure 6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.cluster.hierarchy import dendrogram

from ...reports.drawing import GREY, PAGE, REVERSED, TEXT, finish, layer_shades, styled
from ...reports.format import head_name, rows_of
from ..shared.explored import address
from .geography import Geography

_MOST_NAMED = 72  # heads; of more, those with the largest gains have names
_FAR = 0.97  # larger distances than this share of all are as light as this one
_ROW = 0.1  # the height in inches of a row with a name


@styled
def distances_figure(distances: pd.DataFrame, geography: Geography, heads: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the distances of all heads as a matrix in the order of the tree, which stands in its left margin."""
    # Heads that attend alike are dark blocks. The names of heads have the colors of their layers.
    columns = [name for name in ("layer", "head", "relation", "relation_gain") if name in heads]
    points = geography.embedding.merge(heads[columns], on=["layer", "head"], how="left")
    count, n_layers = len(points), int(points["layer"].max())
    figure = Figure(figsize=(TEXT, 1.3 + max(1.0, _ROW * min(count, _MOST_NAMED))), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=(1, 4), wspace=0)
    tree, axes = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    order = list(range(count))
    if len(geography.merges):
        drawn = dendrogram(
            geography.merges, orientation="left", ax=tree, no_labels=True, color_threshold=0,
            above_threshold_color=GREY,
        )  # fmt: skip
        order = drawn["leaves"]
    tree.set_ylim(10 * count, 0)  # the matrix has its first row on top
    tree.set_xlabel("distance (nats)")
    tree.spines["left"].set_visible(False)
    matrix = distances.to_numpy()[order][:, order]
    far = float(np.quantile(matrix, _FAR))  # a head that is like no other would leave all others alike
    # Thousands of cells are drawn as pixels, because each of them as a shape would make the page heavy.
    # They are not resampled, so that each has a color of the palette, which a dark page can replace.
    image = axes.imshow(matrix, cmap=REVERSED, vmin=0, vmax=far or 1.0, aspect="auto", interpolation="none")
    rows = rows_of(points.iloc[order])
    named = _named(rows)
    axes.yaxis.tick_right()
    axes.set_yticks(named, [_name(rows[position]) for position in named], fontsize=6.5)
    axes.set_xticks([])
    axes.tick_params(length=0, pad=2)
    shades = layer_shades(n_layers)
    for position, label in zip(named, axes.get_yticklabels(), strict=True):
        row = rows[position]
        label.set_color(shades[row["layer"] - 1])
        label.set_url(PAGE + address(head=head_name(row["layer"], row["head"])))
    figure.colorbar(
        image, ax=[tree, axes], label="Jensen-Shannon divergence (nats)", location="bottom", aspect=50, extend="max"
    )
    shown = sorted({1, (n_layers + 1) // 2, n_layers})
    layers = [Line2D([], [], ls="", marker="s", color=shades[layer - 1], label=f"layer {layer}") for layer in shown]
    finish(figure, axes, title, layers)
    return figure


def _named(rows: list[dict[str, object]]) -> list[int]:
    """Return the positions of the rows with names: all, or of each few neighbors the one with the largest gain."""
    step = -(-len(rows) // _MOST_NAMED)
    gains = pd.Series([row.get("relation_gain") for row in rows], dtype=float).fillna(-1.0).to_numpy()
    return [start + int(gains[start : start + step].argmax()) for start in range(0, len(rows), step)]


def _name(row: dict[str, object]) -> str:
    relation = row.get("relation")
    name = head_name(int(str(row["layer"])), int(str(row["head"])))
    return f"{name} {relation}" if isinstance(relation, str) else name
