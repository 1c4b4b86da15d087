"""The questions of commands other than ``analyze`` keep the contract that `check_question` checks, on stored runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from attentionology.analyses.alignment.analysis import Alignment
from attentionology.analyses.probing.analysis import Probing
from attentionology.analyses.survey import results
from attentionology.analyses.survey.results import QUESTIONS, SCHEMAS, Survey
from attentionology.engine.stored_run import load_run
from attentionology.engine.surveying.stored import read_survey
from attentionology.reports.drawing import blank_figures
from attentionology.testing.questions import _check_names, _check_others, _check_own, _questions_replaced
from attentionology.testing.tables import check_declared, check_equal
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
        _check_others(
            asked,
            others,
            analysis.main_table(),
            tables,
            dict(without.tables),
            "if the question is asked",
        )
        check_printed(without.parts[-1].show)
        without.explore()
        assert "<h2" in without.report()


SURVEYS = ("survey", "seeds")
NOT_ASKED_OF = {"survey": {"seeds", "seed_matches", "seed_contrasts"}, "seeds": {"training", "transfer", "treebanks"}}
"""One survey has no models that differ by their seeds, and the other has one treebank, and no checkpoints."""


@pytest.fixture(scope="module", params=SURVEYS)
def survey(request) -> tuple[str, Survey, dict[str, Any]]:
    read, _ = read_survey(RUNS / request.param)
    with blank_figures():
        return request.param, read, dict(results.survey_section(read).tables)


def test_a_question_of_a_survey_writes_and_shows_what_it_declares(survey):
    name, read, tables = survey
    assert {each.name for each in QUESTIONS} - {each.name for each, _ in read.answered} == NOT_ASKED_OF[name]
    written: set[str] = set()
    for asked, answer in read.answered:
        _check_names(asked, [each for each in QUESTIONS if each is not asked])
        frames = asked.frames(answer, read)
        assert not written & {*frames}, asked.name
        assert {*frames} <= {schema.name for schema in asked.tables}
        written |= {*frames}
        check_declared({table: tables[table] for table in frames}, [each for each in SCHEMAS if each.name in frames])
        for table in asked.show(answer, read):
            check_printed(table.terminal)
            table.latex()
        before = [each.name for each in QUESTIONS[: QUESTIONS.index(asked)]]
        assert {*asked.needs} <= {*before}
    assert written == {*tables}


@pytest.mark.parametrize("position", range(1, len(QUESTIONS)))
def test_a_survey_is_shown_without_a_question(survey, position, monkeypatch):
    """As one is that was stored before there was the question: without what it has collected."""
    name, read, tables = survey
    asked = QUESTIONS[position]
    others = tuple(each for each in QUESTIONS if each is not asked)
    own = {schema.name for each in (asked, *(o for o in others if asked.name in o.needs)) for schema in each.tables}
    collected = {key: value for key, value in read.collected.items() if key != asked.name}
    older = replace(read, collected=collected)
    with blank_figures():
        check_printed(partial(results.in_terminal, older))
        kept = {table: frame for table, frame in dict(results.survey_section(older).tables).items() if table not in own}
        monkeypatch.setattr(results, "QUESTIONS", others)
        without = replace(read)
        check_printed(partial(results.in_terminal, without))
        found = {
            table: frame for table, frame in dict(results.survey_section(without).tables).items() if table not in own
        }
    expected = {table: frame for table, frame in tables.items() if table not in own}
    check_equal(kept, expected, "in a survey that was stored before there was the question", "")
    check_equal(found, expected, f"without {name}'s question {asked.name}", "")
