"""The questions of commands other than ``analyze`` keep the contract that `check_question` checks, on stored runs."""

from __future__ import annotations

from typing import Any

import pytest

from attentionology.analyses.alignment.analysis import Alignment
from attentionology.analyses.probing.analysis import Probing
from attentionology.engine.stored_run import load_run
from attentionology.reports.drawing import blank_figures
from attentionology.testing.questions import _check_names, _check_others, _check_own, _questions_replaced
from attentionology.testing.tables import check_declared
from attentionology.testing.written import check_printed
from tests.approved_runs import RUNS

ANALYSES: dict[str, Any] = {"probe": Probing, "states": Probing, "alignment": Alignment}
NOT_ASKED = {
    "probe": {"layers", "mixes", "edges", "tree_example", "codelength"},
    "states": {"published"},
    "alignment": set[str](),
}
"""One run probes no hidden states, and the model of the other is not that of the paper."""


@pytest.fixture(scope="module", params=ANALYSES)
def whole(request) -> tuple[str, Any, dict[str, Any]]:
    run = load_run(RUNS / request.param)
    with blank_figures():
        return request.param, run, dict(run.tables)


def test_a_question_changes_nothing_but_its_own(whole):
    name, run, tables = whole
    analysis = ANALYSES[name]
    check_declared(tables, analysis.schemas())
    for asked in analysis.questions:
        others = [each for each in analysis.questions if each is not asked]
        _check_names(asked, others)
        if asked is not analysis.questions[0] and asked.name not in NOT_ASKED[name]:
            _check_own(asked, analysis.schemas(), run, tables)
        before = [each.name for each in analysis.questions[: analysis.questions.index(asked)]]
        assert {*asked.needs} <= {*before}


@pytest.mark.parametrize("position", range(1, 8))
def test_the_others_are_shown_without_it(whole, position):
    name, _, tables = whole
    analysis = ANALYSES[name]
    asked = analysis.questions[position]
    others = [each for each in analysis.questions if each is not asked]
    with _questions_replaced(analysis, others), blank_figures():
        without = load_run(RUNS / name)
        _check_others(asked, others, analysis.main_table(), tables, dict(without.tables), "if the question is asked")
        check_printed(without.parts[-1].show)
        without.explore()
        assert "<h2" in without.report()
