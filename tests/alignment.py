"""Results of word alignment that are made up, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from attentionology.analyses.alignment.accuracy import AlignmentCounts
from attentionology.analyses.alignment.analysis import Alignment
from attentionology.analyses.alignment.rows import Aligned, AlignmentResults
from attentionology.analyses.alignment.series import Series
from attentionology.analyses.contract import OptionSet, PlanCounts, Titles
from attentionology.reports.explorer.contribution import Contribution
from attentionology.reports.page import Section
from attentionology.reports.table import ShownTable


def tables(
    counted: Mapping[Series, AlignmentCounts], baselines: Mapping[str, AlignmentCounts], *, has_gold: bool = True
) -> AlignmentResults:
    """The results of counts."""
    counts = Aligned.__new__(Aligned)
    facts = SimpleNamespace(gold=("gold",) if has_gold else (), method="cross-attention", written="forward")
    of_run = {"facts": facts, "series": dict(counted), "baselines": dict(baselines), "copies": [], "choice": None}
    vars(counts).update(of_run)
    answers: dict[str, Any] = {}
    for question in Alignment.questions:
        answer = question.find(counts, None, answers)
        if answer is not None:
            answers[question.name] = answer
    return Alignment().results_of(counts, answers)


def made_results(cells: Any, chosen: Any, *, units: float = float("nan"), **answers: Any) -> AlignmentResults:
    """Results with some answers."""
    of_cells = {"layers": cells, **({"rests": cells} if chosen.by_gold else {})}
    return AlignmentResults("cross-attention", cells, chosen, units, {**of_cells, **answers})


def with_answers(results: AlignmentResults, **answers: Any) -> AlignmentResults:
    """The same results with other answers; None for a question that was not asked."""
    together = {**results.answers, **answers}
    return replace(results, answers={name: answer for name, answer in together.items() if answer is not None})


def alignment_section(results: AlignmentResults) -> Section:
    return Alignment().section(results, Titles("m", "c"))


def shown_tables(results: AlignmentResults) -> list[ShownTable]:
    """The tables that people read."""
    return [table for each, answer in Alignment().pair_answers(results) for table in each.show(answer, results)]


def explored_alignment(results: AlignmentResults) -> Contribution:
    """What the questions add to the explorer."""
    found = Alignment().explored(OptionSet(), PlanCounts(SimpleNamespace(), {}, {}), results, None)  # type: ignore[arg-type]
    assert found is not None
    return found
