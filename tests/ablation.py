"""Results of the analysis of ablation that are made of tables, and what is shown of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd

from attentionology.analyses.ablation.analysis import Ablation
from attentionology.analyses.ablation.heads import HeadTables
from attentionology.analyses.ablation.relations import RelationTables
from attentionology.analyses.ablation.rows import AblationResults, AblationTables
from attentionology.analyses.contract import Titles
from attentionology.reports.explorer.contribution import Contribution, join_contributions
from attentionology.reports.page import Section


def made_results(
    tables: AblationTables, pruning: pd.DataFrame | None = None, notes: tuple[str, ...] = (), min_count: int = 50
) -> AblationResults:
    """Results of these tables."""
    answers = {
        "heads": HeadTables(tables.heads, tables.groups, tables.summary, tables.groups),
        "relations": RelationTables(tables.relations, tables.summary),
    } | ({} if pruning is None else {"pruning": pruning})
    return AblationResults(tables, tables.summary, notes, min_count, answers)


def changed_results(results: AblationResults, **changes: Any) -> AblationResults:
    """The same results with other tables, or another pruning, which is None if it was not asked for."""
    pruning = changes.pop("pruning", results.answers.get("pruning"))
    return made_results(replace(results.tables, **changes), pruning, results.notes, results.min_count)


def ablation_section(results: AblationResults, titles: Titles | None = None) -> Section:
    return Ablation().section(results, titles or Titles())


def explored_ablation(results: AblationResults, *, complete: bool) -> Contribution:
    counts: Any = SimpleNamespace(complete=complete)
    return join_contributions(
        question.explore(answer, counts, results, "") for question, answer in Ablation().pair_answers(results)
    )
