"""The geography of heads: a map, clusters, and whether layers hold together (Clark et al. 2019, §6)."""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

CLUSTERS = 8
STARTS, MAX_STEPS, TOLERANCE = 5, 1000, 1e-10
"""The map is the best of so many random starts. Each ends after so many steps, or when stress hardly falls any more."""
PERMUTATIONS = 9999


class Geography(NamedTuple):
    """The map and the clusters of heads, and the comparison of layers."""

    # one row per head, with its layer and head (1-based), its coordinates x and y in nats, its cluster (from 1, the
    # largest), its nearest head, and the distance to it. The nearest head has no name if several are equally near
    embedding: pd.DataFrame
    # one row per question about layers, with the value that was found, the mean over shuffled layers, and p, the
    # share of shuffled layers that give at least the value
    neighbors: pd.DataFrame
    # Kruskal's stress-1 of the embedding. It is 0 if the distances on the map are the true ones; 0.1 is considered
    # fair, 0.2 poor
    stress: float
    # the mean silhouette of the clusters, from −1 to 1; NaN if all heads are in one cluster, or each in a cluster of
    # its own
    silhouette: float
    # the clusters that were merged and their distances, in the format of `scipy.cluster.hierarchy.linkage`, with
    # heads in the order of `embedding`. It is empty for a single head
    merges: Array


def geography(distances: pd.DataFrame, *, clusters: int = CLUSTERS, seed: int = 0) -> Geography:
    """Draw the heads on a map, cluster them, and test whether the heads of a layer are alike."""
    # * The map is made by metric MDS (SMACOF), as the best of five random starts with at most 1,000 steps and tolerance
    #   1e-10. These are the arguments of the published code, with a seed.
    # * The clusters are those of average linkage, in which a head that is like no other is a cluster of its own.
    # * If several heads are equally near, each counts as an equal part of a nearest neighbor. p is the one-sided share
    #   of assignments of heads to layers of the same sizes that give at least the observed value, among 9,999 random
    #   ones and the observed one.
    square = distances.to_numpy(dtype=np.float64)
    heads = len(square)
    if square.shape != (heads, heads) or not np.isfinite(square).all() or not np.allclose(square, square.T):
        raise ValueError("distances must be square, symmetric and finite")
    if clusters < 1:
        raise ValueError(f"there must be at least one cluster, not {clusters}")
    square = np.maximum(square, 0)  # rounding may make the divergence of equal heads slightly negative
    np.fill_diagonal(square, 0)
    layers, numbers = np.array([name.split("-") for name in distances.index], dtype=int).T
    points, stress = _scaled(square, seed)
    x, y = points.T
    merges = linkage(squareform(square), method="average") if heads > 1 else np.empty((0, 4))
    cluster_of_head, silhouette = _clustered(square, merges, clusters)
    to_others = square + np.diag(np.full(heads, np.inf))  # no head is the nearest to itself
    is_nearest = to_others <= to_others.min(1, keepdims=True)
    embedding = pd.DataFrame({"layer": layers, "head": numbers, "x": x, "y": y, "cluster": cluster_of_head})
    if heads > 1:
        embedding["nearest"] = distances.index[is_nearest.argmax(1)].where(is_nearest.sum(1) == 1, "")
        embedding["nearest_distance"] = to_others.min(1)
    return Geography(embedding, _neighbors(square, is_nearest, layers, seed), stress, silhouette, merges)


def _scaled(square: Array, seed: int) -> tuple[Array, float]:
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
    # scikit-learn has this too (`sklearn.manifold.MDS`), but takes longer to be imported than the map to be drawn.
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


def _clustered(square: Array, merges: Array, n_clusters: int) -> tuple[list[int], float]:
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


def _neighbors(square: Array, is_nearest: npt.NDArray[np.bool_], layers: Indices, seed: int) -> pd.DataFrame:
    """Compare heads of the same layer with heads of other layers, and both with layers that are shuffled."""
    # square: the distances. is_nearest: which heads (columns) are the nearest to each (row).
    # Heads are shuffled and not distances, because the distances of one head depend on each other. A permutation
    # keeps the sizes of the layers, so the observed assignment is one of the possible ones and is counted among them;
    # p can therefore never be 0.
    sizes = np.unique(layers, return_counts=True)[1]
    # The two heads of each pair of the same layer, by their indices.
    first_heads, second_heads = np.nonzero(np.triu(layers[:, None] == layers[None, :], 1))
    n_within = len(first_heads)
    n_across = len(layers) * (len(layers) - 1) // 2 - n_within
    if len(sizes) < 2 or not n_within:
        return pd.DataFrame(columns=["question", "found", "shuffled", "p", "within", "across"])
    part_of_nearest = is_nearest / is_nearest.sum(1, keepdims=True)
    parts_of_pair = part_of_nearest + part_of_nearest.T
    total = float(square.sum() / 2)  # of all pairs

    def statistics(order: Indices) -> tuple[float, float, float]:
        """Return the share of nearest heads in the same layer, and the mean distances within and across layers.

        The heads are assigned to the layers in the given order.
        """
        pairs = order[first_heads], order[second_heads]
        sum_within = float(square[pairs].sum())
        share = float(parts_of_pair[pairs].sum()) / len(layers)
        return share, sum_within / n_within, (total - sum_within) / n_across

    rng = np.random.default_rng(seed)
    share, within, across = statistics(np.arange(len(layers)))
    random = np.array([statistics(rng.permutation(len(layers))) for _ in range(PERMUTATIONS)])
    random_shares, random_within, random_across = random.T
    observed = np.array([share, across - within])  # one value for each of the two questions below
    shuffled = np.stack([random_shares, random_across - random_within], axis=1)
    p = (1 + (shuffled >= observed - 1e-12).sum(0)) / (1 + PERMUTATIONS)  # values that differ by rounding are equal
    return pd.DataFrame(
        {
            "question": ["nearest head is in the same layer (share)", "distance across minus within layers (nats)"],
            "found": observed,
            "shuffled": shuffled.mean(0),
            "p": p,
            "within": [float("nan"), within],
            "across": [float("nan"), across],
        }
    )
