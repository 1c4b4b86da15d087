"""What ``survey --dry-run`` prints: cells, sentences and passes, and the memory and disk space that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...analyses.dependency.accuracy import inventory
from ...corpora_loaders.releases import grouped_reasons
from ...reports.progress import progress_bar
from ...storage.durable import size
from ..estimate import estimate_run, memory_lines
from ..parts import number_of_parts
from .cells import MOST_BYTES, CellCounter, read_treebank, reason_of
from .options import SurveyOptions


@dataclass(frozen=True)
class TreebankEstimate:
    """The size of a treebank; ``obstacle`` says why it cannot be read."""

    name: str
    sentences: int = 0
    words: int = 0
    relations: int = 0
    obstacle: str = ""

    def __str__(self) -> str:
        return self.obstacle or f"{self.sentences:,} sentences, {self.words:,} words"


@dataclass(frozen=True)
class ModelEstimate:
    """The bytes that a model needs; ``obstacle`` says why it cannot be used."""

    name: str
    weights: int = 0
    memory: int = 0
    memory_of_worker: int = 0
    disk: int = 0  # the parts of all its cells
    obstacle: str = ""

    def __str__(self) -> str:
        needs = f"{size(self.weights)} of weights, {size(self.memory)} of memory, {size(self.disk)} of counts on disk"
        return self.obstacle or needs


@dataclass(frozen=True)
class SurveyEstimate:
    """What a survey would read, and the bytes that it would need. The last seven numbers are sums over all cells."""

    models: Sequence[ModelEstimate]
    treebanks: Sequence[TreebankEstimate]
    maps: tuple[str, ...]
    processes: int
    passes: int  # over each treebank for each model: its own, and those of its copies
    cells: int
    failing: int
    all_passes: int
    sentences: int
    memory: int
    memory_of_worker: int
    disk: int
    left_out: Mapping[str, str]  # treebanks that a pattern names and that cannot be read, each with the reason

    def lines(self) -> Iterator[str]:
        """Yield the lines of the estimate: one for each treebank and each model, and the totals."""
        width = max(map(len, [each.name for each in self.treebanks] + [each.name for each in self.models]))
        yield from (f"{treebank.name:<{width}}  {treebank}" for treebank in self.treebanks)
        yield from (f"Left out: {reason}" for reason in grouped_reasons(self.left_out))
        yield ""
        yield from (f"{model.name:<{width}}  {model}" for model in self.models)
        each = "one pass" if self.passes == 1 else f"{self.passes} passes ({self.passes - 1} with random weights)"
        yield ""
        yield f"Cells: {self.cells:,} ({len(self.models):,} models × {len(self.treebanks):,} treebanks)"
        yield f"Passes: {self.all_passes:,}, {each} for each cell; {len(self.maps)} kinds of maps share each pass"
        yield f"Sentences to read: {self.sentences:,}"
        if self.memory:
            yield from memory_lines(self.memory, self.memory_of_worker, self.processes)
            yield f"Disk: about {size(self.disk)} with --parts, for the counts of all cells"
        if self.failing:
            yield f"Cells that would fail: {self.failing:,}"


def estimate_survey(options: SurveyOptions) -> SurveyEstimate:
    """Read all treebanks, let each model read a few sentences, and return what the survey would cost."""
    treebanks = []
    with progress_bar("treebanks", len(options.grid.named.names), unit="") as advance:
        for name, path in options.treebanks().items():
            try:
                corpus = read_treebank(options, path)
                words = sum(file.words for file in corpus.files)
                relations = inventory(corpus, options.dependency.trees)
                treebanks.append(TreebankEstimate(name, len(corpus), words, len(relations)))
            except Exception as error:
                treebanks.append(TreebankEstimate(name, obstacle=reason_of(error)))
            advance(1)
    readable = [treebank for treebank in treebanks if not treebank.obstacle]
    models = _models(options, readable)
    usable = [model for model in models if not model.obstacle]
    passes = 1 + options.control.copies()
    # One process keeps several models in memory; the largest of them is part of the memory of its run.
    weights = [model.weights for model in usable]
    others = min(sum(weights) - max(weights, default=0), MOST_BYTES) if options.long_run.in_this_process else 0
    return SurveyEstimate(
        models=models,
        treebanks=treebanks,
        maps=options.grid.maps,
        processes=options.long_run.workers or 1,
        passes=passes,
        cells=options.grid.cells,
        failing=options.grid.cells - len(usable) * len(readable),
        all_passes=passes * len(usable) * len(readable),
        sentences=passes * len(usable) * sum(treebank.sentences for treebank in readable),
        memory=max((model.memory for model in usable), default=0) + others,
        memory_of_worker=max((model.memory_of_worker for model in usable), default=0),
        disk=sum(model.disk for model in usable),
        left_out=options.grid.named.left_out,
    )


def _models(options: SurveyOptions, readable: Sequence[TreebankEstimate]) -> list[ModelEstimate]:
    """Let each model read a few sentences of the treebank with the most relations, because counts grow with them."""
    if not readable:
        obstacle = "not loaded, because no treebank can be read"
        return [ModelEstimate(name, obstacle=obstacle) for name in options.grid.models]
    largest = max(readable, key=lambda treebank: treebank.relations)
    grid = replace(options.grid, treebanks=(options.treebanks()[largest.name],))
    # What is in the folder of the parts already does not change what is needed.
    long_run = replace(options.long_run, parts=None, part=None)
    models = []
    [(_, cells)] = CellCounter(replace(options, grid=grid, long_run=long_run), estimate_run).treebanks()
    for cell in cells:
        if not cell.results:
            models.append(ModelEstimate(cell.cell.model, obstacle=cell.failures[0].reason))
            continue
        run, disk = cell.results[0], 0.0
        for treebank in readable:
            of_part = run.disk_of_parts / run.parts * treebank.relations / max(1, largest.relations)
            disk += of_part * len(run.passes) * number_of_parts(treebank.sentences)
        models.append(ModelEstimate(cell.cell.model, run.weights, run.memory, run.memory_of_worker, round(disk)))
    return models
