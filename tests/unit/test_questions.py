"""An analysis hands each of its questions what it looked up and needs, and puts together what they plan and show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from attentionology.analyses.ablation.predictions import Predictions
from attentionology.analyses.contract import OptionSet, Titles
from attentionology.analyses.norms.feed_forward import FeedForward
from attentionology.analyses.questions import AnalysisOfQuestions, Question
from attentionology.reports.columns import Schema, TableColumn

COLUMN = TableColumn("value", "number", "a value")


class First(Question[Any, Any, Any, Any]):
    name = "first"
    tables: ClassVar[tuple[Schema, ...]] = (
        Schema("table", "One row.", (COLUMN,)),
        Schema("last", "One row.", (COLUMN,)),
    )

    def passes(self, plan_context: Any) -> float:
        return 1.4

    def find(self, counts: Any, lookups: Any, earlier: Mapping[str, Any]) -> Any:
        return {"lookups": lookups, "earlier": dict(earlier)}

    def summary(self, answer: Any, results: Any) -> Mapping[str, Any]:
        return {"table": [answer["lookups"]]}


class Second(First):
    name = "second"
    tables = ()
    added = (TableColumn("more", "number", "another value"),)

    def join(self, lookups: Sequence[Any]) -> Any:
        return sum(lookups)

    def summary(self, answer: Any, results: Any) -> Mapping[str, Any]:
        return {"more": [answer["lookups"]]}


class Both(AnalysisOfQuestions[Any, Any, Any, Any, Any]):
    name = "both"
    questions = (First(), Second())

    def plan_context(self, options: Any, setting: Any) -> Any:
        return None

    def facts(self, plan_context: Any, requests: Any) -> Any:
        return requests

    def counts(self, options: Any, counted: Any) -> Any:
        return None

    def results_of(self, counts: Any, answers: Mapping[str, Any]) -> Any:
        return type("Results", (), {"answers": answers})

    def heading(self, results: Any, titles: Titles) -> tuple[str, str]:
        return "title", ""

    def summary_of(self, results: Any) -> Mapping[str, Any]:
        return {"all": []}

    def show(self, results: Any, width: int) -> Any:
        return ""


class OfFirst(Both):
    name = "of first"
    main = "table"


def found(lookups: Any) -> Any:
    counted: Any = None
    return Both().results(OptionSet(), counted, {"other": "results"}, lookups)


@pytest.mark.parametrize(
    ("lookups", "first", "second"),
    [
        ({"first": {"a": 1}, "second": {"a": 2}}, 1, 2),
        ({"first": {"a": 1, "b": 3}, "second": {"a": 2, "b": 4}}, None, 6),  # of two runs that were merged
        (None, None, 0),
    ],
)
def test_what_merged_runs_have_looked_up_is_that_of_all_or_of_none(lookups, first, second):
    answers = found(lookups).answers
    assert (answers["first"]["lookups"], answers["second"]["lookups"]) == (first, second)


def test_a_question_sees_other_analyses_and_the_questions_before_it():
    answers = found(None).answers
    assert answers["first"]["earlier"] == {"other": "results"}
    assert answers["second"]["earlier"] == {"other": "results", "first": answers["first"]}


def test_entries_of_the_summary_are_those_of_the_analysis_and_of_its_questions():
    section = Both().section(found({"first": {"a": 5}}), Titles())
    assert section.summary == {"all": [], "table": [5], "more": [0]}


def test_columns_are_added_to_the_main_table():
    of_last, of_first = ({each.name: each.names for each in kind.schemas()} for kind in (Both, OfFirst))
    assert of_last == {"table": ["value"], "last": ["value", "more"]}
    assert of_first == {"table": ["value", "more"], "last": ["value"]}


def test_passes_of_all_questions_are_rounded_once():
    setting: Any = None
    assert Both().plan(OptionSet(), setting).follow_up_passes == 3


def test_sentences_that_are_looked_up_are_those_of_all_merged_runs():
    assert FeedForward().join([[{"id": "a"}], [{"id": "b"}]]) == [{"id": "a"}, {"id": "b"}]
    assert Predictions().join([[{"id": "a"}], [{"id": "b"}]]) == [{"id": "a"}, {"id": "b"}]
    assert Predictions().join([]) is None  # nothing was to be predicted
