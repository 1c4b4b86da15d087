"""The geography of heads: a map, clusters, and whether layers hold together (Clark et al. 2019, §6)."""

from __future__ import annotations

from typing import NamedTuple

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
            with the distance.
        neighbours: one row per question about layers: what was found, what shuffled layers give, and how often they
            give as much (p).
        stress: Kruskal's stress-1 of the embedding: 0 where distances on the map are the true ones, 0.1 fair, 0.2 poor.
        silhouette: mean silhouette of the clusters, from −1 to 1; NaN if all heads are in one, or each in its own.
        merges: which clusters were merged at which distance, as `scipy.cluster.hierarchy.linkage` writes it; heads in
            the order of ``embedding``. Empty for a single head.
    """

    embedding: pd.DataFrame
    neighbours: pd.DataFrame
    stress: float
    silhouette: float
    merges: Array


def geography(distances: pd.DataFrame, *, clusters: int = CLUSTERS, seed: int = 0) -> Geography:
    """Multidimensional scaling, agglomerative clusters, and the question whether heads of a layer are alike.

    * Metric MDS by SMACOF, best of five random starts, at most 1,000 steps, tolerance 1e-10: the published code's
      arguments, with a seed.
    * Clusters by average linkage: a head that is like no other is a cluster of its own.
    * Nearest neighbours: p is the share of 9,999 random assignments of heads to layers of the same sizes that give as
      much as was found, one-sided, the found one counted in.

    Args:
        distances: square, e.g. `analyses.surface.HeadDistanceTables.per_row`; labels ``layer-head``.
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
    nearest = others.argmin(1)
    embedding = pd.DataFrame({"layer": layers, "head": numbers, "x": places[:, 0], "y": places[:, 1], "cluster": found})
    if heads > 1:
        embedding["nearest"] = distances.index[nearest]
        embedding["nearest_distance"] = others.min(1)
    return Geography(embedding, _neighbours(square, nearest, layers, seed), stress, silhouette, merges)


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
        normalized_stress=True,
    )
    places: Array = scaling.fit_transform(square)
    return places, float(scaling.stress_)


def _clustered(square: Array, merges: Array, clusters: int) -> tuple[list[int], float]:
    """Number of the cluster of each head, the largest cluster first, and the mean silhouette."""
    found = fcluster(merges, clusters, "maxclust").tolist() if len(square) > 1 else [1]
    order = sorted(set(found), key=lambda one: (-found.count(one), found.index(one)))
    able = 1 < len(order) < len(square)
    silhouette = float(silhouette_score(square, found, metric="precomputed")) if able else float("nan")
    return [order.index(one) + 1 for one in found], silhouette


def _neighbours(square: Array, nearest: Indices, layers: Indices, seed: int) -> pd.DataFrame:
    names, indices, sizes = np.unique(layers, return_inverse=True, return_counts=True)
    pairs_within, pairs = int((sizes * (sizes - 1)).sum()), len(layers) * (len(layers) - 1)
    if len(names) < 2 or pairs_within == 0:
        return pd.DataFrame(columns=["question", "found", "shuffled", "p"])

    def both(assigned: Indices) -> tuple[float, float]:
        same = assigned[:, None] == assigned[None, :]
        within = square[same].sum() / pairs_within
        across = square[~same].sum() / (pairs - pairs_within)
        return float((assigned == assigned[nearest]).mean()), float(across - within)

    rng = np.random.default_rng(seed)
    found = np.array(both(indices))
    shuffled = np.array([both(rng.permutation(indices)) for _ in range(PERMUTATIONS)])
    p = (1 + (shuffled >= found - 1e-12).sum(0)) / (1 + PERMUTATIONS)
    same = indices[:, None] == indices[None, :]
    within = float(square[same].sum() / pairs_within)
    return pd.DataFrame(
        {
            "question": ["nearest head is in the same layer (share)", "distance across minus within layers (nats)"],
            "found": found,
            "shuffled": shuffled.mean(0),
            "p": p,
            "within": [float("nan"), within],
            "across": [float("nan"), float(found[1] + within)],
        }
    )
