"""The check of questions notices a question with the mistake that it looks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

from attentionology.analyses.dependency.analysis import Dependency
from attentionology.analyses.dependency.rows import DependencyQuestion
from attentionology.reports.columns import Schema, TableColumn
from attentionology.testing import check_question
from tests.questions import shared_runs

NUMBER = Schema("numbers", "One row.", (TableColumn("rows", "count", "how many rows there are", "rows"),))


class Numbers(DependencyQuestion):
    """How many rows are there?"""

    name = "numbers"
    tables = (NUMBER,)

    def find(self, counts: Any, lookups: Any, earlier: Mapping[str, Any]) -> Any:
        return pd.DataFrame({"rows": [len(counts.members)]})

    def frames(self, answer: Any, results: Any) -> Mapping[str, pd.DataFrame]:
        return {"numbers": answer}


class OfItsOwn(Numbers):
    """It counts with a request, which a run that was stored earlier does not have."""

    def requests(self, plan_context: Any) -> Any:
        return [next(iter(plan_context.accuracy_requests()))]

    def find(self, counts: Any, lookups: Any, earlier: Mapping[str, Any]) -> Any:
        (_,) = counts.facts.requests[self.name]
        return super().find(counts, lookups, earlier)


class Undeclared(Numbers):
    def frames(self, answer: Any, results: Any) -> Mapping[str, pd.DataFrame]:
        return {"numbers": answer, "more": answer}


class Meddling(Numbers):
    def find(self, counts: Any, lookups: Any, earlier: Mapping[str, Any]) -> Any:
        earlier["best_heads"].best["total"] += 1
        return super().find(counts, lookups, earlier)


class Adding(Numbers):
    def columns(self, answer: Any) -> pd.DataFrame:
        return pd.DataFrame({"more": [1]}, index=["all"])


class Silent(Numbers):
    def find(self, counts: Any, lookups: Any, earlier: Mapping[str, Any]) -> Any:
        return None


class Early(Numbers):
    needs = ("opinions",)


class Taken(Numbers):
    tables = (Schema("dependency_best", "The name of another table.", NUMBER.columns),)


@pytest.fixture(autouse=True, scope="module")
def shared() -> Iterator[None]:
    with shared_runs():
        yield


def test_a_question_without_mistakes_passes():
    check_question(Numbers, Dependency)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (OfItsOwn, "stored before there was the question"),
        (Undeclared, "The table more is not declared"),
        (Meddling, "Change no answer of another question"),
        (Adding, "are not those of `added`"),
        (Silent, "The question 'numbers' has no answer"),
        (Early, "The question opinions, which is needed, does not come before it"),
        (Taken, "The table 'dependency_best' belongs to another question"),
    ],
)
def test_each_mistake_is_named(question, said):
    with pytest.raises(AssertionError, match=said):
        check_question(question, Dependency)
