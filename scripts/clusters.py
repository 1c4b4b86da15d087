"""The analysis ``clusters`` of ``attentionology analyze``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from attentionology.scripts.errors import UsageError
from attentionology.scripts.job import Job, Outcome
from attentionology.scripts.surface import read


@dataclass(frozen=True)
class ClustersOptions:
    """Of the analysis clusters."""

    n_clusters: Annotated[int, arg(metavar="N")] = 8
    """Into how many clusters to cut the tree of heads."""

    def check(self) -> None:
        """Refuse what is impossible."""
        if self.n_clusters < 1:
            raise UsageError(f"--n-clusters must be at least 1, not {self.n_clusters}")


def run(job: Job) -> Outcome:
    """Distances between heads, their map, their clusters."""
    from attentionology.analyses.clusters.geography import geography
    from attentionology.analyses.surface.section import ClusterResults, write_clusters
    from attentionology.reports.terminal import clusters_table

    reading = read(job)
    assert reading.distances is not None  # noqa: S101  # read() knows that clusters were asked for
    with job.stages("map of heads"):
        found = geography(reading.distances.per_row, clusters=job.options.clusters.n_clusters, seed=job.options.seed)
    results = ClusterResults(reading.distances, found, reading.tables.heads, reading.specials, tuple(reading.notes))
    with job.stages("tables and figures"):
        section = write_clusters(job.folder, results, model=job.encoder.name, corpus=job.corpus_name)
    shown_before = "surface" in job.options.chosen()
    return Outcome(
        section=section,
        log=reading.log,
        show=lambda _: clusters_table(results, notes=not shown_before),
        record={"clusters": {"notes": reading.notes}},
    )
