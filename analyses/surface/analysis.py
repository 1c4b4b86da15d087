"""The analysis ``surface``: where attention goes, and how much of it matters to a loss (Clark et al. 2019, §3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from ...reports.columns import Schema, TableColumn
from ..contract import OptionSet, PlanCounts, Setting, Titles
from ..counting.comparable import Comparable
from ..questions import AnalysisOfQuestions
from .detectors import Detectors
from .entropy import Entropy
from .gradients import Gradients
from .labels import Labels
from .offsets import Offsets
from .options import SURFACE
from .relations import Relations
from .rows import PlanContext, Statistics, SurfaceFacts, SurfaceResults
from .shares import Shares, comparable_statistics, layers_table


class Surface(AnalysisOfQuestions[SurfaceFacts, SurfaceResults, PlanContext, Any, Statistics], row=SURFACE):
    """The analysis of where attention goes by position and class of token, and how much that matters to a loss."""

    facts_type = SurfaceFacts
    questions = (Shares(), Offsets(), Relations(), Detectors(), Labels(), Entropy(), Gradients())
    main = "surface"

    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Plan the reading, which is shared with ``clusters``."""
        return PlanContext(options, setting)

    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> SurfaceFacts:
        """Return what the results need of the plan."""
        return plan_context.facts(requests)

    def counts(self, options: OptionSet, plan_counts: PlanCounts[SurfaceFacts]) -> Statistics:
        """Return the statistics of all heads."""
        return Statistics(options, plan_counts)

    def results_of(self, counts: Statistics, answers: Mapping[str, Any]) -> SurfaceResults:
        """Put the columns of all questions into the table of heads."""
        heads = counts.tables.heads
        for question in reversed(self.questions):  # the label of a head stands before its relation
            columns = question.columns(answers[question.name]) if question.name in answers else None
            heads = heads if columns is None else heads.join(columns, on=["layer", "head"])
        tables = counts.tables._replace(heads=heads)
        return SurfaceResults(tables, counts.facts.reading.specials, tuple(counts.notes), answers)

    def heading(self, results: SurfaceResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        return "What attention heads do on the surface of the text", titles.figure

    def show(self, results: SurfaceResults, width: int) -> RenderableType:
        """Return a table of where attention goes, layer by layer."""
        return layers_table(results).terminal(width)

    def comparable(self, plan_counts: PlanCounts[SurfaceFacts]) -> Sequence[Comparable]:
        """Return the means over heads of all statistics, and of some of them layer by layer."""
        return comparable_statistics(Statistics(OptionSet(), plan_counts).metric)

    def record(
        self, options: OptionSet, plan_counts: PlanCounts[SurfaceFacts], results: SurfaceResults
    ) -> dict[str, Any]:
        """Return the notes, and the names of the special tokens."""
        return {"surface": {"notes": list(results.notes), "specials": dict(results.specials)}}

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored by question."""
        if "requests" in facts:
            return facts, lookups
        kept = dict(facts)
        reading, asked, obstacle = (kept.pop(name) for name in ("reading", "asked", "obstacle"))
        by_question = {"shares": reading["request"], "gradients": kept.pop("gradients")}
        del kept["loss"]  # which the options say
        by_reading = {name: value for name, value in reading.items() if name != "request"}
        return {
            **kept,
            "requests": {name: [request] for name, request in by_question.items() if request},
            "reading": by_reading,
            "asked": {"gradients": asked},
            "notes": [f"Gradients were not computed: {obstacle}."] if obstacle else [],
        }, lookups


SEGMENTS = Schema(
    "segments",
    "With `--segments`. One row per segment that was read, whatever the analyses.",
    (
        TableColumn("id", "text", "the name of the segment"),
        TableColumn("file", "text", "the file"),
        TableColumn("line", "number from 1", "the line on which the segment begins"),
        TableColumn("pieces", "text", "the pieces, separated by spaces"),
        TableColumn("segment_ids", "text", "the segment id of each piece, 0 or 1, separated by spaces"),
    ),
)

SCHEMAS = (*Surface.schemas(), SEGMENTS)
"""The tables that the analysis writes, and that of the segments that were read."""
