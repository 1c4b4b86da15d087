"""The plan and the results of the analysis ``clusters`` (Clark et al. 2019, §6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..contract import Analysis, Counted, OptionSet, Plan, Request, Setting, Titles
from ..shared.options import FeedForwardOptions, MapOptions
from ..surface.facts import ReadingFacts
from ..surface.options import ReadingOptions
from .options import ClustersOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...reports.explorer.contribution import Contribution
    from ...reports.page import Section
    from .section import ClusterResults


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
        from ..shared.counting import CountMaps
        from ..surface.reading import plan_reading
        from . import distances

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
        from ..surface.reading import read_tables
        from .distances import HeadDistances
        from .geography import geography
        from .section import ClusterResults

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
        from .section import clusters_section

        return clusters_section(results, titles)

    def show(self, results: ClusterResults, width: int) -> RenderableType:
        """Return a table of how alike the heads of a layer are."""
        from .section import neighbors_table

        return neighbors_table(results).terminal(width)

    def explored(
        self, options: OptionSet, counted: Counted[ClusterFacts], results: ClusterResults, kind: str | None
    ) -> Contribution:
        """Return the cluster of every head and the heads most like it."""
        from .explored import explored_clusters

        return explored_clusters(results, kind or "")

    def record(
        self,
        options: OptionSet,
        counted: Counted[ClusterFacts],
        results: ClusterResults,
    ) -> dict[str, Any]:
        """Return the notes."""
        return {"clusters": {"notes": list(results.notes)}}
