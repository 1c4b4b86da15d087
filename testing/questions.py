"""The contract of a question of an analysis: what `check_question` checks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd

from ..analyses.contract import OptionGroup
from ..analyses.questions import AnalysisOfQuestions, Question
from ..analyses.registry import lend
from ..analyses.shared.options import CountOptions
from ..engine.results.run import Run
from ..engine.stored_run import restore_results
from ..reports.columns import Schema
from . import corpora
from .analyses import Bench
from .failing import allow_own_errors, fail, quote
from .tables import check_declared, check_equal, check_finite
from .written import check_printed

Tables = dict[str, pd.DataFrame]


def check_question(
    question: type[Question[Any, Any, Any, Any]],
    analysis: type[AnalysisOfQuestions[Any, Any, Any, Any, Any]],
    options: OptionGroup | Sequence[OptionGroup] = (),
) -> None:
    """Check that a question of an analysis keeps its contract.

    A question changes nothing but its own: with and without it, the other questions have the same tables, and it adds
    no columns but those that it declares. It writes the tables that it declares, shows what it writes, and answers or
    leaves out itself, but does not fail, where a run was stored before there was the question. `check_analysis` checks
    its counts, as those of the analysis that asks it.

    Args:
        question: the class of the question.
        analysis: the class of the analysis. Its list of questions need not have the question.
        options: options with which the question is asked.

    Raises:
        AssertionError: the question does not keep the contract. The message says what is wrong, and what to do.

    Example:
        >>> from attentionology.analyses.dependency.analysis import Dependency
        >>> from attentionology.analyses.dependency.rules import BeyondTags
        >>> check_question(BeyondTags, Dependency)  # doctest: +SKIP
    """
    asked = question()
    first, *others = analysis.questions
    others = [each for each in others if each.name != asked.name]
    if first.name == asked.name:
        _check_names(asked, others)
        return  # an analysis without its first question has no results that could be compared
    _check_names(asked, [first, *others])
    is_listed = asked.name in {each.name for each in analysis.questions}
    together = analysis.questions if is_listed else (first, *others, asked)
    names = [each.name for each in together]
    if missing := sorted({*asked.needs} - {*names[: names.index(asked.name)]}):
        fail(f"The question {quote(missing[0])}, which is needed, does not come before it", "Change their order")
    given = [options] if isinstance(options, OptionGroup) else list(options)
    if CountOptions in analysis.options and not any(isinstance(group, CountOptions) for group in given):
        given.append(CountOptions(min_count=1, replicates=20))
    with tempfile.TemporaryDirectory(prefix="attentionology-") as folder, lend(analysis) as row:
        bench = Bench(analysis, row, tuple(given), Path(folder), ())
        bench.write("first", corpora.documents())
        main = analysis.main_table()
        with _questions_replaced(analysis, (first, *others)):
            former = _run(bench)
            expected = bench.tables(former)
            assert former.stored is not None  # noqa: S101  # as of every run that was counted
            stored = former.stored()
        with _questions_replaced(analysis, together):
            run = _run(bench)
            found = bench.tables(run)
            _check_own(asked, analysis.schemas(), run, found)
            _check_others(asked, others, main, found, expected, "if the question is asked")
            with allow_own_errors("on a run that was stored before there was the question", refuses=False):
                again = restore_results(stored)
                check_printed(again.parts[-1].show)
                read = bench.tables(again)
            _check_others(asked, others, main, read, expected, "in a run that was stored before there was the question")


@contextmanager
def _questions_replaced(analysis: Any, questions: Sequence[Any]) -> Iterator[None]:
    """Let an analysis ask these questions."""
    with mock.patch.object(analysis, "questions", tuple(questions)):
        yield


def _run(bench: Bench) -> Run:
    names = [*bench.row.needs, bench.row.name]  # a question may use what the analysis needs
    with allow_own_errors("on an ordinary corpus", refuses=False):
        # Each input alone, so that values have the same digits.
        return bench.run(bench.corpus("first"), cells=1, analyses=names)


def _check_names(asked: Question[Any, Any, Any, Any], others: Sequence[Question[Any, Any, Any, Any]]) -> None:
    """Check that nothing of the question has the name of something else, and that its template is there."""
    taken = {schema.name for each in others for schema in each.tables}
    for schema in asked.tables:
        if schema.name in taken:
            fail(f"The table {schema.name!r} belongs to another question", "Give each table a name of its own")
    if asked.template and not Path(asked.template).is_file():
        fail(
            f"There is no template {str(asked.template)!r}", "Name a file beside the module, or leave `template` empty"
        )


def _check_own(asked: Question[Any, Any, Any, Any], schemas: Sequence[Schema], run: Run, found: Tables) -> None:
    """Check that the question has an answer, which is written and shown as it declares."""
    results = run.parts[-1].results
    if asked.name not in results.answers:
        advice = "Let `find` return an answer with these options, or check the question with options that ask it"
        fail(f"The question {asked.name!r} has no answer", advice)
    frames = asked.frames(results.answers[asked.name], results)
    declared = {schema.name for schema in asked.tables}
    if unknown := sorted(set(frames) - declared):
        fail(f"The table {quote(unknown[0])} is not declared", "List its schema in `tables`")
    own = {name: found[name] for name in frames}
    check_declared(own, [schema for schema in schemas if schema.name in own])
    check_finite(own, "in the tables of the question")
    for table in asked.show(results.answers[asked.name], results):
        check_printed(table.terminal)
        table.latex()
    columns = asked.columns(results.answers[asked.name])
    added = {name for column in asked.added for name in column.names.split()}
    if set(map(str, () if columns is None else columns)) != added:
        fail("The columns for the main table are not those of `added`", "Declare each of them, and give its data")


def _check_others(
    asked: Question[Any, Any, Any, Any],
    others: Sequence[Question[Any, Any, Any, Any]],
    main: str,
    found: Tables,
    expected: Tables,
    when: str,
) -> None:
    """Check that the tables of questions that do not need this one are the same, but for the columns that are added."""
    may_change = [asked, *(each for each in others if asked.name in each.needs)]
    own = {schema.name for each in may_change for schema in each.tables}
    added = {name for column in asked.added for name in column.names.split()}
    same = {name: table for name, table in found.items() if name not in own}
    same |= {main: same[main].drop(columns=[*added & {*same[main]}])} if main in same else {}
    former = {name: table for name, table in expected.items() if name not in own}
    check_equal(same, former, when, "Change no answer of another question, and put columns into `added`")
