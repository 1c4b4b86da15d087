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

from .contract import Analysis, Counted, OptionSet, Plan, Reader, Request, Setting, Titles

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ..reports.columns import Schema, TableColumn
    from ..reports.explorer.contribution import Contribution
    from ..reports.page import Section
    from ..reports.table import ShownTable

Facts = TypeVar("Facts")
Results = TypeVar("Results")
Planning = TypeVar("Planning")
Looking = TypeVar("Looking")
Counts = TypeVar("Counts")
Answer = TypeVar("Answer")


class Question(Generic[Planning, Looking, Counts, Answer]):
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
            returns. Empty if the question has no part of its own.
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[Schema, ...]] = ()
    added: ClassVar[tuple[TableColumn, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    template: ClassVar[str | Path] = ""

    def requests(self, planning: Planning) -> Iterable[Request]:
        """Return what the question counts while the corpus is read; by default, nothing of its own."""
        return ()

    def passes(self, planning: Planning) -> float:
        """Return about how many forward passes of single inputs `look` will take, for the estimate of a dry run."""
        return 0

    def look(self, looking: Looking) -> Any:
        """Return what can be asked only after counting, as plain data; None if the question looks up nothing."""
        return None

    def join(self, looked: Sequence[Any]) -> Any:
        """Return what several runs have looked up together, which are merged; None if it is not that of all texts.

        By default, what a single run has looked up is all that can be shown.
        """
        return looked[0] if len(looked) == 1 else None

    @abstractmethod
    def find(self, counts: Counts, looked: Any, earlier: Mapping[str, Any]) -> Answer | None:
        """Return the answer; None if the run does not ask the question.

        Args:
            counts: what the analysis answers from.
            looked: what `look` returned, or what `join` made of it in merged runs; None if nothing was looked up.
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

    def explore(self, answer: Answer, counts: Counts, results: Any, kind: str) -> Contribution | None:
        """Return what the question adds to the explorer, such as findings, for a kind of map."""
        return None


class AnalysisOfQuestions(Analysis[Facts, Results], Generic[Facts, Results, Planning, Looking, Counts]):
    """The base class of analyses that ask several questions of what they read.

    Attributes:
        questions: the questions, in the order in which their answers are made and shown. The first one is always asked.
        main: the name of the table to which questions add columns; by default the last one of the first question.

    The facts have a field ``requests``: the names of the requests of each question that has any.
    """

    questions: ClassVar[Sequence[Question[Any, Any, Any, Any]]]
    main: ClassVar[str] = ""

    @abstractmethod
    def planning(self, options: OptionSet, setting: Setting) -> Planning:
        """Check the options, and return what the questions plan with."""

    @abstractmethod
    def facts(self, planning: Planning, requests: Mapping[str, tuple[str, ...]]) -> Facts:
        """Return what the results need of the plan."""

    @abstractmethod
    def counts(self, options: OptionSet, counted: Counted[Facts]) -> Counts:
        """Return what the questions answer from."""

    def looking(
        self, options: OptionSet, plan: Plan[Facts], counts: Counts, read: Reader
    ) -> tuple[str, Looking] | None:
        """Return what the questions look up with, and a name for the texts that are read; None if nothing is looked up.

        Merged runs have read different texts, so that each has looked up a part, of which nothing is shown.
        """
        return None

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

    def plan(self, options: OptionSet, setting: Setting) -> Plan[Facts]:
        """Plan the requests of all questions."""
        planning = self.planning(options, setting)
        by_question = {question.name: tuple(question.requests(planning)) for question in self.questions}
        names = {
            name: tuple(request.name for request in requests) for name, requests in by_question.items() if requests
        }
        passes = round(sum(question.passes(planning) for question in self.questions))
        requests = tuple(chain.from_iterable(by_question.values()))
        return Plan(requests, self.facts(planning, names), follow_up_passes=passes)

    def follow_up(self, options: OptionSet, plan: Plan[Facts], counted: Counted[Facts], read: Reader) -> Any:
        """Return what the questions look up, by question and by the texts that were read."""
        looking = self.looking(options, plan, self.counts(options, counted), read)
        if looking is None:
            return None
        key, with_texts = looking
        looked = {question.name: question.look(with_texts) for question in self.questions}
        return {name: {key: value} for name, value in looked.items() if value is not None}

    def results(self, options: OptionSet, counted: Counted[Facts], needed: Mapping[str, Any], looked: Any) -> Results:
        """Let each question find its answer."""
        counts = self.counts(options, counted)
        answers: dict[str, Any] = {}
        for question in self.questions:
            by_texts = (looked or {}).get(question.name, {})
            answer = question.find(counts, question.join([*by_texts.values()]), {**needed, **answers})
            if answer is not None:
                answers[question.name] = answer
        return self.results_of(counts, answers)

    def asked(self, results: Any) -> list[tuple[Question[Any, Any, Any, Any], Any]]:
        """Return the questions that have an answer, each with its answer."""
        return [(each, results.answers[each.name]) for each in self.questions if each.name in results.answers]

    def section(self, results: Results, titles: Titles) -> Section:
        """Put the tables, the figures and the parts of the page of all questions together."""
        from ..reports.page import Section

        title, of_figures = self.heading(results, titles)
        asked = self.asked(results)
        figures: dict[str, Figure] = {}
        for question, answer in asked:
            figures |= question.draw(answer, results, of_figures)
        return Section(
            title=title,
            summary={
                **self.summary_of(results),
                **{name: rows for each, answer in asked for name, rows in each.summary(answer, results).items()},
            },
            template=[question.template for question, _ in asked if question.template],
            context={key: value for each, answer in asked for key, value in each.values(answer, results).items()},
            shown=[table for question, answer in asked for table in question.show(answer, results)],
            tables={name: table for each, answer in asked for name, table in each.frames(answer, results).items()},
            figures=figures,
        )

    def explored(
        self, options: OptionSet, counted: Counted[Facts], results: Results, kind: str | None
    ) -> Contribution | None:
        """Put together what the questions add to the explorer."""
        from ..reports.explorer.contribution import together

        counts = self.counts(options, counted)
        return together(
            question.explore(answer, counts, results, kind or "") for question, answer in self.asked(results)
        )
