"""Results of the coreference analysis that are made of tables, and what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pandas as pd

from attentionology.analyses.contract import OptionSet, Titles
from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy, CoreferenceTables
from attentionology.analyses.coreference.analysis import Coreference
from attentionology.analyses.coreference.best_heads import Found, claims
from attentionology.analyses.coreference.contrasts import GroupTables, group_tables
from attentionology.analyses.coreference.rows import CoreferenceResults, Mentions
from attentionology.analyses.shared.options import CountOptions
from attentionology.reports.explorer.contribution import Contribution, join_contributions
from attentionology.reports.page import Section
from attentionology.reports.table import ShownTable

NONE_SCORED = {"anaphors": 0, "scored": 0, "documents": 0, "forced": 0, "no answer": 0}


def made_results(
    tables: CoreferenceTables,
    controls: tuple[pd.DataFrame, ...] = (),
    account: Mapping[str, int] = NONE_SCORED,
    min_count: int = 50,
    **answers: Any,
) -> CoreferenceResults:
    """Results of these tables; the best heads have the columns of all questions whose columns they have."""
    results = CoreferenceResults(
        tables,
        account=account,
        min_count=min_count,
        added=tuple(column for question in reversed(Coreference.questions) for column in question.added),
        answers={"best_heads": Found(tables, account, (), None)},
    )
    return with_changes(results, control=controls or None, examples=(), scored=account, **answers)


def with_changes(results: CoreferenceResults, **changes: Any) -> CoreferenceResults:
    """The same results with other values of fields, or other answers; None for a question that was not asked."""
    heads, answers = results.answers["best_heads"], dict(results.answers)
    if "published" in changes:
        answers["best_heads"] = replace(heads, published=changes.pop("published"))
    of_fields = {each.name: changes.pop(each.name) for each in fields(results) if each.name in changes}
    if "account" in of_fields:
        answers["scored"] = of_fields["account"]
    answers |= changes
    asked = {name: answer for name, answer in answers.items() if answer is not None}
    return replace(results, **of_fields, answers=asked)


def mentions_of(metric: CoreferenceAccuracy) -> Mentions:
    """What questions answer from, without options and facts."""
    mentions = Mentions.__new__(Mentions)
    mentions.metric = metric
    return mentions


def groups_of(metric: CoreferenceAccuracy) -> GroupTables:
    """What heads find in groups of documents, of which there are some."""
    tables = group_tables(mentions_of(metric))
    assert tables is not None
    return tables


def coreference_section(results: CoreferenceResults, titles: Titles | None = None) -> Section:
    return Coreference().section(results, titles or Titles())


def shown_tables(results: CoreferenceResults) -> dict[str, ShownTable]:
    """The tables that people read, by name."""
    asked = Coreference().pair_answers(results)
    return {table.name: table for question, answer in asked for table in question.show(answer, results)}


def explored_coreference(results: CoreferenceResults, metric: CoreferenceAccuracy, kind: str) -> Contribution:
    """What the questions add to the explorer, where something is claimed of the types that have enough mentions."""
    mentions = mentions_of(metric)
    mentions.candidates, mentions.options = results.candidates, OptionSet([CountOptions(min_count=results.min_count)])
    of_claims = replace(results, claimed=claims(results.tables.best, mentions))
    return join_contributions(
        each.explore(answer, mentions, of_claims, kind) for each, answer in Coreference().pair_answers(of_claims)
    )
