"""A survey on disk: what its questions are answered from, so that its report can be made again without any model.

The folder of a survey has the states of a run, see `attentionology.engine.results.states`, but no metrics: what was
found in the cells is among the facts. Tables and page do not need the counts of the cells, which are far larger.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ...analyses.counting.metric import StateError
from ...analyses.survey.results import QUESTIONS, Survey
from ...analyses.survey.rows import SurveyFacts
from ...storage.paths import read_record
from ..results.states import FOLDER, SURVEY, AnalysisStates, RunStates, from_plain, read_states, to_plain

_WHAT = "what the survey found"


def states_of_survey(survey: Survey, record: Mapping[str, Any], out: Path | None) -> RunStates:
    """Return what is stored of a survey that is written to a folder, with its run record."""
    facts = SurveyFacts(**{field.name: getattr(survey, field.name) for field in fields(SurveyFacts)})
    # The reports of cells are named relative to the folder, so that it can be moved.
    results = tuple(
        replace(result, reports={kind: Path(os.path.relpath(page, out or "")) for kind, page in result.reports.items()})
        for result in survey.results
    )
    plain = to_plain(replace(facts, results=results, out=None), _WHAT)
    return RunStates(
        (AnalysisStates(SURVEY, None, (), plain, None),), {}, {}, {}, ("", ""), to_plain(record, "the record")
    )


def is_survey(folder: Path) -> bool:
    """Return whether a folder is that of a survey."""
    return SURVEY in (read_record(folder) or {})


def read_survey(folder: Path) -> tuple[Survey, Mapping[str, Any]]:
    """Return the survey of a folder, with its run record.

    Raises:
        StateError: nothing was stored, or it is damaged.
    """
    if not (folder / FOLDER).exists():
        raise StateError(
            f"{folder} has a survey of version 0.3 or earlier, which did not store what its cells have found; run the "
            "survey again. Parts in the folder of --parts are not counted again"
        )
    states = read_states(folder)
    if [stored.name for stored in states.analyses] != [SURVEY]:
        raise StateError(f"{folder} has a run, not a survey")
    plain = dict(states.analyses[0].facts)
    types = {question.name: question.collection for question in QUESTIONS}
    collected = {
        name: from_plain(of_question, types.get(name) or object, _WHAT)
        for name, of_question in plain.pop("collected").items()
    }
    facts = from_plain(plain, SurveyFacts, _WHAT)
    results = tuple(
        replace(result, reports={kind: folder / page for kind, page in result.reports.items()})
        for result in facts.results
    )
    return Survey(**{**vars(facts), "results": results, "collected": collected}), states.record
