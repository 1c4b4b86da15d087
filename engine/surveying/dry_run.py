"""What ``survey --dry-run`` prints: cells, sentences and passes, and the memory and disk space that they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...analyses.shared.options import ControlOptions
from ...corpora_loaders import Corpus
from ...reports.progress import progress_bar
from ...storage.durable import size
from ..estimate import RunEstimate, estimate_run, memory_lines
from ..part_options import PartOptions
from ..parts import number_of_parts
from .counting import MOST_BYTES, LoadedModels, read_treebank, reason_of
from .options import SurveyedTreebank, SurveyOptions


@dataclass(frozen=True)
class TreebankEstimate:
    """What a treebank costs each model; ``obstacle`` says why it cannot be read."""

    name: str
    sentences: int = 0
    words: int = 0
    relations: int = 0
    obstacle: str = ""


@dataclass(frozen=True)
class ModelEstimate:
    """What a model needs on the treebank with the most relations; ``obstacle`` says why it cannot be used."""

    name: str
    run: RunEstimate | None = None
    obstacle: str = ""


@dataclass(frozen=True)
class SurveyEstimate:
    """What a survey would do and need.

    Attributes:
        models: what each model needs. The counts grow with the number of relations, so the treebank that has most of
            them is taken.
        treebanks: what each treebank costs a model.
        maps: the kinds of maps, which share each pass.
        passes: the number of passes over each treebank for each model: one for the model itself, and one for each copy
            with random weights.
        processes: how many processes count.
    """

    models: tuple[ModelEstimate, ...]
    treebanks: tuple[TreebankEstimate, ...]
    maps: tuple[str, ...]
    passes: int
    processes: int = 1

    def totals(self) -> dict[str, int]:
        """The sums over all cells, by their names."""
        usable = sum(not model.obstacle for model in self.models)
        readable = [treebank for treebank in self.treebanks if not treebank.obstacle]
        runs = [model.run for model in self.models if model.run is not None]
        # One process keeps several models in memory; the largest of them is part of the memory of its run.
        others = sum(run.weights for run in runs) - max((run.weights for run in runs), default=0)
        kept = min(others, MOST_BYTES) if self.processes == 1 else 0
        return {
            "cells": len(self.models) * len(self.treebanks),
            "failing": len(self.models) * len(self.treebanks) - usable * len(readable),
            "all_passes": self.passes * usable * len(readable),
            "sentences": self.passes * usable * sum(treebank.sentences for treebank in readable),
            "memory": max((run.memory for run in runs), default=0) + kept,
            "memory_of_worker": max((run.memory_of_worker for run in runs), default=0),
            "disk": sum(map(self._disk, runs)),
        }

    def _disk(self, run: RunEstimate | None) -> int:
        """Return the bytes of the parts of all cells of a model, whose counts grow with the relations of a treebank."""
        if run is None:
            return 0
        readable = [treebank for treebank in self.treebanks if not treebank.obstacle]
        per_relation = run.disk_of_parts / run.parts / max(1, *(treebank.relations for treebank in readable))
        parts = sum(each.relations * number_of_parts(each.sentences) for each in readable)
        return round(self.passes * per_relation * parts)

    def described(self) -> dict[str, Any]:
        """The estimate for JSON, with the totals."""
        models = [
            {
                **({} if model.run is None else model.run.described()),
                "name": model.name,
                "obstacle": model.obstacle,
                "disk": self._disk(model.run),
            }
            for model in self.models
        ]
        return {**asdict(self), "models": models, **self.totals()}

    def lines(self) -> Iterator[str]:
        """Yield the lines of the estimate: one for each treebank and each model, and the totals."""
        width = max(len(name) for name in [each.name for each in self.treebanks] + [each.name for each in self.models])
        for treebank in self.treebanks:
            read = f"{treebank.sentences:,} sentences, {treebank.words:,} words"
            yield f"{treebank.name:<{width}}  {treebank.obstacle or read}"
        yield ""
        for model in self.models:
            yield f"{model.name:<{width}}  {model.obstacle or self._needs(model.run)}"
        totals, copies = self.totals(), self.passes - 1
        each = "one pass" if not copies else f"{self.passes} passes ({copies} with random weights)"
        yield ""
        yield f"Cells: {totals['cells']:,} ({len(self.models):,} models × {len(self.treebanks):,} treebanks)"
        yield f"Passes: {totals['all_passes']:,}, {each} for each cell; {len(self.maps)} kinds of maps share each pass"
        yield f"Sentences to read: {totals['sentences']:,}"
        if totals["memory"]:
            yield from memory_lines(totals["memory"], totals["memory_of_worker"], self.processes)
            yield f"Disk: about {size(totals['disk'])} with --parts, for the counts of all cells"
        if totals["failing"]:
            yield f"Cells that would fail: {totals['failing']:,}"

    def _needs(self, run: RunEstimate | None) -> str:
        if run is None:
            return "not loaded, because no treebank can be read"
        return (
            f"{size(run.weights)} of weights, {size(run.memory)} of memory, {size(self._disk(run))} of counts on disk"
        )


def estimate_survey(options: SurveyOptions, part_options: PartOptions) -> SurveyEstimate:
    """Read all treebanks, let each model read a few sentences, and return what the survey would cost."""
    treebanks: list[TreebankEstimate] = []
    read: tuple[SurveyedTreebank, Corpus] | None = None
    with progress_bar("treebanks", len(options.grid.all_treebanks()), unit="") as advance:
        for treebank in options.grid.all_treebanks():
            try:
                corpus = read_treebank(options, treebank)
                words = sum(file.words for file in corpus.files)
                treebanks.append(TreebankEstimate(treebank.name, len(corpus), words, len(corpus.relations)))
                if read is None or len(corpus.relations) > len(read[1].relations):
                    read = treebank, corpus
            except Exception as error:
                treebanks.append(TreebankEstimate(treebank.name, obstacle=reason_of(error)))
            advance(1)
    models, loaded = [], LoadedModels(options.cells.device, most_bytes=0)
    with progress_bar("models", len(options.grid.all_models()), unit="") as advance:
        for model in options.grid.all_models():
            run, obstacle = None, ""
            try:
                if read is not None:
                    job = options.job(model, read[0], options.grid.maps)
                    encoder = loaded.load(model)
                    run = estimate_run(job, replace(part_options, parts=None), model=encoder, corpus=read[1])
            except Exception as error:
                obstacle = reason_of(error)
            models.append(ModelEstimate(model.name, run, obstacle))
            advance(1)
    return SurveyEstimate(
        models=tuple(models),
        treebanks=tuple(treebanks),
        maps=options.grid.maps,
        passes=1 + options.groups[ControlOptions].copies(),
        processes=part_options.workers or 1,
    )
