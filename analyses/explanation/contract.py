"""The contract of an explanation test.

An explanation test asks one question about the attention of a text classifier, and so whether its weights can be read
as an explanation of what the classifier decides. Everything that belongs to it lies in one class: how its numbers are
computed, what they are called, which questions they decide against which floor, its figures, and its part of the
report. Tables, page, terminal and verdicts read the registered tests and name none of them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .batch import Rows, TextBatch
    from .compared_models import CurvePoint, ModelPredictions
    from .options import ExplanationTestOptions
    from .results import ExplainResults
    from .summary import Bootstrap
    from .tested import Tested

SHARE, TVD, NATS, TAU, PROBABILITY = "%", "TVD, 0 to 1", "nats", "τ, −1 to 1", "probability"
"""Units. Values in ``%`` are stored as shares from 0 to 1."""


@dataclass(frozen=True)
class Column:
    """A column of the per-text table.

    Attributes:
        label: the name of the column in tables and figures.
        unit: the unit of its values.
        averaged: whether the mean over the texts is meaningful, which it is not for numbers of classes and p values.
    """

    label: str
    unit: str
    averaged: bool = True


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
        searched: the column that replaces ``smaller`` where a model has no exact solution. It holds the best result of
            a search. A search that finds nothing better proves nothing, so the question cannot be passed against it.
        floor_is_larger: whether ``larger`` is the floor, because lower values are better. By default, ``smaller`` is.
    """

    question: str
    compared: str
    larger: str
    smaller: str
    passed: str
    failed: str
    searched: str | None = None
    floor_is_larger: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the question names."""
        return (self.larger, self.smaller, *((self.searched,) if self.searched else ()))


@dataclass(frozen=True, eq=False)
class Findings:
    """What a test adds to the tables.

    Attributes:
        columns: columns of the per-text table, with one value per text in its order.
        models: what the models that the test has trained predict.
        points: points of the curve.
        tables: further tables, by the names in `ExplanationTest.tables`.
        measured: per-text tables of other models, by the names of the models; see `ExplanationTest.summarize`.
        notes: remarks on how the numbers were computed, one sentence each.
        left_out: the parts of the test that could not run, each with the reason.
    """

    columns: Rows = field(default_factory=dict)
    models: tuple[ModelPredictions, ...] = ()
    points: tuple[CurvePoint, ...] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    measured: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


class ExplanationTest(ABC):
    """One explanation test. Subclass it, and name the subclass in the registry or as an entry point.

    Attributes:
        name: the name of the test in ``--tests``.
        heading: the heading of its part of the page.
        columns: all columns that the test computes, by name.
        questions: the questions that the test decides.
        shown: the columns in its table on the page, which may belong to other tests. None for all columns of the test
            that are averaged.
        significance: for each column, the column whose mean is the share of texts in which it is significant.
        key: the columns that the terminal shows.
        captions: the captions of its figures, by their names. A caption is a Jinja template, which gets ``epsilon``.
        page: a Jinja template of the HTML below the table. It gets ``there`` (the columns of the table that exist),
            ``epsilon``, and what `page_values` returns. Its filters are ``percent``, ``number``, ``value(unit)`` and
            ``bounds(high, unit)``.
        tables: the names of further tables, each with whether it is part of ``summary.json``.
        uses: the options of `ExplanationTestOptions` that the test reads and not all other tests do.
        reads: columns of other tests that this test also computes for other models.
        after: the names of tests whose findings `compare` uses if they run.
        trains: whether the test cannot run without training models.
        small_only: whether the test is for the small classifiers that are trained here, and not for transformers.
        by_default: whether the test is part of a run that names no tests.
        always: whether the test describes a model and runs in every run. ``--tests`` does not accept its name.
        gate: whether the other tests mean little unless attention passes this one. It is reported first.

    Example:
        >>> from attentionology import ExplanationTest
        >>> class LongTexts(ExplanationTest):
        ...     name = "long-texts"
        ...     heading = "How long are the texts?"
        ...     columns = {"n_words": Column("words", "words")}
        ...     def examine(self, batch, options):
        ...         return {"n_words": batch.mask.sum(1).numpy().astype(float)}
        >>> LongTexts().columns["n_words"].label
        'words'
    """

    name: ClassVar[str]
    heading: ClassVar[str]
    columns: ClassVar[Mapping[str, Column]] = {}
    questions: ClassVar[Sequence[Question]] = ()
    shown: ClassVar[tuple[str, ...] | None] = None
    significance: ClassVar[Mapping[str, str]] = {}
    key: ClassVar[tuple[str, ...]] = ()
    captions: ClassVar[Mapping[str, str]] = {}
    page: ClassVar[str] = ""
    tables: ClassVar[Mapping[str, bool]] = {}
    uses: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[tuple[str, ...]] = ()
    after: ClassVar[tuple[str, ...]] = ()
    trains: ClassVar[bool] = False
    small_only: ClassVar[bool] = False
    by_default: ClassVar[bool] = True
    always: ClassVar[bool] = False
    gate: ClassVar[bool] = False

    def impossible(self, model: Any, options: ExplanationTestOptions) -> str | None:
        """Return why the test cannot be run with this model; None if it can. This is asked before any training."""
        return None

    def without_training(self) -> str | None:
        """Return the name of the part of the test that is left out if nothing is trained; None if no part is."""
        return None

    def examine(self, batch: TextBatch, options: ExplanationTestOptions) -> Rows:
        """Compute the columns that need no other model, with one value per text of the batch; NaN for no value."""
        return {}

    def compare(self, tested: Tested, earlier: Mapping[str, Findings]) -> Findings:
        """Compare the model with other models on the same texts. It is called only if models are trained.

        Args:
            tested: the tested model, its texts, and how other models are trained.
            earlier: the findings of the tests in `after` that have run, by name.
        """
        return Findings()

    def conclude(self, texts: pd.DataFrame, options: ExplanationTestOptions) -> Findings:
        """Compute what follows from the per-text table when it has all columns of `examine`."""
        return Findings()

    def summarize(
        self, measured: Mapping[str, pd.DataFrame], classes: Sequence[str], bootstrap: Bootstrap
    ) -> Mapping[str, pd.DataFrame]:
        """Make further tables, by the names in `tables`, of the per-text tables of other models.

        Args:
            measured: the tables that `compare` has put into `Findings.measured`, if it has run.
            classes: the names of the classes.
            bootstrap: the bootstrap over the tested texts.
        """
        return {}

    def figures(self, results: ExplainResults, title: str) -> Mapping[str, Figure]:
        """Draw the figures, by the names in `captions`. Figures without any value are left out."""
        return {}

    def page_values(self, results: ExplainResults) -> Mapping[str, Any]:
        """Return further values for `page`."""
        return {}

    def on_page(self) -> tuple[str, ...]:
        """Return the columns in its table on the page."""
        averaged = tuple(name for name, column in self.columns.items() if column.averaged)
        return averaged if self.shown is None else self.shown

    def ran(self, there: Collection[str], borrowed: Collection[str], results: ExplainResults) -> bool:
        """Return whether the results hold anything of this test that was not computed for another test."""
        return any(name in there for name in self.columns if name not in borrowed) or any(
            len(results.table(name)) for name in self.tables
        )
