"""Results of the analysis of clusters that are made of tables, and what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from attentionology.analyses.clusters.analysis import Clusters
from attentionology.analyses.clusters.clusters import head_map
from attentionology.analyses.clusters.distances import HeadDistanceTables, tree_of
from attentionology.analyses.clusters.layers import neighbors
from attentionology.analyses.clusters.rows import ClusterResults, LabeledHeads, square_of
from attentionology.analyses.contract import Titles
from attentionology.reports.explorer.contribution import Contribution, join_contributions
from attentionology.reports.page import Section


class Geography(NamedTuple):
    """All that is made of distances."""

    embedding: pd.DataFrame
    neighbors: pd.DataFrame
    stress: float
    silhouette: float
    merges: npt.NDArray[np.float64]


def geography(distances: pd.DataFrame, *, clusters: int = 8, seed: int = 0) -> Geography:
    """The map, the clusters, the comparison of layers and the tree of these distances."""
    found = head_map(distances, clusters=clusters, seed=seed)
    merges = tree_of(square_of(distances))
    return Geography(found.embedding, neighbors(distances, seed=seed), found.stress, found.silhouette, merges)


def made_results(
    distances: HeadDistanceTables, heads: pd.DataFrame, specials: Mapping[str, str], notes: tuple[str, ...] = ()
) -> ClusterResults:
    """Results of these distances."""
    answers = {
        "labeled_heads": LabeledHeads(heads, notes, notes_shown=False),
        "distances": distances,
        "layers": neighbors(distances.per_row),
        "clusters": head_map(distances.per_row),
    }
    return ClusterResults(heads, specials, notes, answers=answers)


def with_answers(results: ClusterResults, **answers: Any) -> ClusterResults:
    """The same results with other answers."""
    return replace(results, answers={**results.answers, **answers})


def clusters_section(results: ClusterResults, titles: Titles | None = None) -> Section:
    return Clusters().section(results, titles or Titles())


def explored_clusters(results: ClusterResults, kind: str) -> Contribution:
    counts: Any = None  # questions about clusters explore their answers alone
    return join_contributions(
        question.explore(answer, counts, results, kind) for question, answer in Clusters().pair_answers(results)
    )
