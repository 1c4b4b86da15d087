"""The plan and the results of the analysis ``clusters`` (Clark et al. 2019, §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rich.console import RenderableType

from ...reports.explorer.contribution import Contribution
from ...reports.page import Section
from ..contract import Analysis, Counted, OptionSet, Plan, Request, Setting, Titles
from ..counting.counting import CountMaps
from ..surface.labels import Thresholds, label_heads
from ..surface.options import ReadingOptions
from ..surface.relations import relations_of
from ..surface.rows import Reading, plan_reading
from ..surface.statistics import SurfaceStatistics
from .distances import SMOOTHING, HeadDistances
from .geography import geography
from .options import CLUSTERS, ClustersOptions
from .report import ClusterResults, clusters_section, explored_clusters, neighbors_table


@dataclass(frozen=True)
class ClusterFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    reading: Reading  # how the maps are read


class Clusters(Analysis[ClusterFacts, ClusterResults], row=CLUSTERS):
    """The analysis that measures how differently any two heads attend, and draws the heads on a map."""

    facts_type = ClusterFacts

    def plan(self, options: OptionSet, setting: Setting) -> Plan[ClusterFacts]:
        """Plan the reading shared with ``surface``, and the distances on the same maps."""
        shared, maker, reading = plan_reading(options, setting)
        smoothing = SMOOTHING if options[ReadingOptions].smoothing == "release" else 0.0
        counting = CountMaps(HeadDistances, (("smoothing", smoothing),))
        name = f"head-distances/{setting.maps.kind}"
        # Learned sinks take a share of every row, and distances are those of distributions over tokens.
        maker = replace(maker, normalize="row") if setting.encoder.has_sinks else maker
        request = Request(name, "clusters", setting.corpus, maker, counting)
        return Plan((shared, request), ClusterFacts({"distances": (shared.name, request.name)}, reading))

    def results(
        self, options: OptionSet, counted: Counted[ClusterFacts], needed: Mapping[str, Any], looked: Any
    ) -> ClusterResults:
        """Make the distances, the map and the clusters."""
        facts = counted.facts
        statistics, of_distances = facts.requests["distances"]
        metric = counted.metric(statistics, SurfaceStatistics)
        heads = label_heads(metric.compute().heads, Thresholds.chosen(options))
        relations = relations_of(needed)
        heads = heads if relations is None else heads.merge(relations, on=["layer", "head"], how="left")
        distances = counted.metric(of_distances, HeadDistances).compute()
        n_clusters = options[ClustersOptions].n_clusters
        return ClusterResults(
            distances=distances,
            geography=geography(distances.per_row, clusters=n_clusters, seed=facts.reading.seed),
            heads=heads,
            specials=facts.reading.specials,
            notes=facts.reading.notes_on(metric.n_heads),
            notes_shown="surface" in needed,
        )

    def section(self, results: ClusterResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        return clusters_section(results, titles)

    def show(self, results: ClusterResults, width: int) -> RenderableType:
        """Return a table of how alike the heads of a layer are."""
        return neighbors_table(results).terminal(width)

    def explored(
        self, options: OptionSet, counted: Counted[ClusterFacts], results: ClusterResults, kind: str | None
    ) -> Contribution:
        """Return the cluster of every head and the heads most like it."""
        return explored_clusters(results, kind or "")

    def record(self, options: OptionSet, counted: Counted[ClusterFacts], results: ClusterResults) -> dict[str, Any]:
        """Return the notes."""
        return {"clusters": {"notes": list(results.notes)}}

    def read_older(self, facts: Any, looked: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored by question."""
        if "requests" in facts:
            return facts, looked
        kept, reading = dict(facts), dict(facts["reading"])
        requests = {"distances": [reading.pop("request"), kept.pop("distances")]}
        return {**kept, "requests": requests, "reading": reading}, looked
