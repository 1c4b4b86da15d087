"""What a survey would do and need: its cells, sentences, passes, memory and disk space, before anything is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...analyses.shared.options import ControlOptions
from ...corpora_loaders import Corpus
from ...reports.progress import progress_bar
from ..forecast import forecast_run
from ..part_options import PartOptions
from ..parts import number_of_parts
from .counting import reason_of
from .models import MOST_BYTES, LoadedModels, read_treebank
from .options import SurveyedTreebank, SurveyOptions


@dataclass(frozen=True)
class TreebankEstimate:
    """What a treebank costs each model.

    Attributes:
        name: the name of the treebank.
        sentences: the number of sentences.
        words: the number of words.
        relations: the number of relations, with which the counts grow.
        obstacle: why the treebank cannot be read; empty if it can.
    """

    name: str
    sentences: int = 0
    words: int = 0
    relations: int = 0
    obstacle: str = ""


@dataclass(frozen=True)
class ModelEstimate:
    """What a model needs.

    Attributes:
        name: the name of the model.
        weights: the bytes of its weights.
        memory: the bytes that the process which makes the report needs for this model, with the libraries.
        memory_of_worker: the bytes that each process which counts needs, with the libraries.
        disk: the bytes of the parts of all its cells.
        obstacle: why the model cannot be used; empty if it can.
    """

    name: str
    weights: int = 0
    memory: int = 0
    memory_of_worker: int = 0
    disk: int = 0
    obstacle: str = ""


@dataclass(frozen=True)
class SurveyEstimate:
    """What a survey costs.

    Attributes:
        models: what each model needs.
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

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.models) * len(self.treebanks)

    @property
    def countable_cells(self) -> int:
        """The number of cells whose model can be used and whose treebank can be read."""
        return self._usable_models * sum(not treebank.obstacle for treebank in self.treebanks)

    @property
    def all_passes(self) -> int:
        """The number of passes of the whole survey."""
        return self.passes * self.countable_cells

    @property
    def sentences(self) -> int:
        """The number of sentences that models read, in all passes together."""
        return self.passes * self._usable_models * sum(treebank.sentences for treebank in self.treebanks)

    @property
    def memory(self) -> int:
        """The bytes that the process which makes the report needs, with the libraries and the models that are kept."""
        largest = max(self.models, key=lambda model: model.memory)
        others = sum(model.weights for model in self.models) - largest.weights
        return largest.memory + (min(others, MOST_BYTES) if self.processes == 1 else 0)

    @property
    def memory_of_worker(self) -> int:
        """The bytes that each process which counts needs, with the libraries."""
        return max(model.memory_of_worker for model in self.models)

    @property
    def disk(self) -> int:
        """The bytes of the parts of all cells."""
        return sum(model.disk for model in self.models)

    @property
    def _usable_models(self) -> int:
        return sum(not model.obstacle for model in self.models)


def estimate_survey(options: SurveyOptions, part_options: PartOptions) -> SurveyEstimate:
    """Read all treebanks, and return what the survey would cost.

    Each model is loaded and reads a few sentences of the treebank with the most relations, because the counts grow with
    the number of relations. The counts on the other treebanks are taken to be in proportion to it.

    Args:
        options: the options of the survey, which have been checked.
        part_options: how many processes count each cell.
    """
    estimates: list[TreebankEstimate] = []
    read: tuple[SurveyedTreebank, Corpus] | None = None
    treebanks = options.grid.all_treebanks()
    with progress_bar("treebanks", len(treebanks), unit="") as advance:
        for treebank in treebanks:
            try:
                corpus = read_treebank(options, treebank)
                words = sum(file.words for file in corpus.files)
                estimates.append(TreebankEstimate(treebank.name, len(corpus), words, len(corpus.relations)))
                if read is None or len(corpus.relations) > len(read[1].relations):
                    read = treebank, corpus
            except Exception as error:
                estimates.append(TreebankEstimate(treebank.name, obstacle=reason_of(error)))
            advance(1)
    models = [ModelEstimate(model.name) for model in options.grid.all_models()]
    if read is not None:
        models = _model_estimates(options, replace(part_options, parts=None), *read, estimates)
    return SurveyEstimate(
        models=tuple(models),
        treebanks=tuple(estimates),
        maps=options.grid.maps,
        passes=1 + options.groups[ControlOptions].copies(),
        processes=part_options.workers or 1,
    )


def _model_estimates(
    options: SurveyOptions,
    part_options: PartOptions,
    treebank: SurveyedTreebank,
    corpus: Corpus,
    treebanks: Sequence[TreebankEstimate],
) -> list[ModelEstimate]:
    """Return what each model needs for all treebanks, given one of them."""
    models, loaded = options.grid.all_models(), LoadedModels(options.cells.device, most_bytes=0)
    size_of_read = len(corpus.relations) * number_of_parts(len(corpus))
    size_of_all = sum(each.relations * number_of_parts(each.sentences) for each in treebanks)
    estimates = []
    with progress_bar("models", len(models), unit="") as advance:
        for model in models:
            try:
                run_options = options.run_options(model, treebank, options.grid.maps)
                encoder = loaded.load(model)
                forecast = forecast_run(run_options, part_options, encoder=encoder, corpus=corpus)
                estimates.append(
                    ModelEstimate(
                        model.name,
                        forecast.weights,
                        forecast.memory,
                        forecast.memory_of_worker,
                        round(forecast.disk_of_parts * size_of_all / max(1, size_of_read)),
                    )
                )
            except Exception as error:
                estimates.append(ModelEstimate(model.name, obstacle=reason_of(error)))
            advance(1)
    return estimates
