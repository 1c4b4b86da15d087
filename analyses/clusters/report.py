"""The section, the figures and the part in the explorer of the heads that attend alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.cluster.hierarchy import dendrogram

from ...reports.columns import Row, TableColumn
from ...reports.drawing import GREY, PAGE, REVERSED, TEXT, finish, layer_shades, styled
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.finding import Finding
from ...reports.format import head_name, number, ranges, rows_of
from ...reports.page import Section
from ...reports.table import ShownTable
from ...reports.tables import records
from ..comparison.differences import is_significant
from ..contract import Titles
from ..shared.explored import address, head_measures, names_of, share
from ..shared.previews import Previewed
from ..surface.rows import label_names
from .columns import HEAD_EMBEDDING, HEAD_NEIGHBORS
from .distances import HeadDistanceTables
from .geography import Geography

_MAX_NAMED = 72  # heads; of more, those with the largest gains have names


@styled
def distances_figure(distances: pd.DataFrame, geography: Geography, heads: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw the distances of all heads as a matrix in the order of the tree, which stands in its left margin."""
    # Heads that attend alike are dark blocks. The names of heads have the colors of their layers.
    columns = [name for name in ("layer", "head", "relation", "relation_gain") if name in heads]
    points = geography.embedding.merge(heads[columns], on=["layer", "head"], how="left")
    n_heads, n_layers = len(points), int(points["layer"].max())
    matrix_height = max(1.0, 0.1 * min(n_heads, _MAX_NAMED))  # in inches, 0.1 for each name
    figure = Figure(figsize=(TEXT, 1.3 + matrix_height), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=(1, 4), wspace=0)
    tree, axes = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    order = list(range(n_heads))
    if len(geography.merges):
        one_color = {"color_threshold": 0, "above_threshold_color": GREY}
        order = dendrogram(geography.merges, orientation="left", ax=tree, no_labels=True, **one_color)["leaves"]
    tree.set_ylim(10 * n_heads, 0)  # a dendrogram has 10 units for each head; the matrix has its first row on top
    tree.set_xlabel("distance (nats)")
    tree.spines["left"].set_visible(False)
    matrix = distances.to_numpy()[order][:, order]
    # The largest 3 % have one color, as a head that is like no other would leave all others alike.
    lightest = float(np.quantile(matrix, 0.97)) or 1.0  # 0 if all heads are alike
    # Thousands of cells are drawn as pixels, because each of them as a shape would make the page heavy.
    # They are not resampled, so that each has a color of the palette, which a dark page can replace.
    image = axes.imshow(matrix, cmap=REVERSED, vmin=0, vmax=lightest, aspect="auto", interpolation="none")
    rows = rows_of(points.iloc[order])
    # Every row has a name or, of each few neighbors, the one with the largest gain.
    step = -(-n_heads // _MAX_NAMED)
    gains = pd.Series([row.get("relation_gain") for row in rows], dtype=float).fillna(-1.0).to_numpy()
    named_rows = [start + int(gains[start : start + step].argmax()) for start in range(0, n_heads, step)]
    axes.yaxis.tick_right()
    axes.set_yticks(named_rows, [_name(rows[index]) for index in named_rows], fontsize=6.5)
    axes.set_xticks([])
    axes.tick_params(length=0, pad=2)
    shades = layer_shades(n_layers)
    for index, label in zip(named_rows, axes.get_yticklabels(), strict=True):
        row = rows[index]
        label.set_color(shades[row["layer"] - 1])
        label.set_url(PAGE + address(head=head_name(row["layer"], row["head"])))
    figure.colorbar(
        image, ax=[tree, axes], label="Jensen-Shannon divergence (nats)", location="bottom", aspect=50, extend="max"
    )
    legend = [
        Line2D([], [], ls="", marker="s", color=shades[layer - 1], label=f"layer {layer}")
        for layer in sorted({1, (n_layers + 1) // 2, n_layers})
    ]
    finish(figure, axes, title, legend)
    return figure


def _name(row: dict[str, Any]) -> str:
    name = head_name(row["layer"], row["head"])
    return f"{name} {row['relation']}" if isinstance(row.get("relation"), str) else name


_MAX_MEMBERS = 40
"""The number of heads of a cluster that the page names."""


@dataclass(frozen=True, repr=False)
class ClusterResults(Previewed):
    """The results of the analysis ``clusters``. Layers and heads are 1-based, distances are in nats.

    Attributes:
        distances: the square tables ``distances.per_row`` and ``distances.sums``, whose rows and columns are heads,
            such as ``3-9``.
        geography: the map and the clusters that follow from the distances. ``geography.embedding`` has one row per
            ``layer`` and ``head`` with its ``x``, ``y``, ``cluster``, ``nearest`` head and ``nearest_distance``;
            ``geography.neighbors`` has one row per ``question`` about layers, with the value ``found`` and its ``p``.
        heads: the surface statistics of the heads, as in `attentionology.analyses.SurfaceResults`.
        specials, notes: as in `attentionology.analyses.SurfaceResults`.
        notes_shown: whether the surface analysis of the same run shows the notes already.
    """

    distances: HeadDistanceTables
    geography: Geography
    heads: pd.DataFrame
    specials: Mapping[str, str]
    notes: tuple[str, ...] = ()
    notes_shown: bool = False


def clusters_section(results: ClusterResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    title = (titles or Titles()).figure
    geography, distances = results.geography, results.distances
    columns = [name for name in ("layer", "head", "label", "labels", "relation") if name in results.heads]
    embedding = geography.embedding.merge(results.heads[columns], on=["layer", "head"])
    return Section(
        title="Which attention heads attend alike",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "notes": results.notes,
            "rows": distances.rows,
            "silhouette": geography.silhouette,
            "has_relations": "relation" in embedding and bool(embedding["relation"].notna().any()),
            "neighbors": geography.neighbors.to_dict("records"),
            "clusters": embedding["cluster"].nunique(),
        },
        shown=(neighbors_table(results), _clusters_table(embedding, label_names(results.specials))),
        summary={
            "head_embedding": records(embedding),
            "head_neighbors": records(geography.neighbors),
            "head_geography": records(
                pd.DataFrame([{"rows": distances.rows, "stress": geography.stress, "silhouette": geography.silhouette}])
            ),
        },
        tables={
            "head_distances": distances.per_row.reset_index(names="head"),
            "head_distances_sum": distances.sums.reset_index(names="head"),
            "head_embedding": embedding,
            "head_neighbors": geography.neighbors,
        },
        figures={"head_distances": distances_figure(distances.per_row, geography, results.heads, title=title)},
    )


def neighbors_table(results: ClusterResults) -> ShownTable:
    """Return whether the heads of a layer attend alike."""
    geography = results.geography
    summary = (
        f"Stress of the map in two dimensions: {number(geography.stress, 2)}. Number of clusters: "
        f"{geography.embedding['cluster'].nunique()}, mean silhouette {number(geography.silhouette, 2)}."
    )
    further_notes = () if results.notes_shown else results.notes
    return ShownTable(
        "head_neighbors",
        f"Which heads attend alike (Jensen-Shannon divergence, {results.distances.rows:,} rows)",
        HEAD_NEIGHBORS.columns,
        rows_of(geography.neighbors),
        notes=(summary, *further_notes),
    )


def _clusters_table(embedding: pd.DataFrame, names: Mapping[str, str]) -> ShownTable:
    """Return the heads of each cluster, and the number of them that have each label."""
    columns = [
        TableColumn("cluster", "number from 1", "", "cluster"),
        TableColumn("heads", "count", "", "heads", cell=lambda row: f"{len(row['heads']):,}"),
        TableColumn("layers", "text", "", "layers", wraps=True),
        TableColumn("labels", "text", "", "labels", cell=lambda row: ", ".join(row["labels"]), wraps=True),
        TableColumn("heads", "text", "", "members", cell=_members, wraps=True),
    ]
    return ShownTable("head_clusters", "Clusters", columns, cluster_rows(embedding, names))


def _members(row: Row) -> str:
    return " ".join(row["heads"][:_MAX_MEMBERS]) + (" …" if len(row["heads"]) > _MAX_MEMBERS else "")


def cluster_rows(embedding: pd.DataFrame, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the heads of each cluster, and the number of them that have each label."""
    rows = []
    for cluster, members in embedding.groupby("cluster"):
        counts = members["label"].value_counts()
        rows.append(
            {
                "cluster": cluster,
                "heads": names_of(members),
                "labels": [f"{names.get(str(label), str(label))} {count}" for label, count in counts.items()],
                "layers": ranges(sorted(set(members["layer"]))),
            }
        )
    return rows


def explored_clusters(results: ClusterResults, kind: str) -> Contribution:
    """Return the clusters, the nearest heads, and whether the heads of a layer are alike."""
    geography, distances = results.geography, results.distances.per_row
    embedding = geography.embedding.sort_values(["layer", "head"])
    labeled = embedding.merge(results.heads[["layer", "head", "label"]], on=["layer", "head"])
    rows = cluster_rows(labeled, label_names(results.specials))
    names = {int(row["cluster"]): f"{row['cluster']}: {', '.join(row['labels'][:2])}" for row in rows}
    clusters = sorted(names)
    (measure,) = head_measures(
        HEAD_EMBEDDING,
        embedding,
        lambda column: f"clusters/{column}/{kind}",
        kind=kind,
        values=tuple(clusters.index(int(cluster)) for cluster in embedding["cluster"]),
        categories=tuple(names[cluster] for cluster in clusters),
    )
    nearest = {
        str(head): tuple(row.drop(head).sort_values(kind="stable").index[:5]) for head, row in distances.iterrows()
    }
    facts = {}
    for head, row in zip(names_of(embedding), rows_of(embedding), strict=True):
        text = names[int(row["cluster"])]
        if nearest[head]:
            closest = f"nearest head {row['nearest']}" if row["nearest"] else "several heads are equally near"
            text += f"; {closest}, divergence {row['nearest_distance']:.3f} nats"
        facts[head] = (Fact("cluster", text, measure.id),)
    return Contribution((measure,), _findings(results, measure), facts=facts, nearest=nearest)


def _findings(results: ClusterResults, measure: Measure) -> tuple[Finding, ...]:
    """Return whether the nearest head tends to be in the same layer."""
    neighbors = results.geography.neighbors
    if not len(neighbors):
        return ()
    row = neighbors.iloc[0]  # whether the nearest head is in the same layer
    verdict = "more often than" if is_significant(row["p"]) else "not clearly more often than"
    text = (
        f"The head that attends most alike is in the same layer for {share(float(row['found']))} of the heads, "
        f"{verdict} if heads were assigned to layers at random ({share(float(row['shuffled']))}, p = {row['p']:.4f})."
    )
    return (Finding(text, address(measure=measure.id, kind=measure.kind)),)
