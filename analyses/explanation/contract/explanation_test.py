"""The contract of an explanation test.

An explanation test asks one question about the attention of a text classifier, and so whether its weights can be read
as an explanation of what the classifier decides. A test is one row: what its numbers are called, which questions they
decide against which floor, its figure and its part of the page, and the functions that compute all this. Tables, page,
terminal and verdicts read the registered tests and name none of them.

The row is no `attentionology.analyses.questions.Question`, although both are one row in one file. A question of an
analysis requests counts of maps, has an answer of its own, and shows it in tables of its own. A test requests nothing:
it examines batches of texts, may train other models, and adds columns to tables that all tests share, one of texts, one
of means and one of verdicts, so that tests can borrow columns from each other and are compared with the same bootstrap.
Other packages also give tests as entry points, as plain values without a base class.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....storage.plugins import RegistryError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ....extractors import AttentionModel
    from ..attention.batch import Rows, TextBatch
    from .options import ExplanationTestOptions
    from .results import ExplainResults
    from .summary import Bootstrap

SHARE, TVD, NATS, TAU, PROBABILITY = "%", "TVD, 0 to 1", "nats", "τ, −1 to 1", "probability"
"""Units. Values in ``%`` are stored as shares from 0 to 1."""


@dataclass(frozen=True)
class Column:
    """A column of the per-text table.

    Attributes:
        label: the name of the column in tables and figures.
        unit: the unit of its values.
        averaged: whether the mean over the texts is meaningful, which it is not for numbers of classes and p values.
        significance: the column whose mean is the share of texts in which the value is significant, if there is one.
    """

    label: str
    unit: str
    averaged: bool = True
    significance: str = ""


@dataclass(frozen=True)
class Question:
    """A question that is decided by whether one number is larger than another, text by text.

    What is compared is fixed, so that the verdict does not depend on which other tests were chosen.

    Attributes:
        question: the question in words.
        compared: which number is compared with which floor, in words.
        larger: the column of the per-text table that must be larger, or ``epsilon`` for the tolerance.
        smaller: the column that must be smaller.
        passed, failed: the verdicts in words.
        searched: the column that replaces ``smaller`` where a model has no exact solution, or several columns, of which
            the first one that the table has does. It holds the best result of a search. A search that finds nothing
            better proves nothing, so the question cannot be passed against it.
        floor_is_larger: whether ``larger`` is the floor, because lower values are better. By default, ``smaller`` is.
    """

    question: str
    compared: str
    larger: str
    smaller: str
    passed: str
    failed: str
    searched: str | Sequence[str] = ()
    floor_is_larger: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the question names: two, and those of a search if there is one."""
        return (self.larger, self.smaller, *self.searches)

    @property
    def searches(self) -> tuple[str, ...]:
        """The columns of ``searched``, however many they are."""
        return (self.searched,) if isinstance(self.searched, str) else tuple(self.searched)


@dataclass(frozen=True, eq=False)
class Findings:
    """What a test adds to the tables."""

    columns: Rows = field(default_factory=dict)  # columns of the per-text table, with one value per text in its order
    models: tuple[pd.DataFrame, ...] = ()  # what each model that the test has trained predicts, see `Tested.score`
    points: tuple[pd.DataFrame, ...] = ()  # how much other attention differs, text by text, see `curve_points`
    # further tables, by the names in `ExplanationTest.tables`
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    # per-text tables of other models, by the names of the models; see `ExplanationTest.summarize`
    measured: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    # the name of a trained adversary and the model, which other tests may use
    adversary: tuple[str, AttentionModel] | None = None
    notes: tuple[str, ...] = ()  # remarks on how the numbers were computed, one sentence each
    left_out: tuple[tuple[str, str], ...] = ()  # the parts of the test that could not run, each with the reason


@dataclass(frozen=True)
class Drawing:
    """The figure of a test."""

    name: str  # the name of its file
    caption: str  # its caption, a Jinja template that gets `epsilon`
    draw: Callable[[ExplainResults, str], Figure | None]  # draws it, given a title; None if there are no values to draw


def _nothing(*_: Any) -> Any:
    """Return an empty dictionary: the default of the functions that a test leaves out."""
    return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplanationTest:
    """One explanation test. Name it in the registry or as an entry point.

    Attributes:
        name: the name of the test in ``--tests``.
        heading: the heading of its part of the page.
        columns: all columns that the test computes, by name.
        questions: the questions that the test decides.
        shown: the columns in its table on the page, which may belong to other tests. None for all columns of the test
            that are averaged.
        key: the columns that the terminal shows.
        figure: its figure, if there is one.
        more_figures: further figures, which follow it.
        page: a Jinja template of the HTML below the table. It gets ``there`` (the columns of the table that exist),
            ``epsilon``, and what ``page_values`` returns. Its filters are ``percent``, ``number``, ``value(unit)`` and
            ``bounds(high, unit)``.
        tables: the names of further tables, each with whether it is part of ``summary.json``.
        uses: the options of `ExplanationTestOptions` that the test reads and not all other tests do.
        reads: columns of other tests that this test also computes for other models.
        after: the names of tests whose findings ``compare`` uses if they run.
        trains: whether the test cannot run without training models.
        trained_part: the name of the part of the test that is left out if nothing is trained.
        small_only: whether the test is for the small classifiers that are trained here, and not for transformers.
        by_default: whether the test is part of a run that names no tests.
        always: whether the test describes a model and runs in every run. ``--tests`` does not accept its name.
        gate: whether the other tests mean little unless attention passes this one. It is reported first.
        impossible: returns why the test cannot be run with a model and options; None if it can. This is asked before
            any training.
        examine: computes the columns that need no other model, with one value per text of a batch; NaN for no value.
        compare: compares the tested model with other models on the same texts. It is called only if models are
            trained, with an object of `attentionology.analyses.explanation.examination.subject.Tested`, and the
            findings of the tests in ``after`` that have run, by name.
        conclude: computes what follows from the per-text table when it has all columns of ``examine``.
        summarize: makes the ``tables`` of `Findings.measured`, given the names of the classes and the bootstrap over
            the tested texts.
        page_values: returns further values for ``page``.

    Example:
        >>> from attentionology.analyses import ExplanationTest
        >>> long_texts = ExplanationTest(
        ...     name="long-texts",
        ...     heading="How long are the texts?",
        ...     columns={"n_words": Column("words", "words")},
        ...     examine=lambda batch, options: {"n_words": batch.mask.sum(1).numpy().astype(float)},
        ... )
        >>> long_texts.on_page
        ('n_words',)
    """

    name: str
    heading: str
    columns: Mapping[str, Column] = field(default_factory=dict)
    questions: Sequence[Question] = ()
    shown: tuple[str, ...] | None = None
    key: tuple[str, ...] = ()
    figure: Drawing | None = None
    more_figures: tuple[Drawing, ...] = ()
    page: str = ""
    tables: Mapping[str, bool] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    trains: bool = False
    trained_part: str = ""
    small_only: bool = False
    by_default: bool = True
    always: bool = False
    gate: bool = False
    impossible: Callable[[AttentionModel, ExplanationTestOptions], str | None] = lambda model, options: None
    examine: Callable[[TextBatch, ExplanationTestOptions], Rows] = _nothing
    # The first argument is a `Tested`, which knows its tests, so that its module imports this one.
    compare: Callable[[Any, Mapping[str, Findings]], Findings] = lambda tested, earlier: Findings()
    conclude: Callable[[pd.DataFrame, ExplanationTestOptions], Findings] = lambda texts, options: Findings()
    summarize: Callable[[Mapping[str, pd.DataFrame], Sequence[str], Bootstrap], Mapping[str, pd.DataFrame]] = _nothing
    page_values: Callable[[ExplainResults], Mapping[str, Any]] = _nothing

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        """All figures of the test: first `figure`, if it has one, then `more_figures`."""
        return (*([self.figure] if self.figure else []), *self.more_figures)

    @property
    def on_page(self) -> tuple[str, ...]:
        """The columns in its table on the page: `shown`, or else all of its own that are averaged."""
        averaged = tuple(name for name, column in self.columns.items() if column.averaged)
        return averaged if self.shown is None else self.shown

    def check_declared(self, names: Iterable[str]) -> None:
        """Check that the test declares the columns that it gives."""
        if unknown := next((name for name in names if name not in self.columns), None):
            raise RegistryError(
                f"the explanation test {self.name!r} gives a column {unknown!r} that it does not declare"
            )

    def ran(self, there: Collection[str], borrowed: Collection[str], results: ExplainResults) -> bool:
        """Return whether the results hold anything of this test that was not computed for another test."""
        # there: the columns that the results have; borrowed: those that questions of other tests may ask for.
        return any(name in there for name in self.columns if name not in borrowed) or any(
            len(results.table(name)) for name in self.tables
        )
