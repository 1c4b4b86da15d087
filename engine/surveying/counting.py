"""Counting one cell of a survey, with models that stay loaded. What goes wrong in a cell becomes its result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...analyses.registry import choose_analyses
from ...analyses.shared.builtin import load_encoder
from ...analyses.shared.comparable import Comparable
from ...analyses.survey.cells import Cell, CellFacts, CellFailure, CellResult, MapResult
from ...corpora_loaders import AttentionologyError, Corpus
from ...corpora_loaders.errors import out_of_memory
from ...extractors import ExtractionError, ModelError
from ..corpus import check_analyses, check_files, read_corpus
from ..execution import execute
from ..part_options import PartOptions
from ..run import Run
from .options import ANALYSIS, SurveyedModel, SurveyedTreebank, SurveyOptions

if TYPE_CHECKING:
    from ...extractors import Encoder


MOST_BYTES = 2**31
"""The size of the weights up to which models stay in memory for the next treebank. The latest model always stays."""


@dataclass(frozen=True, eq=False)
class CountedCell:
    """A cell that was counted, with what is needed to compare it.

    Attributes:
        result: the result of the cell.
        families: the statistics that can be compared, by the kind of map.
        record: the run record; empty if the cell failed.
    """

    result: CellResult
    families: Mapping[str, Sequence[Comparable]] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)


class CellCounter:
    """Counts the cells of a survey.

    Args:
        options: the options of the survey.
        part_options: where parts are kept, and how many processes count.
    """

    def __init__(self, options: SurveyOptions, part_options: PartOptions) -> None:
        self.options, self.part_options = options, part_options

    @property
    def needs_encoder(self) -> bool:
        """Whether this process counts. Several processes load the model themselves."""
        return self.part_options.in_this_process

    def count(
        self, model: SurveyedModel, treebank: SurveyedTreebank, encoder: Encoder | None, corpus: Corpus
    ) -> CountedCell:
        """Count a cell.

        All kinds of maps are made in one pass. If the model cannot give one of them, each kind is tried alone, so that
        the others have numbers.
        """
        started = time.perf_counter()
        cell, kinds = Cell(model.name, treebank.name), self.options.grid.maps
        failures: list[CellFailure] = []
        try:
            runs = [self._run(model, treebank, encoder, corpus, kinds)]
        except (ModelError, ExtractionError):
            if len(kinds) == 1:
                raise
            runs = []
            for kind in kinds:
                try:
                    runs.append(self._run(model, treebank, encoder, corpus, (kind,)))
                except Exception as error:
                    failures.append(CellFailure(kind, reason_of(error)))
            if not runs:
                raise
        parts = [part for run in runs for part in run.parts]
        return CountedCell(
            CellResult(
                cell,
                maps=tuple(MapResult(part.kind or "", part.results.best) for part in parts),
                failures=tuple(failures),
                facts=_facts(runs[0]),
                seconds=round(time.perf_counter() - started, 3),
            ),
            {part.kind or "": part.analysis.comparable(part.counted) for part in parts},
            runs[0].record,
        )

    def _run(
        self,
        model: SurveyedModel,
        treebank: SurveyedTreebank,
        encoder: Encoder | None,
        corpus: Corpus,
        kinds: Sequence[str],
    ) -> Run:
        return execute(
            self.options.job(model, treebank, kinds),
            part_options=self.part_options,
            model=encoder,
            corpus=corpus,
            command=f"attentionology analyze --analyses {ANALYSIS}",
        )


def failed_cell(model: SurveyedModel, treebank: SurveyedTreebank, error: Exception) -> CountedCell:
    """Return the result of a cell that could not be counted."""
    cell = Cell(model.name, treebank.name)
    return CountedCell(CellResult(cell, failures=(CellFailure("", reason_of(error)),)))


def reason_of(error: Exception) -> str:
    """Return what a table says about an error, in one line.

    Example:
        >>> reason_of(ModelError("the model has no attention"))
        'the model has no attention'
        >>> reason_of(KeyError("layers"))
        "KeyError: 'layers'"
    """
    message = " ".join(str(error).split())
    if out_of_memory(error):
        return f"not enough memory: {message}".removesuffix(": ")
    if isinstance(error, AttentionologyError | OSError) and message:
        return message
    return f"{type(error).__name__}: {message}".removesuffix(": ")


def _facts(run: Run) -> CellFacts:
    model, sentences = run.record["model"], run.record["sentences"]
    return CellFacts(
        revision=model["revision"],
        weights_sha256=model["weights_sha256"],
        layers=model["layers"],
        heads=model["heads"],
        files=tuple((file["path"], file["sha256"]) for file in run.record["corpus"]["files"]),
        sentences=sentences["read"],
        skipped=len(sentences["skipped"]),
        words=sentences["words"],
        warnings=tuple(run.record["warnings"]),
    )


class LoadedModels:
    """Loads the models of a survey, and keeps small ones for the next treebank.

    A model that cannot be loaded is not tried again: its error is raised again.

    Args:
        device: the device on which the models run.
        most_bytes: the size of the weights that are kept.
    """

    def __init__(self, device: str, most_bytes: int = MOST_BYTES) -> None:
        self.device, self.most_bytes = device, most_bytes
        self._encoders: dict[str, Encoder] = {}
        self._errors: dict[str, Exception] = {}

    def load(self, model: SurveyedModel) -> Encoder:
        """Load a model, or return it if it has been kept."""
        if model.name in self._errors:
            raise self._errors[model.name]
        encoder = self._encoders.pop(model.name, None)
        if encoder is None:
            self._make_room()
            try:
                encoder = load_encoder(model.model, revision=model.revision, device=self.device)
            except Exception as error:
                self._errors[model.name] = error
                raise
        self._encoders[model.name] = encoder
        return encoder

    def _make_room(self) -> None:
        """Drop the models that were used longest ago until the others are small enough."""
        while sum(map(_bytes, self._encoders.values())) > self.most_bytes:
            del self._encoders[next(iter(self._encoders))]


def _bytes(encoder: Encoder) -> int:
    return sum(weights.numel() * weights.element_size() for weights in encoder.model.parameters())


def read_treebank(options: SurveyOptions, treebank: SurveyedTreebank) -> Corpus:
    """Read a treebank of a survey."""
    files = options.job(SurveyedModel("", ""), treebank, options.grid.maps).files
    chosen = choose_analyses([ANALYSIS])
    check_files(files)
    check_analyses(files, chosen)
    return read_corpus(files, chosen)
