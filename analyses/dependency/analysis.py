"""The analysis ``dependency``: the syntactic head of a word as the word that is attended most (Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from ...reports.tables import records
from ..contract import Guesses, OptionSet, Plan, PlanCounts, Reader, Setting, Titles
from ..counting.comparable import Comparable
from ..questions import AnalysisOfQuestions
from ..shared.control import control_record
from ..shared.options import ControlOptions, EnsembleOptions
from .best_heads import BestHeads, best_table
from .control import Control
from .ensembles import Ensembles
from .failures import Failures
from .gains import comparable_statistics
from .layers import Layers
from .options import DEPENDENCY, DependencyOptions
from .rows import DependencyFacts, DependencyResults, LookupContext, PlanContext, Words, asked_phrases, guesses_of_heads
from .rules import BeyondTags
from .spanning import Trees


class Dependency(
    AnalysisOfQuestions[DependencyFacts, DependencyResults, PlanContext, LookupContext, Words], row=DEPENDENCY
):
    """The analysis that counts how often the most attended other word is the syntactic head."""

    facts_type = DependencyFacts
    questions = (BestHeads(), BeyondTags(), Layers(), Ensembles(), Trees(), Failures(), Control())

    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Check the options against the corpus."""
        return PlanContext(options, setting)

    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> DependencyFacts:
        """Return what the results need of the plan."""
        return plan_context.facts(requests)

    def counts(self, options: OptionSet, plan_counts: PlanCounts[DependencyFacts]) -> Words:
        """Return the counts of words."""
        return Words(options, plan_counts)

    def lookup_context(
        self, options: OptionSet, plan: Plan[DependencyFacts], counts: Words, read: Reader
    ) -> tuple[str, LookupContext] | None:
        """Keep the maps of the first sentences."""
        if not options[EnsembleOptions].ensembles and not options[DependencyOptions].spanning_trees:
            return None
        kept = LookupContext(counts, plan.requests[0], read)
        return kept.key, kept

    def results_of(self, counts: Words, answers: Mapping[str, Any]) -> DependencyResults:
        """Put the columns of all questions into the table of the best heads."""
        heads = answers["best_heads"]
        best, added = self.with_added(heads.best, ("relation",), answers)
        maps = counts.facts.maps.phrases(int(heads.cells["head"].max()))
        return DependencyResults(
            cells=heads.cells,
            best=best,
            min_count=counts.min_count,
            map_facts=(*maps, *counts.metric.gold_facts(), *asked_phrases(counts.facts.asked, counts.metric.groups)),
            trees=counts.metric.trees,
            claimed=heads.claimed,
            unclaimed=heads.unclaimed,
            added=added,
            answers=answers,
        )

    def heading(self, results: DependencyResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        gold = {"enhanced": "enhanced dependencies", "pairs": "pairs of words"}.get(results.trees, "")
        title = f"{titles.figure} · {gold}" if titles.figure and gold else titles.figure
        subject = "pairs of words" if results.trees == "pairs" else "dependency syntax"
        return f"What the attention heads of {titles.model} know about {subject}", title

    def summary_of(self, results: DependencyResults) -> Mapping[str, Any]:
        """Return the best heads."""
        return {"dependency_best": records(results.best)}

    def guesses(self, options: OptionSet, setting: Setting) -> Guesses | None:
        """Return the word that each head picks for each word, in all directions."""
        return guesses_of_heads(options[DependencyOptions], is_causal=setting.encoder.causal)

    def show(self, results: DependencyResults, width: int) -> RenderableType:
        """Return a table of the best head of each relation."""
        return best_table(results).terminal(width)

    def comparable(self, plan_counts: PlanCounts[DependencyFacts]) -> Sequence[Comparable]:
        """Return the held-out accuracy of the best head of each relation, and its gains over rules."""
        return tuple(comparable_statistics(Words(OptionSet(), plan_counts)))

    def record(
        self, options: OptionSet, plan_counts: PlanCounts[DependencyFacts], results: DependencyResults
    ) -> dict[str, Any]:
        """Describe the copies with random weights, and what was left out of enhanced dependencies or pairs."""
        control = control_record(options[ControlOptions], plan_counts.facts.seed)
        metric = Words(options, plan_counts).metric
        if metric.trees == "basic":
            return control
        left_out = dict(zip(("roots", "empty_nodes", "words_without_head"), metric.left_out.tolist(), strict=True))
        return {**control, "dependency": {"trees": metric.trees, "left_out": left_out}}

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored by question."""
        if "requests" not in facts:
            by_question = {"best_heads": [facts["model"]], "control": facts["copies"]}
            by_question |= {name: [facts[name]] for name in ("rules", "failures") if facts.get(name)}
            kept = {name: facts[name] for name in ("maps", "seed", "asked") if name in facts}
            facts = {**kept, "requests": {name: names for name, names in by_question.items() if names}}
            by_key: dict[str, dict[str, Any]] = {}
            for key, value in (lookups or {}).items():
                question, texts = ("spanning_trees", key.removeprefix("trees/")) if "/" in key else ("ensembles", key)
                by_key.setdefault(question, {})[texts] = value
            lookups = by_key or None
        return facts, lookups


SCHEMAS = Dependency.schemas()
"""The tables that the analysis writes."""
