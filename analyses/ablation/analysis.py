"""The analysis ``ablation``: what changes in a model if one of its heads is switched off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.console import RenderableType

from ..contract import OptionSet, Plan, PlanCounts, Reader, Setting, Titles
from ..questions import AnalysisOfQuestions
from .heads import Heads
from .options import ABLATION
from .predictions import Predictions
from .pruning import Pruning
from .relations import Relations, shown_table
from .rows import AblationFacts, AblationResults, AblationTables, Effects, LookupContext, PlanContext


class Ablation(AnalysisOfQuestions[AblationFacts, AblationResults, PlanContext, LookupContext, Effects], row=ABLATION):
    """The analysis of what changes in a model if one of its heads is switched off."""

    facts_type = AblationFacts
    questions = (Heads(), Relations(), Pruning(), Predictions())

    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Check the options against the model."""
        return PlanContext(options, setting)

    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> AblationFacts:
        """Return what the results need of the plan."""
        return plan_context.facts(requests)

    def counts(self, options: OptionSet, plan_counts: PlanCounts[AblationFacts]) -> Effects:
        """Return the effects of each head."""
        return Effects(options, plan_counts)

    def lookup_context(
        self, options: OptionSet, plan: Plan[AblationFacts], counts: Effects, read: Reader
    ) -> tuple[str, LookupContext]:
        """Return what switches heads off once more, and a name for the inputs."""
        lookup_context = LookupContext(plan, counts, read)
        return lookup_context.key, lookup_context

    def results_of(self, counts: Effects, answers: Mapping[str, Any]) -> AblationResults:
        """Put the tables of heads and of relations together."""
        heads = answers["heads"]
        relations, summary = answers.get("relations", (pd.DataFrame(), pd.DataFrame()))
        tables = AblationTables(heads.heads, heads.groups, relations, summary)
        return AblationResults(tables, heads.largest, counts.facts.notes, counts.min_count, answers)

    def heading(self, results: AblationResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        of_model = f" of {titles.model}" if titles.model else ""
        return f"Which attention heads{of_model} matter", titles.figure

    def show(self, results: AblationResults, width: int) -> RenderableType:
        """Return whether the heads that find relations matter, or else the heads that matter most."""
        return shown_table(results).terminal(width)

    def record(
        self, options: OptionSet, plan_counts: PlanCounts[AblationFacts], results: AblationResults
    ) -> dict[str, Any]:
        """Return the notes."""
        return {"ablation": {"notes": list(results.remarks)}}

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored by question."""
        if isinstance(facts["requests"], Mapping):
            return facts, lookups
        by_question: dict[str, dict[str, Any]] = {}
        for key, rows in (lookups or {}).items():
            before, _, texts = key.rpartition(" ")  # the sentences of predictions were marked by a word before them
            by_question.setdefault(before or "pruning", {})[texts] = rows
        return {**facts, "requests": {"heads": facts["requests"]}}, by_question or None


SCHEMAS = Ablation.schemas()
"""The tables that the analysis writes."""
