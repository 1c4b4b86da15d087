"""Which heads attend alike? The clusters of heads, and a map of them (Clark et al. 2019, §6)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster.hierarchy import fcluster

from ...reports.columns import Explored, Row, Schema, TableColumn
from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact
from ...reports.format import ranges, rows_of
from ...reports.table import ShownTable
from ...reports.tables import records
from ..shared.measures import head_measures, names_of
from ..surface.rows import label_names
from .distances import tree_of
from .options import ClustersOptions
from .rows import Array, ClusterQuestion, ClusterResults, Distances, layers_of, measure_id, nearest_of, square_of

Indices = npt.NDArray[np.int64]

HEAD_EMBEDDING = Schema(
    "head_embedding",
    "One row per head.",
    (
        TableColumn("layer head", "number from 1", "the attention head"),
        TableColumn("x y", "number", "its coordinates in the figure, by multidimensional scaling"),
        TableColumn(
            "cluster",
            "number from 1",
            "its cluster; 1 is the largest",
            explored=Explored(
                "Heads that attend alike",
                "cluster",
                "The clusters of average linkage on the Jensen-Shannon divergences between heads, the largest first.",
            ),
        ),
        TableColumn(
            "nearest", "text", "the head with the smallest divergence, as `layer-head`; empty if there are several"
        ),
        TableColumn("nearest_distance", "nats", "the divergence from it"),
    ),
)

CLUSTERS = 8
STARTS, MAX_STEPS, TOLERANCE = 5, 1000, 1e-10
"""The map is the best of so many random starts. Each ends after so many steps, or when stress hardly falls any more."""

_MAX_MEMBERS = 40
"""The number of heads of a cluster that the page names."""


class HeadMap(NamedTuple):
    """The answer: the map and the clusters of heads."""

    # one row per head, with its layer and head (1-based), its coordinates x and y in nats, its cluster (from 1, the
    # largest), its nearest head, and the distance to it. The nearest head has no name if several are equally near
    embedding: pd.DataFrame
    # Kruskal's stress-1 of the embedding. It is 0 if the distances on the map are the true ones; 0.1 is considered
    # fair, 0.2 poor
    stress: float
    # the mean silhouette of the clusters, from −1 to 1; NaN if all heads are in one cluster, or each in a cluster of
    # its own
    silhouette: float


class HeadClusters(ClusterQuestion):
    """Which heads attend alike?"""

    name = "clusters"
    tables = (HEAD_EMBEDDING,)
    needs = ("distances",)
    template = Path(__file__).with_name("clusters.html.j2")

    def find(self, counts: Distances, lookups: Any, earlier: Mapping[str, Any]) -> HeadMap | None:
        """Return the map and the clusters that follow from the distances."""
        if "distances" not in earlier:
            return None
        clusters, seed = counts.options[ClustersOptions].n_clusters, counts.facts.reading.seed
        return head_map(earlier["distances"].per_row, clusters=clusters, seed=seed)

    def frames(self, answer: HeadMap, results: ClusterResults) -> Mapping[str, pd.DataFrame]:
        """Return the map, with the labels of the heads."""
        return {HEAD_EMBEDDING.name: _with_labels(answer, results)}

    def summary(self, answer: HeadMap, results: ClusterResults) -> Mapping[str, Any]:
        """Return the map, and how well it and the clusters fit."""
        rows = results.distances.rows
        fit = pd.DataFrame([{"rows": rows, "stress": answer.stress, "silhouette": answer.silhouette}])
        return {HEAD_EMBEDDING.name: records(_with_labels(answer, results)), "head_geography": records(fit)}

    def show(self, answer: HeadMap, results: ClusterResults) -> Sequence[ShownTable]:
        """Return the heads of each cluster."""
        return (_clusters_table(_with_labels(answer, results), label_names(results.specials)),)

    def values(self, answer: HeadMap, results: ClusterResults) -> Mapping[str, Any]:
        """Return the number of clusters, and how well they are separated."""
        return {"clusters": answer.embedding["cluster"].nunique(), "silhouette": answer.silhouette}

    def explore(self, answer: HeadMap, counts: Distances, results: ClusterResults, kind: str) -> Contribution:
        """Add the cluster of every head."""
        return explored_clusters(answer, results, kind)


def head_map(distances: pd.DataFrame, *, clusters: int = CLUSTERS, seed: int = 0) -> HeadMap:
    """Draw the heads on a map, and cluster them."""
    # * The map is made by metric MDS (SMACOF), as the best of five random starts with at most 1,000 steps and tolerance
    #   1e-10. These are the arguments of the published code, with a seed.
    # * The clusters are those of average linkage, in which a head that is like no other is a cluster of its own.
    square = square_of(distances)
    if clusters < 1:
        raise ValueError(f"there must be at least one cluster, not {clusters}")
    layers, numbers = layers_of(distances)
    points, stress = _embed_heads(square, seed)
    x, y = points.T
    cluster_of_head, silhouette = _cluster_heads(square, tree_of(square), clusters)
    embedding = pd.DataFrame({"layer": layers, "head": numbers, "x": x, "y": y, "cluster": cluster_of_head})
    if len(square) > 1:
        is_nearest, distance = nearest_of(square)
        embedding["nearest"] = distances.index[is_nearest.argmax(1)].where(is_nearest.sum(1) == 1, "")
        embedding["nearest_distance"] = distance
    return HeadMap(embedding, stress, silhouette)


def _embed_heads(square: Array, seed: int) -> tuple[Array, float]:
    """Return the coordinates of the heads, shape (heads, 2), and the stress of the embedding."""
    if not square.any():  # a single head, or heads that all attend alike
        return np.zeros((len(square), 2)), 0.0
    random = np.random.RandomState(seed)  # the generator of scikit-learn, so that the map is that of its MDS
    embeddings = [_smacof(square, random.uniform(size=(len(square), 2))) for _ in range(STARTS)]
    return min(embeddings, key=lambda embedding: embedding[1])


def _smacof(square: Array, points: Array) -> tuple[Array, float]:
    """Move points until their distances are close to the given ones; return them and Kruskal's stress-1.

    The points are moved by the Guttman transform (Borg & Groenen 2005, §8.6).
    """
    # scikit-learn has this too (`sklearn.manifold.MDS`), with the same coordinates to the last bit, but nothing else in
    # a run needs it. For 72 heads, its import takes 0.7 s of processor time or more, and its maps 0.6 s; these here
    # take 0.2 s. The silhouette is here for the same reason: `sklearn.metrics` takes 0.5 s to be imported.
    distances, stress = _euclidean(points), np.inf
    for _ in range(MAX_STEPS):
        ratios = square / np.where(distances == 0, 1e-5, distances)
        points = 1 / len(points) * ((np.diag(ratios.sum(axis=1)) - ratios) @ points)
        distances, former_stress = _euclidean(points), stress
        stress = float(((distances - square) ** 2).sum() / 2)
        squares = float((distances**2).sum() / 2)
        if (former_stress - stress) / squares < TOLERANCE:
            break
    return points, math.sqrt(stress / squares)


def _euclidean(points: Array) -> Array:
    """Return the distance of each point to each, shape (points, points)."""
    # scipy computes them too, but only this order of operations gives the map of scikit-learn to the last bit.
    squared_norms = np.einsum("ij,ij->i", points, points)
    squared = np.maximum(-2 * (points @ points.T) + squared_norms[:, None] + squared_norms, 0)
    np.fill_diagonal(squared, 0)
    return cast(Array, np.sqrt(squared))


def _cluster_heads(square: Array, merges: Array, n_clusters: int) -> tuple[list[int], float]:
    """Return the number of the cluster of each head, the largest cluster being 1, and the mean silhouette."""
    clusters = fcluster(merges, n_clusters, "maxclust").tolist() if len(square) > 1 else [1]  # of each head
    # Of clusters of the same size, that of the first head comes first.
    by_size = sorted(set(clusters), key=lambda cluster: (-clusters.count(cluster), clusters.index(cluster)))
    numbers = [by_size.index(cluster) for cluster in clusters]
    is_defined = 1 < len(by_size) < len(square)
    return [number + 1 for number in numbers], _silhouette(square, np.array(numbers)) if is_defined else math.nan


def _silhouette(square: Array, clusters: Indices) -> float:
    """Return the mean silhouette of all heads (Rousseeuw 1987), which is 0 for a head that is alone in its cluster."""
    sizes = np.bincount(clusters)
    to_clusters = np.array([np.bincount(clusters, weights=row) for row in square])  # sums, by head and cluster
    own = np.arange(len(square)), clusters
    within = to_clusters[own] / np.maximum(sizes[clusters] - 1, 1)
    to_clusters[own] = np.inf
    nearest = (to_clusters / sizes).min(axis=1)
    furthest = np.maximum(within, nearest)
    # Heads that are all at the same place are neither near nor far.
    is_defined = (sizes[clusters] > 1) & (furthest > 0)
    silhouettes = np.divide(nearest - within, furthest, out=np.zeros(len(square)), where=is_defined)
    return float(silhouettes.mean())


def _with_labels(found: HeadMap, results: ClusterResults) -> pd.DataFrame:
    """Return the map with the labels of the heads, and with relations if they are analyzed."""
    columns = [name for name in ("layer", "head", "label", "labels", "relation") if name in results.heads]
    return found.embedding.merge(results.heads[columns], on=["layer", "head"])


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
        counts: Mapping[Any, int] = members["label"].value_counts().to_dict() if "label" in members else {}
        rows.append(
            {
                "cluster": cluster,
                "heads": names_of(members),
                "labels": [f"{names.get(str(label), str(label))} {count}" for label, count in counts.items()],
                "layers": ranges(sorted(set(members["layer"]))),
            }
        )
    return rows


def explored_clusters(found: HeadMap, results: ClusterResults, kind: str) -> Contribution:
    """Return the clusters, and the head that is nearest to each."""
    embedding = found.embedding.sort_values(["layer", "head"])
    rows = cluster_rows(_with_labels(found, results), label_names(results.specials))
    # The name of a cluster says what most of its heads are for, if their labels are known.
    labeled = ((row["cluster"], ", ".join(row["labels"][:2])) for row in rows)
    names = {int(cluster): f"{cluster}: {labels}" if labels else str(cluster) for cluster, labels in labeled}
    clusters = sorted(names)
    (measure,) = head_measures(
        HEAD_EMBEDDING,
        embedding,
        lambda _: measure_id(kind),
        kind=kind,
        values=tuple(clusters.index(int(cluster)) for cluster in embedding["cluster"]),
        categories=tuple(names[cluster] for cluster in clusters),
    )
    facts = {}
    for head, row in zip(names_of(embedding), rows_of(embedding), strict=True):
        text = names[int(row["cluster"])]
        if "nearest" in row:
            closest = f"nearest head {row['nearest']}" if row["nearest"] else "several heads are equally near"
            text += f"; {closest}, divergence {row['nearest_distance']:.3f} nats"
        facts[head] = (Fact("cluster", text, measure.id),)
    return Contribution((measure,), facts=facts)
