"""Runs that the checks of several questions of an analysis share, because making them takes most of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from attentionology.engine.results.run import Run
from attentionology.testing import questions
from attentionology.testing.analyses import Bench


@contextmanager
def shared_runs() -> Iterator[None]:
    """Let `check_question` run an analysis once with the same questions and options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(questions, "_run", _made_once(questions._run))
        yield


def _made_once(make: Callable[[Bench], Run]) -> Callable[[Bench], Run]:
    made: dict[Any, Run] = {}

    def run(bench: Bench) -> Run:
        asked: Any = bench.analysis
        key = (asked, asked.questions, repr(bench.options))
        if key not in made:
            made[key] = make(bench)
        return made[key]

    return run
