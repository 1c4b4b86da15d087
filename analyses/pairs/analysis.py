"""The analysis ``pairs``: which sentence of a minimal pair a model prefers, and what its heads do where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from ..contract import OptionSet, Plan, PlanCounts, Reader, Setting, Titles
from ..counting.comparable import Comparable
from ..questions import AnalysisOfQuestions
from .accuracy import Accuracy, accuracy_table, comparable_accuracy
from .attractors import Attractors
from .contributions import Contributions
from .critical import Critical, critical_table
from .needed import Needed
from .options import PAIRS
from .positions import Positions
from .rows import LookupContext, PairCounts, PairFacts, PairResults, PlanContext
from .scores import ScoreMaker

_NO_HEAD = (
    "Sentences were not scored: the model has no language-model head, so that only its attention is measured. Choose a "
    "checkpoint with a masked-LM or a causal LM head."
)


class MinimalPairs(AnalysisOfQuestions[PairFacts, PairResults, PlanContext, LookupContext, PairCounts], row=PAIRS):
    """The analysis of minimal pairs."""

    facts_type = PairFacts
    questions = (Critical(), Positions(), Attractors(), Accuracy(), Needed(), Contributions())

    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Check the options against the corpus and the model."""
        return PlanContext(options, setting)

    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> PairFacts:
        """Return what the results need of the plan."""
        return plan_context.facts(requests)

    def counts(self, options: OptionSet, plan_counts: PlanCounts[PairFacts]) -> PairCounts:
        """Return the counts."""
        return PairCounts(options, plan_counts)

    def lookup_context(
        self, options: OptionSet, plan: Plan[PairFacts], counts: PairCounts, read: Reader
    ) -> tuple[str, LookupContext]:
        """Return what scores sentences once more."""
        makers = [request.maker for request in plan.requests]
        scorer = next((maker.scorer for maker in makers if isinstance(maker, ScoreMaker)), None)
        return "pairs", LookupContext(counts, plan.requests[0], read, scorer)

    def results_of(self, counts: PairCounts, answers: Mapping[str, Any]) -> PairResults:
        """Put the answers together."""
        scored = f"The score of a sentence is {counts.facts.scored}." if counts.facts.scored else _NO_HEAD
        critical = answers["critical"]
        n_heads = int(critical["head"].max()) if len(critical) else 1
        return PairResults(len(counts.pairs), (*counts.facts.maps.phrases(n_heads), scored), answers)

    def heading(self, results: PairResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        return f"Which of two sentences {titles.model or 'the model'} prefers", titles.figure

    def show(self, results: PairResults, width: int) -> RenderableType:
        """Return the accuracy of each group, or the attention if nothing was scored."""
        if "accuracy" in results.answers:
            return accuracy_table(results.accuracy).terminal(width)
        return critical_table(results.critical).terminal(width)

    def comparable(self, plan_counts: PlanCounts[PairFacts]) -> Sequence[Comparable]:
        """Return the accuracy of each group."""
        return comparable_accuracy(PairCounts(OptionSet(), plan_counts))

    def record(self, options: OptionSet, plan_counts: PlanCounts[PairFacts], results: PairResults) -> dict[str, Any]:
        """Return the notes."""
        return {"pairs": {"notes": list(results.notes)}}


SCHEMAS = MinimalPairs.schemas()
"""The tables that the analysis writes."""
