"""Questions: an analysis reads once, and asks several questions of what it read, each in a file of its own.

An analysis of questions is what all of them share (which inputs and maps are read, and which rows tables have) and a
list of questions. It names none of them anywhere else: what is counted and looked up, the tables, the part of the page,
the findings and the record are those of the questions that have an answer. A question that a run does not ask has none.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from .contract import Analysis, OptionSet, Plan, PlanCounts, Reader, Request, Setting, Titles

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ..corpora_loaders import Corpus
    from ..reports.columns import Schema, TableColumn
    from ..reports.explorer.contribution import Contribution
    from ..reports.finding import Finding
    from ..reports.page import Section
    from ..reports.table import ShownTable

Facts = TypeVar("Facts")
Results = TypeVar("Results")
PlanContext = TypeVar("PlanContext")
LookupContext = TypeVar("LookupContext")
Counts = TypeVar("Counts")
Answer = TypeVar("Answer")


class Question(Generic[PlanContext, LookupContext, Counts, Answer]):
    """One question of an analysis: what it counts, what its answer is, and how the answer is shown.

    The type parameters are those of the analysis: what it plans with, what it looks up with, and what it answers from;
    and the type of the answer, an object of the question alone, such as a data frame. The results that methods get are
    those of the whole analysis.

    Attributes:
        name: the name of the question, by which its requests and its answer are stored.
        tables: the tables that it writes, with all of their columns.
        added: columns that it adds to the main table of the analysis.
        needs: the names of questions before it whose answers it uses, or what they have looked up, if they are asked.
        template: the file of its part of the page, a Jinja template. It gets ``shown``, ``svgs`` and what `values`
            returns. Without one, the tables of `show` and the figures of `draw` stand at the end of the section, each
            with its title.
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[Schema, ...]] = ()
    added: ClassVar[tuple[TableColumn, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    template: ClassVar[str | Path] = ""

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Return what the question counts while the corpus is read; by default, nothing of its own."""
        return ()

    def passes(self, plan_context: PlanContext) -> float:
        """Return about how many forward passes of single inputs `look` will take, for the estimate of a dry run."""
        return 0

    def look(self, lookup_context: LookupContext) -> Any:
        """Return what can be asked only after counting, as plain data; None if the question looks up nothing."""
        return None

    def join(self, lookups: Sequence[Any]) -> Any:
        """Return what several runs have looked up together, which are merged; None if it is not that of all texts.

        By default, what a single run has looked up is all that can be shown.
        """
        return lookups[0] if len(lookups) == 1 else None

    @abstractmethod
    def find(self, counts: Counts, lookups: Any, earlier: Mapping[str, Any]) -> Answer | None:
        """Return the answer; None if the run does not ask the question.

        Args:
            counts: what the analysis answers from.
            lookups: what `join` makes of what `look` returned; None if nothing was looked up.
            earlier: the results of the analyses that this one needs, and the answers of the questions before this
                one, by name.
        """

    def columns(self, answer: Answer) -> pd.DataFrame | None:
        """Return the data of the columns that are `added`, by the keys of the rows of the first table."""
        return None

    def frames(self, answer: Answer, results: Any) -> Mapping[str, pd.DataFrame]:
        """Return the tables as they are written, by name."""
        return {}

    def summary(self, answer: Answer, results: Any) -> Mapping[str, Any]:
        """Return the entries of ``summary.json``; by default there are none."""
        return {}

    def show(self, answer: Answer, results: Any) -> Sequence[ShownTable]:
        """Return the tables as people read them."""
        return ()

    def draw(self, answer: Answer, results: Any, title: str) -> Mapping[str, Figure]:
        """Return the figures, by name."""
        return {}

    def values(self, answer: Answer, results: Any) -> Mapping[str, Any]:
        """Return what the part of the page needs beside the tables."""
        return {}

    def findings(self, answer: Answer, results: Any) -> Sequence[Finding]:
        """Return what was found, for the top of a page that has no explorer."""
        return ()

    def explore(self, answer: Answer, counts: Counts, results: Any, kind: str) -> Contribution | None:
        """Return what the question adds to the explorer, such as findings, for a kind of map."""
        return None


def section_of(
    asked: Sequence[tuple[Question[Any, Any, Any, Any], Any]],
    results: Any,
    title: str,
    of_figures: str,
    *,
    summary: Mapping[str, Any],
) -> Section:
    """Put the tables, the figures and the parts of the page of questions together, given each with its answer."""
    from ..reports.page import TABLES_TEMPLATE, Section

    figures: dict[str, Figure] = {}
    for question, answer in asked:
        figures |= question.draw(answer, results, of_figures)
    of_questions = {name: rows for each, answer in asked for name, rows in each.summary(answer, results).items()}
    templates = [question.template for question, _ in asked if question.template]
    values = {key: value for each, answer in asked for key, value in each.values(answer, results).items()}
    shown = [(question, question.show(answer, results)) for question, answer in asked]
    if without_template := [table for question, tables in shown if not question.template for table in tables]:
        templates.append(TABLES_TEMPLATE)
        values["tables_without_template"] = without_template
    return Section(
        title=title,
        summary={**summary, **of_questions},
        template=templates,
        context=values,
        shown=[table for _, tables in shown for table in tables],
        tables={name: table for each, answer in asked for name, table in each.frames(answer, results).items()},
        figures=figures,
        findings=[finding for each, answer in asked for finding in each.findings(answer, results)],
    )


class AnalysisOfAnswers(Analysis[Facts, Results], Generic[Facts, Results, Counts]):
    """The base class of analyses whose results are the answers of questions, however they are planned.

    Attributes:
        questions: the questions, in the order in which their answers are made and shown. The first one is always asked.
        main: the name of the table to which questions add columns; by default the last one of the first question.
    """

    questions: ClassVar[Sequence[Question[Any, Any, Any, Any]]]
    main: ClassVar[str] = ""

    @abstractmethod
    def counts(self, options: OptionSet, plan_counts: PlanCounts[Facts]) -> Counts:
        """Return what the questions answer from."""

    @abstractmethod
    def results_of(self, counts: Counts, answers: Mapping[str, Any]) -> Results:
        """Return the results, given the answers by the names of the questions."""

    @abstractmethod
    def heading(self, results: Results, titles: Titles) -> tuple[str, str]:
        """Return the title of the part of the page, and that of figures."""

    def summary_of(self, results: Results) -> Mapping[str, Any]:
        """Return the entries of ``summary.json`` that are not those of a question; by default there are none."""
        return {}

    @classmethod
    def main_table(cls) -> str:
        """Return the name of the table to which questions add columns; empty if the first question has no table."""
        return cls.main or next((schema.name for schema in reversed(cls.questions[0].tables)), "")

    @classmethod
    def schemas(cls) -> tuple[Schema, ...]:
        """Return the tables of all questions, the main table with the columns that are added to it."""
        main = cls.main_table()
        added = tuple(column for question in reversed(cls.questions) for column in question.added)
        schemas = chain.from_iterable(question.tables for question in cls.questions)
        return tuple(
            replace(schema, columns=(*schema.columns, *added)) if schema.name == main else schema for schema in schemas
        )

    def results(
        self, options: OptionSet, plan_counts: PlanCounts[Facts], needed: Mapping[str, Any], lookups: Any
    ) -> Results:
        """Let each question find its answer."""
        counts = self.counts(options, plan_counts)
        answers: dict[str, Any] = {}
        for question in self.questions:
            by_texts = (lookups or {}).get(question.name, {})
            answer = question.find(counts, question.join([*by_texts.values()]), {**needed, **answers})
            if answer is not None:
                answers[question.name] = answer
        return self.results_of(counts, answers)

    def with_added(
        self, main: pd.DataFrame, on: Sequence[str], answers: Mapping[str, Any]
    ) -> tuple[pd.DataFrame, tuple[TableColumn, ...]]:
        """Return the main table, whose rows have the keys ``on``, with what the answers add, and the added columns."""
        added: list[TableColumn] = []
        for question in reversed(self.questions):  # those of random weights stand next to those of the heads
            if question.name in answers:
                added += question.added
                columns = question.columns(answers[question.name])
                main = main if columns is None else main.join(columns, on=list(on))
        return main, tuple(added)

    def lookups(self, key: str, lookup_context: Any) -> dict[str, dict[str, Any]]:
        """Return what the questions look up, by question and by a name for the texts that are read."""
        lookups = {question.name: question.look(lookup_context) for question in self.questions}
        return {name: {key: value} for name, value in lookups.items() if value is not None}

    def pair_answers(self, results: Any) -> list[tuple[Question[Any, Any, Any, Any], Any]]:
        """Return the questions that have an answer, each with its answer."""
        return [(each, results.answers[each.name]) for each in self.questions if each.name in results.answers]

    def section(self, results: Results, titles: Titles) -> Section:
        """Put the tables, the figures and the parts of the page of all questions together."""
        title, of_figures = self.heading(results, titles)
        return section_of(self.pair_answers(results), results, title, of_figures, summary=self.summary_of(results))

    def findings(self, results: Results) -> Sequence[Finding]:
        """Return what all questions have found."""
        return [
            finding for question, answer in self.pair_answers(results) for finding in question.findings(answer, results)
        ]

    def explored(
        self, options: OptionSet, plan_counts: PlanCounts[Facts], results: Results, kind: str | None
    ) -> Contribution | None:
        """Put together what the questions add to the explorer; None if they add nothing."""
        from ..reports.explorer.contribution import join_contributions

        counts = self.counts(options, plan_counts)
        added = [
            question.explore(answer, counts, results, kind or "") for question, answer in self.pair_answers(results)
        ]
        return join_contributions(added) if any(added) else None


class AnalysisOfQuestions(
    AnalysisOfAnswers[Facts, Results, Counts], Generic[Facts, Results, PlanContext, LookupContext, Counts]
):
    """The base class of analyses that ask several questions of what they read.

    The facts have a field ``requests``: the names of the requests of each question that has any.
    """

    @abstractmethod
    def plan_context(self, options: OptionSet, setting: Setting) -> PlanContext:
        """Check the options, and return what the questions plan with."""

    @abstractmethod
    def facts(self, plan_context: PlanContext, requests: Mapping[str, tuple[str, ...]]) -> Facts:
        """Return what the results need of the plan."""

    def corpus(self, plan_context: PlanContext) -> Corpus | None:
        """Return the corpus as it is read, if the analysis divides it in its own way; by default it does not."""
        return None

    def lookup_context(
        self, options: OptionSet, plan: Plan[Facts], counts: Counts, read: Reader
    ) -> tuple[str, LookupContext] | None:
        """Return what the questions look up with, and a name for the texts that are read; None if nothing is looked up.

        Merged runs have read different texts, so that each has looked up a part, see `Question.merged`.
        """
        return None

    def plan(self, options: OptionSet, setting: Setting) -> Plan[Facts]:
        """Plan the requests of all questions."""
        plan_context = self.plan_context(options, setting)
        by_question = {question.name: tuple(question.requests(plan_context)) for question in self.questions}
        names = {
            name: tuple(request.name for request in requests) for name, requests in by_question.items() if requests
        }
        requests = tuple(chain.from_iterable(by_question.values()))
        passes = round(sum(question.passes(plan_context) for question in self.questions))
        return Plan(requests, self.facts(plan_context, names), self.corpus(plan_context), follow_up_passes=passes)

    def follow_up(self, options: OptionSet, plan: Plan[Facts], plan_counts: PlanCounts[Facts], read: Reader) -> Any:
        """Return what the questions look up, by question and by the texts that were read."""
        lookup_context = self.lookup_context(options, plan, self.counts(options, plan_counts), read)
        return None if lookup_context is None else self.lookups(*lookup_context)
