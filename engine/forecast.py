"""What a run would read and need, found out without counting the corpus and without writing anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from ..corpora_loaders import Corpus, Sentence
from ..extractors import Encoder, ExtractionError, make_batches, shared_cells
from ..extractors.maps.batching import WINDOW
from ..extractors.tokens.pieces import Pieces
from .forecast_sizes import sizes_of_counts
from .memory import LIBRARIES, estimate_memory
from .part_options import PartOptions
from .part_tasks import part_counter
from .parts import CorpusPart, parts_of
from .pass_counts import Limits, PassCounts
from .passes import Pass, maps_of
from .preparing import Planned, plan_analyses
from .run_options import RunOptions

SAMPLED = 64
"""The number of inputs of each pass that are read, to see how large maps and counts are."""

_SCANNED_WINDOWS = 16  # the windows in which the longest input is looked for


@dataclass(frozen=True)
class PassForecast:
    """What one pass over the corpus would read and need.

    Attributes:
        analyses: the names of the analyses that it serves.
        copy: None for the model, k for its k-th copy with random weights, counted from 0.
        masked: whether it reads the text with masks.
        inputs: the number of inputs that it reads.
        parts: the numbers of inputs of its parts.
        maps: the bytes of the largest batch, while it is made.
        states: the bytes of the counts in memory.
        disk: the bytes of the counts on disk if they are those of all inputs together.
        disk_of_parts: the bytes of the files of all parts.
        failure: why an optional pass will fail; empty if it will not.
    """

    analyses: tuple[str, ...]
    copy: int | None
    masked: bool
    inputs: int
    parts: tuple[int, ...]
    maps: int = 0
    states: int = 0
    disk: int = 0
    disk_of_parts: int = 0
    failure: str = ""


@dataclass(frozen=True)
class Forecast:
    """What a run would read and need.

    Attributes:
        unit: what the inputs are, for example ``"sentences"``.
        inputs: the number of inputs of the corpus.
        passes: the passes over the corpus, in order.
        weights: the bytes of the weights of the model.
        processes: how many processes count; None if the cluster decides.
        counted: how many of the parts are in the folder of the parts; None if there is no such folder.
        in_parts: whether the parts are counted into files, which are added up afterwards.
    """

    unit: str
    inputs: int
    passes: tuple[PassForecast, ...]
    weights: int
    processes: int | None = 1
    counted: int | None = None
    in_parts: bool = False

    @property
    def read(self) -> int:
        """The number of inputs that all passes read together."""
        return sum(each.inputs for each in self.passes)

    @property
    def parts(self) -> int:
        """The number of parts of all passes."""
        return sum(len(each.parts) for each in self.passes)

    @property
    def memory(self) -> int:
        """The bytes that the process which makes the report needs, with the libraries."""
        # While a part is added to others, its counts are there as read, as states, and in the sum.
        added = 3 * max(each.states for each in self.passes) if self.in_parts else 0
        return self._reading + added + sum(each.states for each in self.passes)

    @property
    def memory_of_worker(self) -> int:
        """The bytes that each process which counts parts needs, with the libraries."""
        return self._reading + max(each.states for each in self.passes)

    @property
    def disk(self) -> int:
        """The bytes of the counts in the results folder."""
        return sum(each.disk for each in self.passes)

    @property
    def disk_of_parts(self) -> int:
        """The bytes of all parts in the folder of the parts."""
        return sum(each.disk_of_parts for each in self.passes)

    @property
    def _reading(self) -> int:
        copies = any(each.copy is not None for each in self.passes)
        return LIBRARIES + self.weights * (2 if copies else 1) + max(each.maps for each in self.passes)


def forecast_run(
    options: RunOptions,
    part_options: PartOptions | None = None,
    *,
    encoder: Encoder | None = None,
    corpus: Corpus | None = None,
) -> Forecast:
    """Check everything that a run checks before it counts, and estimate what it needs.

    The corpus is indexed, the model is loaded, and all analyses make their plans. Then each pass reads a few inputs,
    the longest among them. The sizes of counts are extrapolated from those of these inputs.

    Args:
        options: the options of the run.
        part_options: how the corpus is cut into parts, and how many processes count.
        encoder: the model, if it has been loaded.
        corpus: the corpus, if it has been loaded.

    Raises:
        OptionError, CorpusError, ModelError, ExtractionError: the run would end with this error.

    Example:
        >>> from attentionology import CorpusOptions
        >>> from attentionology.engine.forecast import forecast_run
        >>> from attentionology.engine.run_options import RunOptions
        >>> forecast = forecast_run(RunOptions(("dependency",), files=CorpusOptions(limit=20)))
        >>> forecast.inputs, forecast.parts, forecast.passes[0].analyses
        (20, 1, ('dependency',))
    """
    part_options = part_options or PartOptions()
    part_options.check()
    options.check(corpus)
    prepared = options.prepare(model=encoder, corpus=corpus)
    encoder = prepared.setting.encoder
    planned = plan_analyses(prepared)
    parts = parts_of(planned.passes)
    passes: list[PassForecast] = []
    sizes: list[tuple[Pass, PassForecast]] = []
    for number, current in enumerate(planned.passes):
        known = next((size for other, size in sizes if _same_sizes(current, other)), None)
        forecast = _forecast_pass(planned, current, [part for part in parts if part.number == number])
        if known is None:
            forecast = _with_sizes(forecast, current, encoder, prepared.limits)
            sizes.append((current, forecast))
        else:
            forecast = replace(known, analyses=forecast.analyses, copy=forecast.copy)
        passes.append(forecast)
    counted = None
    if part_options.parts is not None:
        folder = part_counter(prepared, Path(part_options.parts)).folder
        counted = sum(folder.has(part) for part in parts)
    return Forecast(
        unit=prepared.setting.corpus.unit,
        inputs=len(prepared.setting.corpus),
        passes=tuple(passes),
        weights=_bytes(encoder.model.parameters()),
        processes=part_options.workers if part_options.engine == "ray" else part_options.workers or 1,
        counted=counted,
        in_parts=part_options.parts is not None or not part_options.in_this_process,
    )


def _forecast_pass(planned: Planned, current: Pass, parts: Sequence[CorpusPart]) -> PassForecast:
    names = [
        analysis.name
        for analysis, _, plan in planned.plans
        if any(request in current.requests for request in plan.requests)
    ]
    return PassForecast(
        analyses=tuple(dict.fromkeys(names)),
        copy=current.copy,
        masked=current.masking is not None,
        inputs=len(current.inputs),
        parts=tuple(len(part) for part in parts),
    )


def _same_sizes(first: Pass, second: Pass) -> bool:
    """Whether two passes differ in nothing but the copy of the model."""
    same_text = first.masking == second.masking and len(first.inputs) == len(second.inputs)
    return same_text and _counting(first) == _counting(second)


def _counting(current: Pass) -> list[tuple[Any, Any, bool]]:
    return [(request.maker, request.metric, request.optional) for request in current.requests]


def _with_sizes(forecast: PassForecast, current: Pass, encoder: Encoder, limits: Limits) -> PassForecast:
    """Read a few inputs of a pass, and return its forecast with the sizes of maps and counts."""
    sample = _sample(current.inputs)
    few = replace(current, inputs=sample, copy=None)
    counts, half = PassCounts(), PassCounts()
    few.attempt(encoder, limits, counts, may_be_empty=True, advance=_ignore)
    if counts.failures:
        return replace(forecast, failure=str(next(iter(counts.failures.values()))))
    if not counts.metrics:
        raise ExtractionError(f"none of the first {len(sample)} inputs could be read")
    few.of_inputs(0, len(sample) // 2).attempt(encoder, limits, half, may_be_empty=True, advance=_ignore)
    sizes = sizes_of_counts((len(sample) // 2, half), (len(sample), counts))
    return replace(
        forecast,
        maps=_map_bytes(few, encoder, limits),
        states=sum(size.memory(len(current.inputs)) for size in sizes),
        disk=sum(size.disk(len(current.inputs)) for size in sizes),
        disk_of_parts=sum(size.disk(part) for part in forecast.parts for size in sizes),
    )


def _sample(inputs: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Return the first inputs, and the longest of some windows."""
    windows = math.ceil(len(inputs) / WINDOW)
    step = WINDOW * max(1, math.ceil(windows / _SCANNED_WINDOWS))
    scanned = (inputs[start : start + WINDOW] for start in range(0, len(inputs), step))
    longest = max((max(window, key=len) for window in scanned), key=len)
    first = tuple(inputs[: SAMPLED - 1])
    return first if longest in first else (longest, *first)


def _map_bytes(few: Pass, encoder: Encoder, limits: Limits) -> int:
    """Return the bytes of the largest batch of a pass, given a few of its inputs with the longest."""
    makers = few.makers()
    first = next(few.batches(encoder, limits))
    shape = maps_of(make_batches(makers, first)) or (encoder.n_layers, encoder.n_heads)
    lengths = [len(pieces) for pieces in encoder.align(list(few.inputs)) if isinstance(pieces, Pieces)]
    longest = min([max(lengths), *filter(None, (encoder.max_length, limits.max_length))])
    cells = shared_cells(makers, limits.batch_cells)
    return estimate_memory(encoder, shape, longest=longest, batch_cells=cells, states=0).maps


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors)


def _ignore(_: int) -> None:
    """Show no progress."""
