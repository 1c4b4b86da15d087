"""Results of the dependency analysis that are made of tables, and what is shown of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd

from attentionology.analyses.contract import OptionSet, Titles
from attentionology.analyses.dependency.accuracy import DependencyAccuracy, RowChoice
from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.dependency.best_heads import claims
from attentionology.analyses.dependency.rows import DependencyResults, Words
from attentionology.analyses.dependency.rules import BeyondTags, Rules
from attentionology.analyses.shared.options import CountOptions
from attentionology.reports.explorer.contribution import Contribution, join_contributions
from attentionology.reports.page import Section
from attentionology.reports.table import ShownTable


def made_results(
    cells: pd.DataFrame,
    best: pd.DataFrame,
    controls: tuple[pd.DataFrame, ...] = (),
    min_count: int = 50,
    map_facts: tuple[str, ...] = (),
    *,
    trees: str = "basic",
    **answers: Any,
) -> DependencyResults:
    """Results of these tables; the best heads have the columns of all questions whose columns they have."""
    given = {"best_heads": (), "control": controls or None, **answers}
    return DependencyResults(
        cells,
        best,
        min_count=min_count,
        map_facts=map_facts,
        trees=trees,
        added=tuple(column for question in reversed(Dependency.questions) for column in question.added),
        answers={name: answer for name, answer in given.items() if answer is not None},
    )


def with_answers(results: DependencyResults, **answers: Any) -> DependencyResults:
    """The same results with other answers; None for a question that was not asked."""
    together_ = {**results.answers, **answers}
    return replace(results, answers={name: answer for name, answer in together_.items() if answer is not None})


def dependency_section(results: DependencyResults, titles: Titles | None = None) -> Section:
    return Dependency().section(results, titles or Titles())


def against_tags(results: DependencyResults) -> ShownTable:
    (table,) = BeyondTags().show(Rules(results.best, results.best), results)
    return table


def explored_dependency(
    results: DependencyResults, metric: DependencyAccuracy, kind: str, asked: RowChoice | None = None
) -> Contribution:
    """What the questions add to the explorer, where something is claimed of the relations that have enough words."""
    words = Words.__new__(Words)
    words.metric, words.facts = metric, SimpleNamespace(asked=asked)  # type: ignore[assignment]
    words.options = OptionSet([CountOptions(min_count=results.min_count)])
    claimed, unclaimed = claims(results.best, words)
    of_claims = replace(results, claimed=claimed, unclaimed=unclaimed)
    return join_contributions(
        each.explore(answer, words, of_claims, kind) for each, answer in Dependency().pair_answers(of_claims)
    )
