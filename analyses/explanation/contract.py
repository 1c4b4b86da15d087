"""What an explanation test is.

An explanation test asks one thing of the attention of a text classifier: whether its weights can be read as an
explanation of what the classifier says. Everything that belongs to it lies in one class: how its numbers are computed,
what they are called, which questions they decide against which floor, its figures, and its part of the report. Tables,
page, terminal and verdicts read the registered tests and name none of them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from attentionology.analyses.explanation.batch import Rows, TextBatch
    from attentionology.analyses.explanation.compared_models import CurvePoint, ModelScore
    from attentionology.analyses.explanation.options import ExplanationTestOptions
    from attentionology.analyses.explanation.results import ExplainResults
    from attentionology.analyses.explanation.tested import Tested

SHARE, TVD, NATS, TAU, PROBABILITY = "%", "TVD, 0 to 1", "nats", "τ, −1 to 1", "probability"
"""Units. Values in ``%`` are stored as shares from 0 to 1."""


@dataclass(frozen=True)
class Column:
    """A column of the per-text table.

    Attributes:
        label: what it is called in tables and figures.
        unit: of its values.
        averaged: whether its mean over texts means something. It does not for numbers of classes or for p.
    """

    label: str
    unit: str
    averaged: bool = True


@dataclass(frozen=True)
class Question:
    """A question that is decided by whether one number is larger than another, text by text.

    What is compared is fixed, so that the verdict does not depend on which other tests were chosen.

    Attributes:
        question: what is decided.
        compared: which number is compared with which floor.
        larger: column of the per-text table; ``epsilon``: the tolerance.
        smaller: the other column.
        passed, failed: what it means.
        searched: column that takes the place of ``smaller`` where a model has no exact solution: the best that a search
            found. That it found nothing better proves nothing, so nothing is passed against it.
        floor_is_larger: whether ``larger`` is the floor, because less is better. Otherwise ``smaller`` is.
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
        """All columns that it names."""
        return (self.larger, self.smaller, *((self.searched,) if self.searched else ()))


@dataclass(frozen=True, eq=False)
class Findings:
    """What a test adds to the tables.

    Attributes:
        columns: of the per-text table, one value per text in its order.
        models: how good the models are that it trained.
        points: of the curve.
        tables: further tables, by the names in `ExplanationTest.tables`.
        notes: how the numbers came about, a sentence each.
        left_out: parts of the test that could not run, and why.
    """

    columns: Rows = field(default_factory=dict)
    models: tuple[ModelScore, ...] = ()
    points: tuple[CurvePoint, ...] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


class ExplanationTest(ABC):
    """One explanation test. Subclass it, and name the subclass in the registry or as an entry point.

    Attributes:
        name: what ``--tests`` takes.
        heading: of its part of the page.
        columns: all columns that it gives, by name.
        questions: what it decides.
        shown: columns in its table on the page, also those of other tests. None: all of its own that are averaged.
        significance: columns with the share of texts in which a column is significant, by that column.
        key: columns that the terminal shows.
        captions: of its figures, by their names. A caption is a Jinja template; it gets ``epsilon``.
        page: HTML below its numbers, a Jinja template. It gets ``there`` (the columns of its table that there are),
            ``epsilon``, and what `page_values` returns; filters: ``percent``, ``number``, ``value(unit)`` and
            ``bounds(high, unit)``.
        tables: further tables that it gives, by name; True for those that are part of ``summary.json`` too.
        uses: the options of `ExplanationTestOptions` that only some tests read, and this one does.
        reads: columns of other tests that it computes itself for other models.
        after: names of tests whose findings `compare` uses, if they run.
        trains: whether it cannot run without training models.
        small_only: whether it is for the small classifiers that are trained here, not for transformers.
        by_default: whether it is part of a run that names no tests.
        always: whether it describes a model and runs whatever tests are chosen. ``--tests`` does not know its name.
        gate: whether the other tests say little if its verdict is not that attention passes. It is reported first.

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
        """Why the test cannot be run with this model, None if it can. It is asked before anything is trained."""
        return None

    def without_training(self) -> str | None:
        """Which part of the test is left out where nothing is trained, None if no part is."""
        return None

    def examine(self, batch: TextBatch, options: ExplanationTestOptions) -> Rows:
        """Columns that need no other model, one value per text of the batch; NaN where a text has none."""
        return {}

    def compare(self, tested: Tested, earlier: Mapping[str, Findings]) -> Findings:
        """What other models say of the same texts; called only where models are trained.

        Args:
            tested: the tested model, its texts, and how others are trained.
            earlier: findings of the tests in `after` that ran, by name.
        """
        return Findings()

    def conclude(self, texts: pd.DataFrame, options: ExplanationTestOptions) -> Findings:
        """Points and tables that follow from the per-text table once all its columns are there."""
        return Findings()

    def figures(self, results: ExplainResults, title: str) -> Mapping[str, Figure]:
        """Figures by the names in `captions`; those without any value are left out."""
        return {}

    def page_values(self, results: ExplainResults) -> Mapping[str, Any]:
        """Further values for `page`."""
        return {}

    def on_page(self) -> tuple[str, ...]:
        """Columns in its table on the page."""
        averaged = tuple(name for name, column in self.columns.items() if column.averaged)
        return averaged if self.shown is None else self.shown

    def ran(self, there: Collection[str], borrowed: Collection[str], results: ExplainResults) -> bool:
        """Whether the results hold anything of the test that no other test asked for."""
        return any(name in there for name in self.columns if name not in borrowed) or any(
            len(results.table(name)) for name in self.tables
        )
