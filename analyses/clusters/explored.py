"""What the analysis of clusters adds to the explorer: the cluster of every head, and the heads most like it."""

from __future__ import annotations

import numpy as np

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Finding, Measure
from ..shared.explored import address, head_measures, names_of, share
from ..surface.shown_tables import label_names
from .columns import HEAD_EMBEDDING
from .section import ClusterResults, cluster_rows

_NEAREST = 5


def explored_clusters(results: ClusterResults, kind: str) -> Contribution:
    """Return the clusters, the nearest heads, and whether the heads of a layer are alike."""
    geography, distances = results.geography, results.distances.per_row
    embedding = geography.embedding.sort_values(["layer", "head"])
    columns = ["layer", "head", "label"]
    rows = cluster_rows(embedding.merge(results.heads[columns], on=["layer", "head"]), label_names(results.specials))
    clusters = sorted({int(cluster) for cluster in embedding["cluster"]})
    names = {int(row["cluster"]): f"{row['cluster']}: {', '.join(row['labels'][:2])}" for row in rows}
    (measure,) = head_measures(
        HEAD_EMBEDDING,
        embedding,
        f"clusters/{{column}}/{kind}",
        kind=kind,
        values=tuple(clusters.index(int(cluster)) for cluster in embedding["cluster"]),
        categories=tuple(names[cluster] for cluster in clusters),
    )
    square = distances.to_numpy(dtype=float)
    order = np.argsort(square + np.diag(np.full(len(square), np.inf)), axis=1, kind="stable")
    heads = list(distances.index)
    nearest = {
        head: tuple(heads[other] for other in order[row][: min(_NEAREST, len(heads) - 1)])
        for row, head in enumerate(heads)
    }
    facts = {}
    for name, cluster in zip(names_of(embedding), embedding["cluster"], strict=True):
        text = names[int(cluster)]
        if nearest[name]:
            distance = float(square[heads.index(name), heads.index(nearest[name][0])])
            text += f"; nearest head {nearest[name][0]}, divergence {distance:.3f} nats"
        facts[name] = (Fact("cluster", text, measure.id),)
    return Contribution((measure,), _findings(results, measure), facts=facts, nearest=nearest)


def _findings(results: ClusterResults, measure: Measure) -> tuple[Finding, ...]:
    """Return whether the nearest head tends to be in the same layer."""
    neighbors = results.geography.neighbors
    if not len(neighbors):
        return ()
    row = neighbors.iloc[0]
    verdict = "more often than" if row["p"] < 0.05 else "not clearly more often than"
    text = (
        f"The head that attends most alike is in the same layer for {share(float(row['found']))} of the heads, "
        f"{verdict} if heads were assigned to layers at random ({share(float(row['shuffled']))}, p = {row['p']:.4f})."
    )
    return (Finding(text, address(measure=measure.id, kind=measure.kind)),)
