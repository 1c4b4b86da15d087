"""What an analysis needs from the command, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attentionology.scripts.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType
    from torchmetrics import Metric

    from attentionology.corpora_loaders import Corpus
    from attentionology.extractors import Encoder, ExtractionError, ExtractionLog, MapBatch
    from attentionology.reports.page import Section
    from attentionology.scripts.analyze import Analyze
    from attentionology.scripts.progress import Advance, Stages

Counted = TypeVar("Counted", bound="Metric")


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
        """The corpus files' names, for a title: the first two."""
        names = [Path(file.path).name for file in self.corpus.files]
        return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")

    def map_options(self) -> dict[str, Any]:
        """What `attentionology.extractors.extract` must know about the maps."""
        own = self.options
        return {"kind": own.map, "merge": own.merge, "normalize": own.normalize, "ff_bias": own.ff_bias}

    def map_facts(self, *, per_head: bool, words: bool = True) -> list[str]:
        """What the maps are, for a reader."""
        from attentionology.extractors import get_kind

        own = self.options
        kind = get_kind(own.map)
        facts = [f"map “{own.map}”: {kind.description}"]
        if not per_head:
            facts.append("one map for all heads of a layer, shown as head 1")
        if kind.vectors and words:
            facts.append("words from pieces by " + {"norm": "adding norms", "vector": "adding vectors"}[own.merge])
        if own.normalize == "row":
            facts.append("rows divided by their sums")
        if own.map.removeprefix("rollout:").startswith("atbff"):
            facts.append(f"feed-forward bias: {own.ff_bias}")
        return facts

    def reading(self) -> dict[str, Any]:
        """Options that every extraction takes."""
        from attentionology.extractors import DEFAULT_BATCH_CELLS

        return {
            "batch_cells": self.options.batch_cells or DEFAULT_BATCH_CELLS,
            "too_long": self.options.too_long,
            "max_length": self.options.max_length,
        }

    def measure(
        self,
        encoder: Encoder,
        corpus: Corpus,
        label: str,
        metric: Callable[[int, int], Counted],
        state_bytes: Callable[[int, int], int],
    ) -> tuple[Counted, ExtractionLog]:
        """Word maps of a corpus, counted.

        Args:
            encoder: the model, or its control.
            corpus: what to read.
            label: for the progress bar.
            metric: makes the metric, given the layers and heads of the maps.
            state_bytes: what it will hold in memory, given the same.

        Raises:
            MemoryShortageError: that, or the maps, will not fit.
        """
        from attentionology.extractors import ExtractionLog, extract
        from attentionology.scripts.memory import check_memory, estimate_memory

        log = ExtractionLog()
        batches = extract(encoder, corpus, log=log, **self.map_options(), **self.reading())
        with progress_bar(label, len(corpus), unit=corpus.unit) as advance:
            (layers, heads, longest, _), batches = self.peek(batches, log, corpus)
            check_memory(
                estimate_memory(
                    encoder,
                    (layers, heads),
                    longest=longest,
                    batch_cells=self.reading()["batch_cells"],
                    states=state_bytes(layers, heads),
                ),
                encoder.device,
            )
            counted = metric(layers, heads)
            read_all(batches, advance, counted.update)
        return counted, log

    def peek(
        self, batches: Iterator[MapBatch], log: ExtractionLog, corpus: Corpus | None = None
    ) -> tuple[tuple[int, ...], Iterator[MapBatch]]:
        """The shape of the first maps, (layers, heads, n, n) for the longest of the first sentences, and all batches.

        Raises:
            ExtractionError: there is none.
        """
        first = next(batches, None)
        if first is None:
            raise self.nothing_read(log, corpus)
        return tuple(first.maps.shape[1:]), chain([first], batches)

    def nothing_read(self, log: ExtractionLog, corpus: Corpus | None = None) -> ExtractionError:
        """What to raise where no input could be read."""
        from attentionology.extractors import ExtractionError

        corpus = corpus or self.corpus
        return ExtractionError(f"none of the {len(corpus)} {corpus.unit} could be read: {log.reasons()}")


def read_all(batches: Iterator[MapBatch], advance: Advance, *readers: Callable[[MapBatch], object]) -> None:
    """Show every batch to all readers, and drop it before the next is made: one batch of maps may fill the memory."""

    def show(batch: MapBatch) -> int:
        for reader in readers:
            reader(batch)
        return len(batch)

    for sentences in map(show, batches):
        advance(sentences)


@dataclass(frozen=True)
class Outcome:
    """What an analysis found.

    Attributes:
        section: for the report.
        log: what was read.
        show: for the terminal, given its width.
        record: what it adds to the run record.
        corpus: what it read, if that was cut in another way than the job's corpus.
        warnings: what a reader must be told before the numbers.
    """

    section: Section
    log: ExtractionLog
    show: Callable[[int], RenderableType]
    record: dict[str, Any]
    corpus: Corpus | None = None
    warnings: list[str] = field(default_factory=list)
