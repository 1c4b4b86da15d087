"""The cells of a survey, each as a run of its own. What goes wrong in a cell becomes its failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...analyses.shared.input_options import ModelOptions
from ...analyses.shared.part_options import PartOptions
from ...analyses.survey.rows import Cell, CellFailure
from ...corpora_loaders import AttentionologyError, Corpus
from ...corpora_loaders.errors import out_of_memory
from ...corpora_loaders.releases import grouped_reasons
from ...extractors import ExtractionError, ModelError
from ...reports.progress import progress_bar
from ...storage.durable import StorageError
from ...storage.writing import amount
from ..corpus import CorpusOptions, read_corpus
from ..counting.executors import ShareCounts
from ..counting.parts import number_of_parts
from .options import SurveyOptions
from .plan import SurveyPlan, job_of_cell

if TYPE_CHECKING:
    from ...extractors import Encoder

Result = TypeVar("Result")

MOST_BYTES = 2**31
"""The size of the weights up to which models stay in memory for the next treebank. The latest model always stays."""


@dataclass(frozen=True, eq=False)
class CountedCell(Generic[Result]):
    """The results of one model on one treebank: one for all kinds of maps, or one for each that could be counted."""

    cell: Cell
    results: Sequence[Result] = ()
    failures: Sequence[CellFailure] = ()
    seconds: float = 0.0


class CellCounter(Generic[Result]):
    """Counts the cells of a survey, with models that stay loaded.

    ``count`` counts a cell, given its job and ``part_options``, ``model`` and ``corpus``, as `execute` does.
    """

    def __init__(self, plan: SurveyPlan, count: Callable[..., Result]) -> None:
        self.plan, self._count = plan, count
        self._encoders: dict[ModelOptions, Encoder] = {}
        self._errors: dict[ModelOptions, Exception] = {}
        self._dealt = 0  # the number of parts of all cells before

    def treebanks(self) -> Iterator[tuple[str, list[CountedCell[Result]]]]:
        """Count all cells, and yield the name of one treebank after the other with its cells."""
        models = self.plan.models
        with progress_bar("cells", self.plan.cells, unit="") as advance:
            for treebank, path in self.plan.treebanks.items():
                try:
                    corpus = read_treebank(self.plan.options, path)
                except Exception as error:
                    advance(len(models))
                    yield treebank, [_failure_of(Cell(name, treebank), error) for name in models]
                    continue
                cells = []
                for name, model in models.items():
                    cells.append(self._cell(Cell(name, treebank), model, path, corpus))
                    advance(1)
                yield treebank, cells

    def _cell(self, cell: Cell, model: ModelOptions, path: str, corpus: Corpus) -> CountedCell[Result]:
        """Count a cell; ``path`` is that of its corpus. A cell without a part of the wanted share has no results."""
        started, part_options = time.perf_counter(), self._share_of(corpus)
        if part_options is None:
            return CountedCell(cell)
        try:
            encoder = self._load(model) if part_options.in_this_process else None

            def count(kinds: Sequence[str]) -> Result:
                job = job_of_cell(self.plan.options, model, path, kinds)
                return self._count(job, part_options=part_options, model=encoder, corpus=corpus)

            results, failures = count_kinds(self.plan.options.grid.maps, count)
        except StorageError:  # the parts of the other cells could not be written either
            raise
        except Exception as error:  # whatever goes wrong in a cell must not stop the grid
            return _failure_of(cell, error)
        return CountedCell(cell, results, failures, round(time.perf_counter() - started, 3))

    def _share_of(self, corpus: Corpus) -> PartOptions | None:
        """Return the options of a cell whose parts are dealt after those of all cells before; None if it has none.

        If each cell dealt its own parts, the first shares would get all parts of many small cells.
        """
        options = self.plan.options.long_run
        if options.share is None:
            return options
        parts = (1 + self.plan.options.control.copies()) * number_of_parts(len(corpus))
        share, shares = options.share
        first = (share - 1 - self._dealt) % shares  # the first part of this cell that the share gets, counted from 0
        self._dealt += parts
        return replace(options, part=f"{first + 1}/{shares}") if first < parts else None

    def _load(self, model: ModelOptions) -> Encoder:
        """Load a model unless it was kept, and drop others if they are large. It is not tried again if it fails."""
        if model in self._errors:
            raise self._errors[model]
        if model not in self._encoders:
            while sum(map(_bytes_of_weights, self._encoders.values())) > MOST_BYTES:
                del self._encoders[next(iter(self._encoders))]  # the one that was loaded first
            try:
                self._encoders[model] = model.load()
            except Exception as error:
                # A model that cannot be loaded, such as one that must be downloaded, would fail again for every
                # treebank.
                self._errors[model] = error
                raise
        return self._encoders[model]


def _failure_of(cell: Cell, error: Exception) -> CountedCell[Any]:
    return CountedCell(cell, failures=[CellFailure("", reason_of(error))])


def _bytes_of_weights(encoder: Encoder) -> int:
    return sum(weights.nbytes for weights in encoder.model.parameters())


def count_kinds(
    kinds: Sequence[str], count: Callable[[Sequence[str]], Result]
) -> tuple[list[Result], list[CellFailure]]:
    """Count all kinds of maps in one pass or, if the model cannot give one of them, each kind alone."""
    try:
        return [count(kinds)], []
    # The kinds share one pass, so one that the model cannot give stops the others, which it can give.
    except (ModelError, ExtractionError):
        if len(kinds) == 1:
            raise
        results: list[Result] = []
        failures: list[CellFailure] = []
        for kind in kinds:
            try:
                results.append(count((kind,)))
            except Exception as error:
                failures.append(CellFailure(kind, reason_of(error)))
        if not results:
            raise
        return results, failures


def read_treebank(options: SurveyOptions, path: str) -> Corpus:
    """Read a treebank of a survey as the runs of its cells do."""
    job = job_of_cell(options, ModelOptions(), path)
    job.check()
    return read_corpus(job.groups[CorpusOptions], job.chosen())


def reason_of(error: Exception) -> str:
    """Return what a table says about an error, in one line."""
    message = " ".join(str(error).split())
    if out_of_memory(error):
        return f"not enough memory: {message}".removesuffix(": ")
    if isinstance(error, AttentionologyError | OSError) and message:
        return message
    return f"{type(error).__name__}: {message}".removesuffix(": ")


def share_lines(cells: Sequence[CountedCell[ShareCounts]], plan: SurveyPlan) -> Iterator[str]:
    """Yield what a terminal shows of a share: what was left out or failed, and how many parts were counted."""
    yield from (f"Warning: Left out: {reason}." for reason in grouped_reasons(plan.left_out))
    counts_of_cells = [counts for counted in cells for counts in counted.results]
    yield from (f"Warning: {warning}" for counts in counts_of_cells for warning in counts.warnings)
    for counted in cells:
        yield from (f"{counted.cell.model} on {counted.cell.treebank}: {each.reason}" for each in counted.failures)
    part_options = plan.options.long_run
    n_parts = sum(counts.share for counts in counts_of_cells)
    n_cells = sum(bool(counted.results) for counted in cells)
    yield (
        f"The share {part_options.part} has {amount(n_parts, 'parts')} of {amount(n_cells, 'cells')} in "
        f"{part_options.parts}. "
        "When all shares are counted, the same command without --part makes the report."
    )
