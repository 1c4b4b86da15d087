"""The results of the analysis of clusters, and their section of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.columns import Row, TableColumn
from ...reports.format import head_name, number, ranges, rows_of
from ...reports.json_text import records
from ...reports.page import Section
from ...reports.table import ShownTable
from ..contract import Titles
from ..shared.previews import Previewed
from ..surface.shown_tables import label_names
from .columns import HEAD_NEIGHBOURS
from .distances import HeadDistanceTables
from .figures import distances_figure
from .geography import Geography

_NAMED = 40
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
    names = label_names(results.specials)
    figures = {"head_distances": distances_figure(distances.per_row, geography, results.heads, title=title)}
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
        shown=(neighbors_table(results), _clusters_table(embedding, names)),
        summary={
            "head_embedding": records(embedding),
            "head_neighbours": records(geography.neighbors),
            "head_geography": records(
                pd.DataFrame([{"rows": distances.rows, "stress": geography.stress, "silhouette": geography.silhouette}])
            ),
        },
        tables={
            "head_distances": distances.per_row.reset_index(names="head"),
            "head_distances_sum": distances.sums.reset_index(names="head"),
            "head_embedding": embedding,
            "head_neighbours": geography.neighbors,
        },
        figures=figures,
    )


def neighbors_table(results: ClusterResults) -> ShownTable:
    """Return whether the heads of a layer attend alike."""
    geography = results.geography
    summary = (
        f"Stress of the map in two dimensions: {number(geography.stress, 2)}. Number of clusters: "
        f"{geography.embedding['cluster'].nunique()}, mean silhouette {number(geography.silhouette, 2)}."
    )
    return ShownTable(
        "head_neighbours",
        f"Which heads attend alike (Jensen-Shannon divergence, {results.distances.rows:,} rows)",
        HEAD_NEIGHBOURS.columns,
        rows_of(geography.neighbors),
        notes=(summary, *(() if results.notes_shown else results.notes)),
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
    return " ".join(row["heads"][:_NAMED]) + (" …" if len(row["heads"]) > _NAMED else "")


def cluster_rows(embedding: pd.DataFrame, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the heads of each cluster, and the number of them that have each label."""
    rows = []
    for cluster, members in embedding.groupby("cluster"):
        counts = members["label"].value_counts()
        rows.append(
            {
                "cluster": cluster,
                "heads": [head_name(*pair) for pair in zip(members["layer"], members["head"], strict=True)],
                "labels": [f"{names.get(str(label), str(label))} {count}" for label, count in counts.items()],
                "layers": ranges(sorted(set(members["layer"]))),
            }
        )
    return rows
