"""The analysis ``alignment``: which word translates which (Kobayashi et al. 2020, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from rich.console import Group, RenderableType

from ...corpora_loaders.alignment import SentencePair
from ...reports.tables import records
from ..contract import OptionSet, Plan, PlanCounts, Reader, Setting, Titles
from ..questions import AnalysisOfQuestions
from .baselines import Baselines
from .best import Best
from .contrasts import Contrasts
from .controls import Controls
from .correlations import Correlations
from .example import Example, choose_pair
from .layers import Layers
from .options import AlignmentOptions, LanguageOptions
from .rests import Rests
from .rows import LAYERS, Aligned, AlignmentFacts, AlignmentResults, LookupContext, PlanContext
from .sample_maps import sampled_maps

_IN_TERMINAL = ("alignment_layers", "alignment_best", "alignment_baselines")
"""The tables that a terminal shows."""


class Alignment(AnalysisOfQuestions[AlignmentFacts, AlignmentResults, PlanContext, LookupContext, Aligned]):
    """The analysis that aligns words by the attention of a model that reads sentence pairs."""

    # Its corpus is a bitext, and its model is a translation model, so it has a command of its own.

    name = "alignment"
    options = (AlignmentOptions, LanguageOptions)
    of_maps = False
    facts_type = AlignmentFacts
    summary = "alignment: which word translates which, by the attention of a translation model (Kobayashi et al. 2020)."
    questions = (
        Layers(), Example(), Best(), Contrasts(), Correlations(), Baselines(), Rests(), Controls(),
    )  # fmt: skip

    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Check that the corpus has sentence pairs."""
        return PlanContext(options, setting)

    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> AlignmentFacts:
        """Return what the results need of the plan."""
        return plan_context.facts(requests)

    def plan(self, options: OptionSet, setting: Setting) -> Plan[AlignmentFacts]:
        """Plan the requests of all questions, and the maps of the pairs that the report shows."""
        chosen = options[AlignmentOptions]
        sampled = sampled_maps(chosen.method, chosen.merge)
        return replace(super().plan(options, setting), sampled=sampled)

    def counts(self, options: OptionSet, plan_counts: PlanCounts[AlignmentFacts]) -> Aligned:
        """Return the counts of links."""
        return Aligned(plan_counts)

    def lookup_context(
        self, options: OptionSet, plan: Plan[AlignmentFacts], counts: Aligned, read: Reader
    ) -> tuple[str, LookupContext] | None:
        """Choose the sentence pair to look at."""
        pair = choose_pair(pair for pair in plan.requests[0].inputs if isinstance(pair, SentencePair))
        return None if pair is None else (pair.id, LookupContext(pair, counts, options[AlignmentOptions].merge, read))

    def results_of(self, counts: Aligned, answers: Mapping[str, Any]) -> AlignmentResults:
        """Return the cells, and which links are written."""
        units = next(iter(counts.scored.values())).units if counts.scored else float("nan")
        return AlignmentResults(counts.facts.method, answers[LAYERS], counts.choice, units, answers)

    def heading(self, results: AlignmentResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        return f"Word alignment by {results.method}", titles.figure

    def summary_of(self, results: AlignmentResults) -> Mapping[str, Any]:
        """Return all tables."""
        frames = (each.frames(answer, results) for each, answer in self.pair_answers(results))
        return {name: records(table) for of_question in frames for name, table in of_question.items()}

    def show(self, results: AlignmentResults, width: int) -> RenderableType:
        """Return a table of error rates, layer by layer, of the best layers and heads, and of baselines."""
        shown = [table for each, answer in self.pair_answers(results) for table in each.show(answer, results)]
        tables = [table.terminal(width) for table in shown if table.name in _IN_TERMINAL]
        return Group(*[part for table in tables for part in ("", table)][1:])  # an empty line before each other table

    def record(
        self, options: OptionSet, plan_counts: PlanCounts[AlignmentFacts], results: AlignmentResults
    ) -> dict[str, Any]:
        """Return where links are from, and which links are written."""
        choice = results.chosen
        return {
            "alignment": {
                "gold": asdict(plan_counts.facts.gold[0]) if plan_counts.facts.gold else None,
                "baselines": {source.name: asdict(source) for source in plan_counts.facts.hypotheses},
                "lowest_error_rate" if choice.by_gold else "largest_norm": {
                    "setting": choice.series.setting,
                    "measure": choice.series.measure,
                    "direction": choice.series.direction,
                    "layer": choice.layer + 1,
                },
            }
        }

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored by question."""
        if "requests" in facts:
            return facts, lookups
        labels = [f"{one['setting']}/{one['measure']}/{one['heads']}/{one['direction']}" for one in facts["series"]]
        forward = [label for label in labels if label.endswith("/forward")]
        endings = [f"/control-{copy}" for copy in range(1, 1 + facts["controls"])]
        by_question = {
            "layers": [f"alignment/{label}" for label in labels],
            "baselines": [f"alignment/baseline/{name}" for name in facts["baselines"]],
            "controls": [f"alignment/{label}{ending}" for ending in endings for label in forward],
        }
        kept = {name: facts[name] for name in ("method", "written", "gold", "hypotheses") if name in facts}
        examples = {example["id"]: example for example in (lookups or {}).get("examples", ())}
        return {**kept, "requests": {name: names for name, names in by_question.items() if names}}, {
            "example": examples
        }


SCHEMAS = Alignment.schemas()
"""The tables that the analysis writes. Without gold links, there is only the first one, without scores."""
