"""The plan and the results of the analysis ``clusters`` (Clark et al. 2019, §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attentionology.analyses.clusters.options import ClustersOptions
from attentionology.analyses.contract import Analysis, Counted, OptionSet, Plan, Request, Setting, Titles
from attentionology.analyses.shared.options import FeedForwardOptions, MapOptions
from attentionology.analyses.surface.facts import ReadingFacts
from attentionology.analyses.surface.options import ReadingOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from attentionology.analyses.clusters.section import ClusterResults
    from attentionology.reports.explorer.contribution import Contribution
    from attentionology.reports.page import Section


@dataclass(frozen=True)
class ClusterFacts:
    """The facts that the results need from the plan.

    Attributes:
        reading: how the maps are read.
        distances: the name of the request for the distances between heads.
    """

    reading: ReadingFacts
    distances: str


class Clusters(Analysis[ClusterFacts, "ClusterResults"]):
    """The analysis that measures how differently any two heads attend, and draws the heads on a map."""

    name = "clusters"
    options = (ClustersOptions, ReadingOptions, MapOptions, FeedForwardOptions)
    needs = ("dependency", "surface")
    by_default = True
    facts_type = ClusterFacts
    summary = "clusters: which heads attend alike (section 6)."

    def plan(self, options: OptionSet, setting: Setting) -> Plan[ClusterFacts]:
        """Plan the reading shared with ``surface``, and the distances on the same maps."""
        from attentionology.analyses.clusters import distances
        from attentionology.analyses.shared.counting import CountMaps
        from attentionology.analyses.surface.reading import plan_reading

        reading = plan_reading(options, setting)
        smoothing = distances.SMOOTHING if options[ReadingOptions].smoothing == "release" else 0.0
        counting = CountMaps(distances.HeadDistances, (("smoothing", smoothing),))
        name = f"head-distances/{setting.maps.kind}"
        request = Request(name, "clusters", setting.corpus, reading.maker, counting)
        return Plan((reading.request, request), ClusterFacts(reading.facts, request.name))

    def results(
        self,
        options: OptionSet,
        counted: Counted[ClusterFacts],
        needed: Mapping[str, Any],
        looked: Any,
    ) -> ClusterResults:
        """Make the distances, the map and the clusters."""
        from attentionology.analyses.clusters.distances import HeadDistances
        from attentionology.analyses.clusters.geography import geography
        from attentionology.analyses.clusters.section import ClusterResults
        from attentionology.analyses.surface.reading import read_tables

        facts = counted.facts
        tables, notes = read_tables(options, counted, facts.reading, needed)
        distances = counted.metric(facts.distances, HeadDistances).compute()
        clusters, seed = options[ClustersOptions].n_clusters, facts.reading.seed
        return ClusterResults(
            distances=distances,
            geography=geography(distances.per_row, clusters=clusters, seed=seed),
            heads=tables.heads,
            specials=facts.reading.specials,
            notes=notes,
            notes_shown="surface" in needed,
        )

    def section(self, results: ClusterResults, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page."""
        from attentionology.analyses.clusters.section import clusters_section

        return clusters_section(results, titles)

    def show(self, results: ClusterResults, width: int) -> RenderableType:
        """Return a table of how alike the heads of a layer are."""
        from attentionology.analyses.clusters.terminal import clusters_table

        return clusters_table(results, notes=not results.notes_shown)

    def explored(
        self, options: OptionSet, counted: Counted[ClusterFacts], results: ClusterResults, kind: str | None
    ) -> Contribution:
        """Return the cluster of every head and the heads most like it."""
        from attentionology.analyses.clusters.explored import explored_clusters

        return explored_clusters(results, kind or "")

    def record(
        self,
        options: OptionSet,
        counted: Counted[ClusterFacts],
        results: ClusterResults,
    ) -> dict[str, Any]:
        """Return the notes."""
        return {"clusters": {"notes": list(results.notes)}}
