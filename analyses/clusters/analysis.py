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
from ..surface.options import ReadingOptions
from ..surface.reading import ReadingFacts, plan_reading, read_tables
from .distances import SMOOTHING, HeadDistances
from .geography import geography
from .options import CLUSTERS, ClustersOptions
from .report import ClusterResults, clusters_section, explored_clusters, neighbors_table


@dataclass(frozen=True)
class ClusterFacts:
    """The facts that the results need from the plan."""

    reading: ReadingFacts  # how the maps are read
    distances: str  # the name of the request for the distances between heads


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
        return Plan((shared, request), ClusterFacts(reading, request.name))

    def results(
        self, options: OptionSet, counted: Counted[ClusterFacts], needed: Mapping[str, Any], looked: Any
    ) -> ClusterResults:
        """Make the distances, the map and the clusters."""
        facts = counted.facts
        tables, notes = read_tables(options, counted, facts.reading, needed)
        distances = counted.metric(facts.distances, HeadDistances).compute()
        n_clusters = options[ClustersOptions].n_clusters
        return ClusterResults(
            distances=distances,
            geography=geography(distances.per_row, clusters=n_clusters, seed=facts.reading.seed),
            heads=tables.heads,
            specials=facts.reading.specials,
            notes=notes,
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
