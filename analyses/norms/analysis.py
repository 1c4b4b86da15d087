"""The analysis ``norms``: weights, and the norms of the vectors that they move (Kobayashi et al. 2020, 2021, 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rich.console import RenderableType

from ..contract import OptionSet, Plan, PlanCounts, Reader, Setting, Titles
from ..questions import AnalysisOfQuestions
from ..shared.merged_facts import key_of_texts
from .block import Block
from .copying import Copying
from .expansion import Expansion
from .feed_forward import FeedForward
from .frequency import Frequency
from .mixing import Mixing
from .options import NORMS
from .overwriting import Overwriting
from .rows import SENTENCES, LookupContext, NormCounts, NormFacts, NormQuestion, NormResults, PlanContext, layers_table
from .shares import Shares
from .spread import Spread


class Norms(AnalysisOfQuestions[NormFacts, NormResults, PlanContext, LookupContext, NormCounts], row=NORMS):
    """The analysis that compares attention weights with the norms of the vectors that they move."""

    facts_type = NormFacts
    questions: ClassVar[Sequence[NormQuestion]] = (
        Shares(), Spread(), Mixing(), Frequency(), Expansion(), Copying(), FeedForward(), Block(), Overwriting(),
    )  # fmt: skip

    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Check that the architecture is known, before anything slow."""
        return PlanContext(options, setting)

    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> NormFacts:
        """Return what the results need of the plan."""
        return plan_context.facts(requests)

    def counts(self, options: OptionSet, plan_counts: PlanCounts[NormFacts]) -> NormCounts:
        """Return the counts."""
        return NormCounts(options, plan_counts)

    def lookup_context(
        self, options: OptionSet, plan: Plan[NormFacts], counts: NormCounts, read: Reader
    ) -> tuple[str, LookupContext]:
        """Return what looks up single sentences, and a name for the corpus."""
        first = plan.requests[0].inputs[:SENTENCES]
        return key_of_texts(sentence.id for sentence in first), LookupContext(plan, counts, read)

    def results_of(self, counts: NormCounts, answers: Mapping[str, Any]) -> NormResults:
        """Let each question add to the table by layer."""
        parts = (question.by_layer(answers[question.name]) for question in self.questions if question.name in answers)
        layers = tuple(part for part in parts if part is not None)
        return NormResults(layers, counts.published, tuple(counts.notes), answers)

    def heading(self, results: NormResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        return f"What attention moves in {titles.model}: norms of vectors", titles.figure

    def show(self, results: NormResults, width: int) -> RenderableType:
        """Return a table of weights and norms, layer by layer."""
        return layers_table(results).terminal(width)

    def record(self, options: OptionSet, plan_counts: PlanCounts[NormFacts], results: NormResults) -> dict[str, Any]:
        """Return the notes, and the share of pieces that were masked."""
        return {"norms": {"notes": list(results.notes), **plan_counts.facts.kept.get("mixing", {})}}

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored by question."""
        if "requests" in facts:
            return facts, lookups
        kept = dict(facts)
        stages, rates, mask_rate = kept.pop("stages"), kept.pop("expansion"), kept.pop("mask_rate")
        requests = {name: [f"norms-{name}"] for name in ("shares", "spread", "mixing", "frequency")}
        of_questions = {"mixing": {"mask_rate": mask_rate}, "expansion": rates}
        by_question: dict[str, Any] = {}
        if stages:
            requests |= {"feed_forward": [stages], "block": ["norms-block"]}
            of_questions["feed_forward"] = {"layers": len(rates)}
            texts = [{"key": int(key), **text} for key, text in (lookups or {}).items()]
            by_question["feed_forward"] = {key_of_texts(text["id"] for text in texts): texts}
        return {**kept, "requests": requests, "kept": of_questions}, by_question


SCHEMAS = Norms.schemas()
"""The tables that the analysis writes."""
