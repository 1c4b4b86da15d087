"""What an analysis needs from the command, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

    from corpora_loaders import Corpus
    from extractors import Encoder, ExtractionError, ExtractionLog, MapBatch
    from reports import Section
    from scripts.analyze import Analyze
    from scripts.progress import Stages


@dataclass(frozen=True)
class Job:
    """One run of ``attentionology analyze``.

    Attributes:
        options: the command.
        encoder: the model.
        corpus: what to read.
        folder: where tables and figures go.
        stages: the stopwatch.
        found: what analyses leave for later ones.
    """

    options: Analyze
    encoder: Encoder
    corpus: Corpus
    folder: Path
    stages: Stages
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def corpus_name(self) -> str:
        """The corpus files' names."""
        return ", ".join(Path(file.path).name for file in self.corpus.files)

    def reading(self) -> dict[str, Any]:
        """Options that every extraction takes."""
        from extractors import DEFAULT_BATCH_CELLS

        return {
            "batch_cells": self.options.batch_cells or DEFAULT_BATCH_CELLS,
            "too_long": self.options.too_long,
            "max_length": self.options.max_length,
        }

    def peek(self, batches: Iterator[MapBatch], log: ExtractionLog) -> tuple[MapBatch, Iterator[MapBatch]]:
        """The first batch, which tells the shape of the maps, and all of them.

        Raises:
            ExtractionError: there is none.
        """
        first = next(batches, None)
        if first is None:
            raise self.nothing_read(log)
        return first, chain([first], batches)

    def nothing_read(self, log: ExtractionLog) -> ExtractionError:
        """What to raise where no input could be read."""
        from extractors import ExtractionError

        return ExtractionError(f"none of the {len(self.corpus)} {self.corpus.unit} could be read: {log.reasons()}")


@dataclass(frozen=True)
class Outcome:
    """What an analysis found.

    Attributes:
        section: for the report.
        log: what was read.
        show: for the terminal, given its width.
        record: what it adds to the run record.
    """

    section: Section
    log: ExtractionLog
    show: Callable[[int], RenderableType]
    record: dict[str, Any]
