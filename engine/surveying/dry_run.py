"""What ``survey --dry-run`` prints: cells, sentences and passes, and the memory and disk space that they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...analyses.survey.cells import Cell
from ...reports.progress import progress_bar
from ...storage.durable import size
from ..estimate import RunEstimate, estimate_run, memory_lines
from ..parts import number_of_parts
from .cells import MOST_BYTES, CellCounter, CountedCell, read_treebank, reason_of
from .options import SurveyOptions


@dataclass(frozen=True)
class TreebankSize:
    """What a treebank costs each model; ``obstacle`` says why it cannot be read."""

    name: str
    sentences: int = 0
    words: int = 0
    relations: int = 0
    obstacle: str = ""


@dataclass(frozen=True)
class SurveyEstimate:
    """What a survey would do and need.

    Attributes:
        options: the options of the survey.
        treebanks: the sizes of all treebanks.
        cells: what each model needs on the treebank with the most relations, because counts grow with their number.
    """

    options: SurveyOptions
    treebanks: tuple[TreebankSize, ...]
    cells: tuple[CountedCell[RunEstimate], ...]

    @property
    def readable(self) -> list[TreebankSize]:
        """The treebanks that can be read."""
        return [treebank for treebank in self.treebanks if not treebank.obstacle]

    @property
    def passes(self) -> int:
        """The number of passes over each treebank for each model: its own, and those of its copies."""
        return 1 + self.options.control.copies()

    def totals(self) -> dict[str, int]:
        """The sums over all cells, by their names."""
        usable = sum(not _obstacle(cell) for cell in self.cells)
        runs = [run for cell in self.cells for run in cell.results]
        # One process keeps several models in memory; the largest of them is part of the memory of its run.
        others = sum(run.weights for run in runs) - max((run.weights for run in runs), default=0)
        kept = min(others, MOST_BYTES) if self.options.long_run.in_this_process else 0
        return {
            "cells": self.options.grid.cells,
            "failing": self.options.grid.cells - usable * len(self.readable),
            "all_passes": self.passes * usable * len(self.readable),
            "sentences": self.passes * usable * sum(treebank.sentences for treebank in self.readable),
            "memory": max((run.memory for run in runs), default=0) + kept,
            "memory_of_worker": max((run.memory_of_worker for run in runs), default=0),
            "disk": sum(map(self._disk, self.cells)),
        }

    def _disk(self, cell: CountedCell[RunEstimate]) -> int:
        """Return the bytes of the parts of all cells of a model."""
        if not cell.results:
            return 0
        of_part = sum(run.disk_of_parts / run.parts for run in cell.results)
        per_relation = of_part / max(1, *(treebank.relations for treebank in self.readable))
        parts = sum(each.relations * number_of_parts(each.sentences) for each in self.readable)
        return round(self.passes * per_relation * parts)

    def described(self) -> dict[str, Any]:
        """The estimate for JSON, with the totals."""
        models = []
        for cell in self.cells:
            needs = cell.results[0].described() if cell.results else {}
            models.append({**needs, "name": cell.cell.model, "obstacle": _obstacle(cell), "disk": self._disk(cell)})
        return {
            "models": models,
            "treebanks": [asdict(treebank) for treebank in self.treebanks],
            "maps": self.options.grid.maps,
            "passes": self.passes,
            "processes": self.options.long_run.workers or 1,
            **self.totals(),
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the estimate: one for each treebank and each model, and the totals."""
        names = [*(each.name for each in self.treebanks), *(cell.cell.model for cell in self.cells)]
        width = max(map(len, names))
        for treebank in self.treebanks:
            read = f"{treebank.sentences:,} sentences, {treebank.words:,} words"
            yield f"{treebank.name:<{width}}  {treebank.obstacle or read}"
        yield ""
        for cell in self.cells:
            yield f"{cell.cell.model:<{width}}  {_obstacle(cell) or self._needs(cell)}"
        totals, copies = self.totals(), self.passes - 1
        each = "one pass" if not copies else f"{self.passes} passes ({copies} with random weights)"
        grid = self.options.grid
        yield ""
        yield f"Cells: {totals['cells']:,} ({len(grid.models):,} models × {len(grid.treebanks):,} treebanks)"
        yield f"Passes: {totals['all_passes']:,}, {each} for each cell; {len(grid.maps)} kinds of maps share each pass"
        yield f"Sentences to read: {totals['sentences']:,}"
        if totals["memory"]:
            processes = self.options.long_run.workers or 1
            yield from memory_lines(totals["memory"], totals["memory_of_worker"], processes)
            yield f"Disk: about {size(totals['disk'])} with --parts, for the counts of all cells"
        if totals["failing"]:
            yield f"Cells that would fail: {totals['failing']:,}"

    def _needs(self, cell: CountedCell[RunEstimate]) -> str:
        if not cell.results:
            return "not loaded, because no treebank can be read"
        run, disk = cell.results[0], self._disk(cell)
        return f"{size(run.weights)} of weights, {size(run.memory)} of memory, {size(disk)} of counts on disk"


def _obstacle(cell: CountedCell[Any]) -> str:
    """Return why a model cannot be used; nothing if it can be used for one of the kinds of maps."""
    return "" if cell.results or not cell.failures else cell.failures[0].reason


def estimate_survey(options: SurveyOptions) -> SurveyEstimate:
    """Read all treebanks, let each model read a few sentences, and return what the survey would cost."""
    treebanks, sizes = options.treebanks(), list[TreebankSize]()
    with progress_bar("treebanks", len(treebanks), unit="") as advance:
        for name, path in treebanks.items():
            try:
                corpus = read_treebank(options, path)
                words = sum(file.words for file in corpus.files)
                sizes.append(TreebankSize(name, len(corpus), words, len(corpus.relations)))
            except Exception as error:
                sizes.append(TreebankSize(name, obstacle=reason_of(error)))
            advance(1)
    # The counts that are in the folder of the parts already do not matter to what is needed.
    whole = replace(options, long_run=replace(options.long_run, parts=None, part=None))
    counter, largest = CellCounter(whole, estimate_run), max(sizes, key=lambda each: each.relations)
    if largest.obstacle:
        cells = [CountedCell[RunEstimate](Cell(model, largest.name)) for model in options.grid.models]
    else:
        cells = list(counter.cells_of(largest.name, treebanks[largest.name]))
    return SurveyEstimate(options, tuple(sizes), tuple(cells))
