"""One pass over the inputs for all requests that share a model, inputs and masking.

The forward pass takes most of the time of a run, and many requests of analyses need the same one. So requests are
grouped by what the model has to read: by the copy of the model, by the inputs, which are compared by content because
two analyses may cut the same windows independently, and by the masking. Kinds of maps, levels and metrics are no reason
for another pass. All maps of a batch are in memory at the same time, so the size of batches is divided by the number of
kinds (`shared_cells`). An optional request may fail, which would stop others, so it always has a pass of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from ...analyses.contract import Masking, Reader, Request
from ...analyses.counting.metric import Metric
from ...analyses.counting.stored_metrics import MetricStates
from ...corpora_loaders import Corpus, Sentence
from ...corpora_loaders.errors import out_of_memory
from ...extractors import (
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
from ...extractors.deferred import read_together
from ...extractors.maps.batching import TooLong, most_pieces, usual_cells
from ...extractors.maps.shared_pass import needs_of
from ...extractors.model.loaded_model import LoadedModel
from ...extractors.translation import GATHERED, PairReader, read_pairs
from ...reports.progress import Advance, Stages, progress_bar
from ...storage.plugins import name_extension
from ..results.states import to_plain
from .memory import bytes_of_maps, check_memory


@dataclass(frozen=True)
class Limits:
    """Which inputs are read, and how many at once. The fields are arguments of `attentionology.extractors.extract`."""

    batch_cells: int = DEFAULT_BATCH_CELLS
    too_long: TooLong = "skip"
    max_length: int | None = None

    @classmethod
    def of(
        cls, model: LoadedModel, batch_cells: int | None, too_long: TooLong, max_length: int | None = None
    ) -> Limits:
        """Return the limits that options ask for. By default, the device decides how large batches are."""
        return cls(batch_cells or usual_cells(model.device), too_long, max_length)


class Readers:
    """The model and its copies with random weights, of which at most one is in memory besides the model.

    The random weights of the k-th copy have the seed ``seed + k``.
    """

    def __init__(self, model: LoadedModel, seed: int) -> None:
        self.model, self.seed = model, seed
        self._copy: tuple[int, LoadedModel] | None = None  # the number of the copy in memory, and the copy

    def of(self, copy: int | None) -> LoadedModel:
        """Return the model, or its copy of this number."""
        if copy is None:
            return self.model
        if self._copy is None or self._copy[0] != copy:
            self._copy = None  # frees the memory before the next copy is made
            self._copy = copy, self.model.random_init(self.seed + copy)
        return self._copy[1]


def batches_of(
    model: LoadedModel, inputs: Sequence[Any], makers: Sequence[BatchMaker[Any]], **options: Any
) -> Iterator[Any]:
    """Yield what the makers need of each batch: of sentences, or of sentence pairs if the model reads these."""
    if isinstance(model, Encoder):
        return shared_batches(model, inputs, **needs_of(makers), **options)
    if isinstance(model, PairReader):
        return read_pairs(model, inputs, gather=GATHERED, **options)
    raise TypeError(f"{model!r} reads neither sentences nor sentence pairs")


def reader_of(model: LoadedModel, limits: Limits) -> Reader:
    """Return a function with which follow-ups read a few more inputs."""

    def read(inputs: Sequence[Sentence], maker: BatchMaker[Any]) -> Iterator[Any]:
        for batch in batches_of(model, inputs, [maker], **vars(limits)):
            yield maker.of(batch)

    return read


class PassLog(ExtractionLog):
    """A record of what was read that keeps no words of skipped inputs, because there may be very many of them."""

    def skip(self, sentence: Sentence, reason: str) -> None:
        """Add an input that gave no map. Of the input, only the id, the file and the line are kept."""
        super().skip(Sentence(sentence.id, (), file=sentence.file, line=sentence.line), reason)


@dataclass
class PassCounts:
    """What all passes counted, by the names of the requests."""

    metrics: dict[str, Metric] = field(default_factory=dict)
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)  # with which the metrics were made
    logs: dict[str, ExtractionLog] = field(default_factory=dict)
    failures: dict[str, Exception] = field(default_factory=dict)  # of optional requests
    warnings: list[str] = field(default_factory=list)
    map_bytes: int = 0  # of the largest batch of maps, as estimated from the first batch

    def states(self) -> dict[str, MetricStates]:
        """The states of the metrics, with their arguments as plain data."""
        return {
            name: MetricStates.of(metric, to_plain(self.arguments[name], f"the arguments of {name}"))
            for name, metric in self.metrics.items()
        }


@dataclass(frozen=True)
class Pass:
    """Requests that are served by reading the same inputs once: they share its copy, inputs and masking."""

    copy: int | None
    inputs: Sequence[Sentence]
    masking: Masking | None
    requests: tuple[Request, ...]

    @property
    def label(self) -> str:
        """The name of the pass for the progress bar and for the times of the stages."""
        return ", ".join(dict.fromkeys(request.label for request in self.requests))

    @property
    def optional(self) -> bool:
        """Whether the run goes on if the requests cannot be met."""
        return all(request.optional for request in self.requests)

    @property
    def unit(self) -> str:
        """What the inputs are, in the plural."""
        return self.inputs.unit if isinstance(self.inputs, Corpus) else Corpus.unit

    def of_inputs(self, start: int, stop: int) -> Pass:
        """Return the pass over a part of the inputs, from ``start`` up to ``stop``. None of them is read."""
        if start == 0 and stop == len(self.inputs):
            return self
        # Slicing a corpus would read all inputs to count what is in the slice; slicing its sentences reads nothing.
        inputs = self.inputs.sentences if isinstance(self.inputs, Corpus) else self.inputs
        return replace(self, inputs=inputs[start:stop])

    def run(
        self,
        model: LoadedModel,
        limits: Limits,
        counts: PassCounts,
        *,
        may_be_empty: bool = False,
        advance: Callable[[int], None] | None = None,
    ) -> None:
        """Read the inputs, update the metrics of all requests, and add them to the counts.

        An error of the model or the inputs becomes a failure of an optional pass. If no input can be read, that is an
        error unless the pass ``may_be_empty``, because it is one of several parts and others have inputs. Without
        ``advance``, which receives the number of inputs of each batch, a progress bar is shown.
        """
        names = [request.name for request in self.requests]
        makers = list(dict.fromkeys(request.maker for request in self.requests))
        masking = {} if self.masking is None else {"mask_rate": self.masking.rate, "seed": self.masking.seed}
        options = {**vars(limits), **masking, "batch_cells": shared_cells(makers, limits.batch_cells)}
        counted, log = PassCounts(), PassLog()  # of this pass alone, because nothing is added of one that fails
        bar: AbstractContextManager[Callable[[int], None]]
        bar = nullcontext(advance) if advance else progress_bar(self.label, len(self.inputs), unit=self.unit)
        try:
            with bar as show_progress, read_together():
                for batch in batches_of(model, self.inputs, makers, log=log, **options):
                    self._count(batch, makers, model, limits, counted)
                    show_progress(len(batch))
            if not log.read and (self.optional or not may_be_empty):
                raise ExtractionError(f"none of the {len(self.inputs)} {self.unit} could be read: {log.reasons()}")
        except (ModelError, ExtractionError) as error:
            # A lack of memory is no property of the model: on a larger machine, this pass would not fail, and results
            # must not depend on the machine.
            if not self.optional or out_of_memory(error):
                raise
            counts.failures |= dict.fromkeys(names, error)
            return
        counts.metrics |= counted.metrics
        counts.arguments |= counted.arguments
        counts.logs |= dict.fromkeys(names, log)
        counts.map_bytes = max(counts.map_bytes, counted.map_bytes)

    def _count(
        self,
        batch: SharedBatch,
        makers: Sequence[BatchMaker[Any]],
        model: LoadedModel,
        limits: Limits,
        counted: PassCounts,
    ) -> None:
        """Update the metrics with one batch.

        This is a function so that its maps are freed when it returns: one batch of maps may fill the memory.
        """
        batch_of = dict(zip(makers, make_batches(makers, batch), strict=True))
        if not counted.metrics:
            counted.map_bytes = self._check_memory(batch_of, model, limits)
            for request in self.requests:
                first = batch_of[request.maker]
                counted.metrics[request.name] = request.metric(first)
                counted.arguments[request.name] = request.metric.arguments_of(first)
        for request in self.requests:
            metric = counted.metrics[request.name]
            with name_extension(
                "analysis", request.label, f"{type(metric).__name__}.update()", type(metric).__module__
            ):
                metric.update(batch_of[request.maker])

    def _check_memory(self, batch_of: dict[BatchMaker[Any], Any], model: LoadedModel, limits: Limits) -> int:
        """Check that the states of the metrics and the maps of a batch fit into memory; return the bytes of maps."""
        # Maps have the shape (inputs, layers, heads, words, words).
        shapes = [batch.maps.shape for batch in batch_of.values() if isinstance(batch, MapBatch)]
        if not shapes:
            return 0
        # The layers of all kinds are held together, and each of them has no more heads than the widest kind.
        layers = sum(shape[1] for shape in shapes)
        layers += 2 * model.n_layers * len(needs_of(batch_of)["losses"])  # a graph, and the gradients from it
        heads = max(shape[2] for shape in shapes)
        longest = max(shape[-1] for shape in shapes)
        cells = shared_cells(list(batch_of), limits.batch_cells)
        pieces = most_pieces(model.device)
        map_bytes = bytes_of_maps(layers, heads, longest=longest, batch_cells=cells, batch_pieces=pieces)
        state_bytes = sum(request.metric.state_bytes(batch_of[request.maker]) for request in self.requests)
        check_memory(state_bytes, map_bytes, model.device)
        return map_bytes


def plan_passes(requests: Sequence[Request]) -> list[Pass]:
    """Group requests into passes: first those of the model, then those of each copy (see the module for the rules)."""
    by_name: dict[str, Request] = {}
    for request in requests:
        if by_name.setdefault(request.name, request) != request:
            raise ValueError(f"two different requests are called {request.name!r}")
    groups: list[list[Request]] = []
    for request in by_name.values():
        for group in groups:
            if _share_a_pass(group[0], request):
                group.append(request)
                break
        else:
            groups.append([request])
    passes = [Pass(group[0].copy, group[0].inputs, group[0].masking, tuple(group)) for group in groups]
    # `Readers` holds one copy at a time, so the passes of a copy follow each other. The order of the others is kept.
    return sorted(passes, key=lambda planned: -1 if planned.copy is None else planned.copy)


def _share_a_pass(first: Request, second: Request) -> bool:
    """Whether one pass can serve both requests."""
    if first.optional or second.optional or (first.copy, first.masking) != (second.copy, second.masking):
        return False
    return same_inputs(first.inputs, second.inputs)


def same_inputs(first: Sequence[Sentence], second: Sequence[Sentence]) -> bool:
    """Whether two analyses read the same. Corpora that are one object, or differ in length, need not be compared."""
    return first is second or (len(first) == len(second) and first == second)


def run_passes(
    passes: Sequence[Pass],
    model: LoadedModel,
    *,
    seed: int = 0,
    limits: Limits | None = None,
    stages: Stages | None = None,
) -> PassCounts:
    """Run all passes, and return what they counted. Copies with random weights begin with the seed."""
    stages, readers = stages or Stages(), Readers(model, seed)
    counts = PassCounts()
    total = sum(len(corpus_pass.inputs) for corpus_pass in passes)
    one_bar = progress_bar("count", total, unit=passes[0].unit) if len(passes) > 1 else nullcontext()
    with one_bar as bar:  # over all passes; a single one has a bar of its own
        for number, corpus_pass in enumerate(passes, start=1):
            remark = f"{corpus_pass.unit}, pass {number} of {len(passes)}, {corpus_pass.label}"
            advance = None if bar is None else _Advance(bar, remark)
            with stages(corpus_pass.label if corpus_pass.copy is None else "control"):
                corpus_pass.run(readers.of(corpus_pass.copy), limits or Limits(), counts, advance=advance)
            if advance is not None:
                advance(len(corpus_pass.inputs) - advance.done)  # those that were skipped
    return counts


class _Advance:
    """Advances the bar of all passes by what one of them has read."""

    def __init__(self, bar: Advance, remark: str) -> None:
        self._bar, self._remark = bar, remark
        self.done = 0
        bar(0, remark)

    def __call__(self, n_inputs: int) -> None:
        self._bar(n_inputs, self._remark)
        self.done += n_inputs
