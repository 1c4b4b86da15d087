"""The geography of heads: a map, clusters, and whether layers hold together (Clark et al. 2019, §6)."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.manifold import MDS
from sklearn.metrics import silhouette_score

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

CLUSTERS = 8
PERMUTATIONS = 9999


class Geography(NamedTuple):
    """What the distances between heads add up to.

    Attributes:
        embedding: one row per head: layer, head, x, y in nats, cluster (from 1, by size), and its nearest head
            with the distance; no name where several are equally near.
        neighbors: one row per question about layers: what was found, what shuffled layers give, and how often they
            give as much (p).
        stress: Kruskal's stress-1 of the embedding: 0 where distances on the map are the true ones, 0.1 fair, 0.2 poor.
        silhouette: mean silhouette of the clusters, from −1 to 1; NaN if all heads are in one, or each in its own.
        merges: which clusters were merged at which distance, as `scipy.cluster.hierarchy.linkage` writes it; heads in
            the order of ``embedding``. Empty for a single head.
    """

    embedding: pd.DataFrame
    neighbors: pd.DataFrame
    stress: float
    silhouette: float
    merges: Array


def geography(distances: pd.DataFrame, *, clusters: int = CLUSTERS, seed: int = 0) -> Geography:
    """Multidimensional scaling, agglomerative clusters, and the question whether heads of a layer are alike.

    * Metric MDS by SMACOF, best of five random starts, at most 1,000 steps, tolerance 1e-10: the published code's
      arguments, with a seed.
    * Clusters by average linkage: a head that is like no other is a cluster of its own.
    * Nearest neighbors: of several equally near ones each counts its part. p is the share of 9,999 random assignments
      of heads to layers of the same sizes that give as much as was found, one-sided, the found one counted in.

    Args:
        distances: square, e.g. `attentionology.analyses.clusters.distances.HeadDistanceTables.per_row`; the labels are
            ``layer-head``.
        clusters: how many; fewer if there are not so many heads.
        seed: of the starts and of the permutations.

    Raises:
        ValueError: distances that are not square, symmetric and finite, or fewer than one cluster.
    """
    square = distances.to_numpy(dtype=np.float64)
    heads = len(square)
    if square.shape != (heads, heads) or not np.isfinite(square).all() or not np.allclose(square, square.T):
        raise ValueError("distances must be square, symmetric and finite")
    if clusters < 1:
        raise ValueError(f"there must be at least one cluster, not {clusters}")
    square = np.maximum(square, 0)  # rounding may leave heads that attend alike a hair below
    np.fill_diagonal(square, 0)
    layers, numbers = np.array([name.split("-") for name in distances.index], dtype=int).T
    places, stress = _scaled(square, seed)
    merges = linkage(squareform(square), method="average") if heads > 1 else np.empty((0, 4))
    found, silhouette = _clustered(square, merges, clusters)
    others = square + np.diag(np.full(heads, np.inf))
    nearest = others <= others.min(1, keepdims=True)
    embedding = pd.DataFrame({"layer": layers, "head": numbers, "x": places[:, 0], "y": places[:, 1], "cluster": found})
    if heads > 1:
        embedding["nearest"] = distances.index[nearest.argmax(1)].where(nearest.sum(1) == 1, "")
        embedding["nearest_distance"] = others.min(1)
    return Geography(embedding, _neighbors(square, nearest, layers, seed), stress, silhouette, merges)


def _scaled(square: Array, seed: int) -> tuple[Array, float]:
    if not square.any():  # a single head, or heads that all attend alike
        return np.zeros((len(square), 2)), 0.0
    scaling = MDS(
        n_components=2,
        metric_mds=True,
        n_init=5,
        init="random",
        max_iter=1000,
        verbose=0,
        eps=1e-10,
        n_jobs=1,
        random_state=seed,
        metric="precomputed",
        metric_params=None,
        normalized_stress=cast(Any, True),  # type checkers infer str from the default value
    )
    places = cast(Array, scaling.fit_transform(square))
    return places, float(cast(float, scaling.stress_))  # which is None only before the fit


def _clustered(square: Array, merges: Array, clusters: int) -> tuple[list[int], float]:
    """Number of the cluster of each head, the largest cluster first, and the mean silhouette."""
    found = fcluster(merges, clusters, "maxclust").tolist() if len(square) > 1 else [1]
    order = sorted(set(found), key=lambda one: (-found.count(one), found.index(one)))
    able = 1 < len(order) < len(square)
    silhouette = float(silhouette_score(square, found, metric="precomputed")) if able else float("nan")
    return [order.index(one) + 1 for one in found], silhouette


def _neighbors(square: Array, nearest: npt.NDArray[np.bool_], layers: Indices, seed: int) -> pd.DataFrame:
    sizes = np.unique(layers, return_counts=True)[1]
    one, two = np.nonzero(np.triu(layers[:, None] == layers[None, :], 1))  # pairs of heads of the same layer
    across_pairs = len(layers) * (len(layers) - 1) // 2 - len(one)
    if len(sizes) < 2 or not len(one):
        return pd.DataFrame(columns=["question", "found", "shuffled", "p", "within", "across"])
    near = nearest / nearest.sum(1, keepdims=True)
    near, total = near + near.T, square.sum() / 2

    def both(order: Indices) -> tuple[float, float, float]:
        """Share of nearest heads in the same layer, and mean distances, with heads dealt to layers in this order."""
        a, b = order[one], order[two]
        within = float(square[a, b].sum())
        return float(near[a, b].sum()) / len(layers), within / len(one), (float(total) - within) / across_pairs

    rng = np.random.default_rng(seed)
    share, within, across = both(np.arange(len(layers)))
    dealt = np.array([both(rng.permutation(len(layers))) for _ in range(PERMUTATIONS)])
    found, shuffled = np.array([share, across - within]), np.stack([dealt[:, 0], dealt[:, 2] - dealt[:, 1]], axis=1)
    p = (1 + (shuffled >= found - 1e-12).sum(0)) / (1 + PERMUTATIONS)
    return pd.DataFrame(
        {
            "question": ["nearest head is in the same layer (share)", "distance across minus within layers (nats)"],
            "found": found,
            "shuffled": shuffled.mean(0),
            "p": p,
            "within": [float("nan"), within],
            "across": [float("nan"), across],
        }
    )
