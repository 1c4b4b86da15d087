"""The analysis ``coreference``: an antecedent of a mention as the mention that is attended most (Clark et al. 2019)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from ...corpora_loaders import Corpus
from ...reports.tables import records
from ..contract import Guesses, OptionSet, Plan, PlanCounts, Reader, Setting, Titles
from ..counting.comparable import Comparable
from ..questions import AnalysisOfQuestions
from ..shared.control import control_record
from ..shared.merged_facts import key_of_texts
from ..shared.options import ControlOptions
from .best_heads import BestHeads, best_table
from .contrasts import Contrasts
from .control import Control
from .coverage import Coverage, warnings_of
from .ensembles import Ensembles
from .examples import Examples
from .failures import Failures
from .layers import Layers
from .options import COREFERENCE, CoreferenceOptions
from .rows import KEYS, CoreferenceFacts, CoreferenceResults, LookupContext, Mentions, PlanContext, guesses_of_heads


class Coreference(
    AnalysisOfQuestions[CoreferenceFacts, CoreferenceResults, PlanContext, LookupContext, Mentions], row=COREFERENCE
):
    """The analysis that counts how often the most attended other mention is an antecedent."""

    facts_type = CoreferenceFacts
    questions = (BestHeads(), Layers(), Contrasts(), Failures(), Ensembles(), Control(), Examples(), Coverage())

    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Check the options against the corpus, and cut the documents into windows."""
        return PlanContext(options, setting)

    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> CoreferenceFacts:
        """Return what the results need of the plan."""
        return plan_context.facts(requests)

    def corpus(self, plan_context: PlanContext) -> Corpus:
        """Return the windows."""
        return plan_context.windows

    def counts(self, options: OptionSet, plan_counts: PlanCounts[CoreferenceFacts]) -> Mentions:
        """Return the counts of mentions."""
        return Mentions(options, plan_counts)

    def lookup_context(
        self, options: OptionSet, plan: Plan[CoreferenceFacts], counts: Mentions, read: Reader
    ) -> tuple[str, LookupContext]:
        """Return the windows, of which some are read again."""
        windowed = LookupContext(counts, plan.requests[0], read)
        return windowed.key, windowed

    def results_of(self, counts: Mentions, answers: Mapping[str, Any]) -> CoreferenceResults:
        """Put the columns of all questions into the table of the best heads."""
        heads, facts = answers["best_heads"], counts.facts
        best, added = self.with_added(heads.tables.best, KEYS, answers)
        return CoreferenceResults(
            tables=heads.tables._replace(best=best),
            account=heads.account,
            candidates=counts.candidates,
            singletons=counts.options[CoreferenceOptions].singletons,
            map_facts=facts.maps.phrases(int(heads.tables.cells["head"].max())),
            notes=facts.notes,
            asked=facts.asked,
            min_count=counts.min_count,
            claimed=heads.claimed,
            added=added,
            answers=answers,
        )

    def heading(self, results: CoreferenceResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        return f"What the attention heads of {titles.model} know about coreference", titles.figure

    def summary_of(self, results: CoreferenceResults) -> Mapping[str, Any]:
        """Return the best heads, the baselines, the differences between groups, and the examples."""
        contrasts = results.answers.get("contrasts")
        return {
            "coreference_best": records(results.tables.best),
            "coreference_baselines": records(results.tables.baselines),
            "coreference_contrasts": [] if contrasts is None else records(contrasts.best),
            "coreference_largest_contrasts": [] if contrasts is None else records(contrasts.largest),
            "coreference_examples": [asdict(example) for example in results.answers.get("examples", ())],
        }

    def guesses(self, options: OptionSet, setting: Setting) -> Guesses:
        """Return the candidate that each head picks for each mention, in both directions."""
        return guesses_of_heads(options[CoreferenceOptions])

    def show(self, results: CoreferenceResults, width: int) -> RenderableType:
        """Return a table of the best head of each type of mention."""
        return best_table(results).terminal(width)

    def comparable(self, plan_counts: PlanCounts[CoreferenceFacts]) -> Sequence[Comparable]:
        """Return the held-out accuracy of the best head of each type of mention, for each choice of candidates."""
        return Mentions(OptionSet(), plan_counts).comparable()

    def record(
        self, options: OptionSet, plan_counts: PlanCounts[CoreferenceFacts], results: CoreferenceResults
    ) -> dict[str, Any]:
        """Describe the copies with random weights, how many mentions were scored and why others were not, and notes."""
        control = control_record(options[ControlOptions], plan_counts.facts.seed)
        return {**control, "coreference": {"account": dict(results.account), "notes": list(results.notes)}}

    def warnings(self, results: CoreferenceResults) -> list[str]:
        """Warn of too few mentions or documents."""
        return warnings_of(results.account)

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored by question."""
        if "requests" in facts:
            return facts, lookups
        by_question = {
            "best_heads": [facts["model"]],
            "control": facts["copies"],
            "failures": [facts["failures"]] if facts.get("failures") else [],
        }
        kept = {name: facts[name] for name in ("model_name", "maps", "seed", "asked", "notes") if name in facts}
        # The texts that were read have no name in these runs, so that what was found in them stands for it.
        texts = key_of_texts([json.dumps(lookups, sort_keys=True)])
        ensembles = lookups.get("ensembles", [])  # one list of rows, or one of each of several merged runs
        return (
            {**kept, "requests": {name: names for name, names in by_question.items() if names}},
            {
                "best_heads": {texts: lookups["account"]},
                "examples": {texts: {"head": lookups["head"], "examples": lookups["examples"]}},
                "ensembles": {f"{texts}/{number}": rows for number, rows in enumerate(ensembles)},
            },
        )


SCHEMAS = Coreference.schemas()
"""The tables that the analysis writes."""
