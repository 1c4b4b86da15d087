"""One pass over the inputs for all requests that share an encoder, inputs and masking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchmetrics import Metric

from attentionology.analyses.contract import Masking, Reader, Request
from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.errors import out_of_memory
from attentionology.engine.memory import check_memory, estimate_memory
from attentionology.extractors import (
    DEFAULT_BATCH_CELLS,
    BatchMaker,
    Encoder,
    ExtractionError,
    ExtractionLog,
    MapBatch,
    ModelError,
    SharedBatch,
    make_batches,
    shared_batches,
    shared_cells,
)
from attentionology.extractors.maps.batching import TooLong
from attentionology.reports.progress import Stages, progress_bar


@dataclass(frozen=True)
class Limits:
    """Which inputs are read, and how many at once; the fields are arguments of `attentionology.extractors.extract`."""

    batch_cells: int = DEFAULT_BATCH_CELLS
    too_long: TooLong = "skip"
    max_length: int | None = None

    def arguments(self) -> dict[str, Any]:
        """As keyword arguments."""
        return {"batch_cells": self.batch_cells, "too_long": self.too_long, "max_length": self.max_length}


@dataclass
class PassCounts:
    """What all passes counted.

    Attributes:
        metrics: by the names of requests.
        logs: what was read, by the names of requests.
        failures: why optional requests could not be met, by their names.
    """

    metrics: dict[str, Metric] = field(default_factory=dict)
    logs: dict[str, ExtractionLog] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """Requests that are met by reading the same inputs once.

    Attributes:
        copy: None for the model, k for the k-th copy with random weights.
        inputs: what is read.
        masking: whether pieces are masked.
        requests: what is counted.
    """

    copy: int | None
    inputs: Sequence[Sentence]
    masking: Masking | None
    requests: tuple[Request, ...]

    @property
    def label(self) -> str:
        """What the progress bar and the stopwatch call it."""
        return ", ".join(dict.fromkeys(request.label for request in self.requests))

    def run(self, encoder: Encoder, limits: Limits, counts: PassCounts) -> None:
        """Read the inputs and count.

        Raises:
            ExtractionError: none of the inputs could be read.
            ModelError: the model cannot give what a request needs.
        """
        makers = list(dict.fromkeys(request.maker for request in self.requests))
        log = ExtractionLog()
        unit = getattr(self.inputs, "unit", "sentences")
        metrics: dict[str, Metric] = {}
        with progress_bar(self.label, len(self.inputs), unit=unit) as advance:
            for batch in self._batches(encoder, makers, limits, log):
                advance(self._count(batch, makers, encoder, limits, metrics))
        if not log.read:
            raise ExtractionError(f"none of the {len(self.inputs)} {unit} could be read: {log.reasons()}")
        counts.metrics |= metrics
        counts.logs |= dict.fromkeys([request.name for request in self.requests], log)

    def _count(
        self,
        batch: SharedBatch,
        makers: Sequence[BatchMaker[Any]],
        encoder: Encoder,
        limits: Limits,
        metrics: dict[str, Metric],
    ) -> int:
        """Count a batch; in a function of its own, because one batch of maps may fill the memory."""
        made = dict(zip(makers, make_batches(makers, batch), strict=True))
        if not metrics:
            self._check_memory(made, encoder, limits)
            metrics |= {request.name: request.metric(made[request.maker]) for request in self.requests}
        for request in self.requests:
            metrics[request.name].update(made[request.maker])
        return len(batch)

    def _check_memory(self, made: dict[BatchMaker[Any], Any], encoder: Encoder, limits: Limits) -> None:
        """Refuse counts that will not fit, now that the shape of the maps is known.

        Raises:
            MemoryShortageError: they, or the maps of a batch, do not fit.
        """
        maps = [batch.maps for batch in made.values() if isinstance(batch, MapBatch)]
        if not maps:
            return
        states = 0
        for request in self.requests:
            measure = getattr(request.metric, "state_bytes", None)
            states += 0 if measure is None else measure(made[request.maker])
        shape = sum(len(one[0]) for one in maps), max(one.shape[2] for one in maps)
        longest = max(one.shape[-1] for one in maps)
        cells = shared_cells(list(made), limits.batch_cells)
        estimate = estimate_memory(encoder, shape, longest=longest, batch_cells=cells, states=states)
        check_memory(estimate, encoder.device)

    def _batches(
        self, encoder: Encoder, makers: Sequence[BatchMaker[Any]], limits: Limits, log: ExtractionLog
    ) -> Iterator[SharedBatch]:
        masking: dict[str, Any] = {}
        if self.masking is not None:
            masking = {"mask_rate": self.masking.rate, "seed": self.masking.seed}
        weights = any(maker.reads_weights for maker in makers)
        options = {**limits.arguments(), "batch_cells": shared_cells(makers, limits.batch_cells)}
        return shared_batches(encoder, self.inputs, hidden_states=weights, log=log, **masking, **options)


def plan_passes(requests: Sequence[Request]) -> list[Pass]:
    """Group requests into passes, those of the model first, then copy by copy.

    An optional request has a pass of its own, so that its failure stops nothing else.

    Raises:
        ValueError: two different requests have the same name.
    """
    by_name: dict[str, Request] = {}
    for request in requests:
        if by_name.setdefault(request.name, request) != request:
            raise ValueError(f"two different requests are called {request.name!r}")
    groups: list[list[Request]] = []
    for request in by_name.values():
        for group in groups:
            if not request.optional and _together(group[0], request):
                group.append(request)
                break
        else:
            groups.append([request])
    passes = [Pass(group[0].copy, group[0].inputs, group[0].masking, tuple(group)) for group in groups]
    return sorted(passes, key=lambda one: -1 if one.copy is None else one.copy)


def _together(one: Request, other: Request) -> bool:
    """Whether two requests can be met by reading the same inputs once."""
    if one.optional or (one.copy, one.masking) != (other.copy, other.masking):
        return False
    return one.inputs is other.inputs or (len(one.inputs) == len(other.inputs) and one.inputs == other.inputs)


def run_passes(
    passes: Sequence[Pass],
    encoder: Encoder,
    *,
    seed: int = 0,
    limits: Limits | None = None,
    stages: Stages | None = None,
) -> PassCounts:
    """Run all passes.

    Args:
        passes: see `plan_passes`.
        encoder: the model. The k-th copy has random weights drawn with ``seed + k``.
        seed: of the copies.
        limits: which inputs are read.
        stages: the stopwatch.

    Raises:
        ExtractionError, ModelError: see `Pass.run`.
    """
    limits, stages, counts = limits or Limits(), stages or Stages(), PassCounts()
    copy: tuple[int, Encoder] | None = None
    for current in passes:
        with stages(current.label if current.copy is None else "control"):
            reader = encoder
            if current.copy is not None:
                if copy is None or copy[0] != current.copy:
                    copy = current.copy, encoder.random_init(seed + current.copy)
                reader = copy[1]
            try:
                current.run(reader, limits, counts)
            except (ModelError, ExtractionError) as error:
                if not all(request.optional for request in current.requests) or out_of_memory(error):
                    raise
                counts.failures |= dict.fromkeys([request.name for request in current.requests], error)
    return counts


def reader_of(encoder: Encoder, limits: Limits) -> Reader:
    """What follow-ups read a few more inputs with."""

    def read(inputs: Sequence[Sentence], maker: BatchMaker[Any]) -> Iterator[Any]:
        for batch in shared_batches(encoder, inputs, hidden_states=maker.reads_weights, **limits.arguments()):
            yield maker.of(batch)

    return read
