"""The analysis ``clusters``: which heads attend alike (Clark et al. 2019, §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.console import RenderableType

from ..contract import OptionSet, PlanCounts, Setting, Titles
from ..questions import AnalysisOfQuestions
from .clusters import HeadClusters
from .distances import AllDistances
from .layers import Layers, neighbors_table
from .options import CLUSTERS
from .rows import ClusterFacts, ClusterResults, Distances, Heads, LabeledHeads, PlanContext, layers_of


class Clusters(AnalysisOfQuestions[ClusterFacts, ClusterResults, PlanContext, Any, Distances], row=CLUSTERS):
    """The analysis that measures how differently any two heads attend, and draws the heads on a map."""

    facts_type = ClusterFacts
    main = "head_embedding"
    questions = (AllDistances(), Heads(), Layers(), HeadClusters())

    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Plan the reading, which is shared with ``surface``."""
        return PlanContext(options, setting)

    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> ClusterFacts:
        """Return what the results need of the plan."""
        return ClusterFacts(requests, plan_context.reading)

    def counts(self, options: OptionSet, plan_counts: PlanCounts[ClusterFacts]) -> Distances:
        """Return the counts."""
        return Distances(options, plan_counts)

    def results_of(self, counts: Distances, answers: Mapping[str, Any]) -> ClusterResults:
        """Return the answers beside the heads with their labels."""
        layers, numbers = layers_of(answers["distances"].per_row)
        heads = pd.DataFrame({"layer": layers, "head": numbers})
        labeled = answers.get("labeled_heads", LabeledHeads(heads, (), notes_shown=False))
        specials = counts.facts.reading.specials
        return ClusterResults(labeled.table, specials, labeled.notes, labeled.notes_shown, answers)

    def heading(self, results: ClusterResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        return "Which attention heads attend alike", titles.figure

    def show(self, results: ClusterResults, width: int) -> RenderableType:
        """Return a table of how alike the heads of a layer are."""
        return neighbors_table(results).terminal(width)

    def record(
        self, options: OptionSet, plan_counts: PlanCounts[ClusterFacts], results: ClusterResults
    ) -> dict[str, Any]:
        """Return the notes."""
        return {"clusters": {"notes": list(results.notes)}}

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored by question."""
        if "requests" in facts:
            return facts, lookups
        kept, reading = dict(facts), dict(facts["reading"])
        requests = {"labeled_heads": [reading.pop("request")], "distances": [kept.pop("distances")]}
        return {**kept, "requests": requests, "reading": reading}, lookups


SCHEMAS = Clusters.schemas()
"""The tables that the analysis writes."""
