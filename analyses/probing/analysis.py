"""Probing as an analysis: the questions that are asked of what a run has stored, word by word."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from rich.console import Group, RenderableType

from ...reports.columns import TableColumn
from ...reports.tables import records
from ..contract import OptionSet, Plan, PlanCounts, Setting, Titles
from ..counting.comparable import Comparable
from ..questions import AnalysisOfAnswers
from ..shared.merged_facts import key_of_texts
from ..shared.options import CountOptions
from .codelength import Codelengths, codelength_table
from .contrasts import Contrasts
from .controls import Controls
from .edges import Edges
from .head_weights import UsedHeads
from .layers import Layers, states_table
from .lengths import Lengths
from .mixes import Mixes
from .outcomes import AttachmentOutcomes
from .published import Published
from .relations import Relations
from .rows import NAME, ProbeFacts, ProbeResults, Tested
from .runs import Runs
from .scores import Scores, methods_table
from .tree_example import TreeExamples


class Probing(AnalysisOfAnswers[ProbeFacts, ProbeResults, Tested]):
    """What all heads of a model together know about syntax. Its driver is `attentionology.probe`."""

    name = NAME
    options = (CountOptions,)
    facts_type = ProbeFacts
    summary = "probe: probes that predict syntactic heads from the maps of all heads (Clark et al. 2019, section 5)."
    questions = (
        Scores(), Published(), Controls(), Contrasts(), Layers(), Mixes(), Edges(), TreeExamples(), Codelengths(),
        Lengths(), Relations(), UsedHeads(), Runs(),
    )  # fmt: skip

    def plan(self, options: OptionSet, setting: Setting) -> Plan[ProbeFacts]:
        """Probes are trained on stored maps, so nothing is planned."""
        raise NotImplementedError("probes are trained by attentionology.probe")

    def counts(self, options: OptionSet, plan_counts: PlanCounts[ProbeFacts]) -> Tested:
        """Return what each method got right."""
        return Tested(options, plan_counts)

    def results_of(self, counts: Tested, answers: Mapping[str, Any]) -> ProbeResults:
        """Put the columns of all questions into the table of scores."""
        methods, added = answers["scores"], list[TableColumn]()
        for question in reversed(self.questions):  # those of the control task stand next to the scores
            columns = question.columns(answers[question.name]) if question.name in answers else None
            if columns is not None:
                methods, added = methods.join(columns), [*added, *question.added]
        return ProbeResults(
            methods=methods,
            probes=counts.facts.probes,
            units=counts.units,
            min_count=counts.min_count,
            facts=counts.facts.phrases,
            notes=counts.facts.notes,
            added=tuple(added),
            answers=answers,
        )

    def heading(self, results: ProbeResults, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""
        if "layers" in results.answers:
            return f"What can be read from the attention and from the hidden states of {titles.model}", titles.figure
        return f"What the attention heads of {titles.model} together know of syntax", titles.figure

    def summary_of(self, results: ProbeResults) -> Mapping[str, Any]:
        """Return the scores, their differences, how weights and accuracies go together, and the notes."""
        used = results.answers.get("head_weights", {})
        return {
            "probe": records(results.methods),
            "probe_contrasts": records(results.answers.get("contrasts", pd.DataFrame())),
            "probe_weights": {name: records(weights.correlations) for name, weights in used.items()},
            "probe_notes": list(results.notes),
        }

    def show(self, results: ProbeResults, width: int) -> RenderableType:
        """Return the table of methods, and those of hidden states."""
        tables = [methods_table(results)]
        for name, table_of in (("layers", states_table), ("codelength", codelength_table)):
            if name in results.answers:
                tables.append(table_of(results.answers[name]))
        return Group(*(table.terminal(width) for table in tables))

    def comparable(self, plan_counts: PlanCounts[ProbeFacts]) -> Sequence[Comparable]:
        """Return the attachment scores of all methods, and those of probes by relation."""
        tested, facts = Tested(OptionSet(), plan_counts), plan_counts.facts
        return AttachmentOutcomes.of(
            tested.sentences, tested.attempts, probes=facts.probes, replicates=facts.replicates, seed=facts.seed
        ).comparable()

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return what runs before 0.4 have stored among their facts by question."""
        if "arcs" not in facts:
            return facts, lookups
        sentences, arcs, history = (_columns(facts[name]) for name in ("sentences", "arcs", "history"))
        by_question = {"runs": history, **({"head_weights": arcs} if arcs["probe"] else {})}
        key = key_of_texts(sentences["id"])
        kept = {name: value for name, value in facts.items() if name not in ("arcs", "history")}
        return kept, {name: {key: columns} for name, columns in by_question.items()}


def _columns(stored: Sequence[tuple[str, str, str]]) -> dict[str, list[Any]]:
    """Return the columns of a data frame that is stored as names, types and values."""
    return {name: json.loads(values) for name, _, values in stored}


SCHEMAS = Probing.schemas()
"""The tables that ``probe`` writes."""
