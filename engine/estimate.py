"""What ``--dry-run`` prints: what a run would read and need, estimated from the first inputs of each pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import Tensor

from ..analyses.counting.metric import Metric
from ..analyses.shared.part_options import PartOptions
from ..corpora_loaders import Corpus
from ..corpora_loaders.describing import amount
from ..extractors import ExtractionError
from ..storage.durable import size
from .counting.job import Job, RunSetup, plan_analyses
from .counting.memory import LIBRARIES, available_memory
from .counting.parts import PartCounter, parts_of
from .counting.passes import Pass, PassCounts
from .execution import check_job
from .results.states import packed_bytes

if TYPE_CHECKING:
    from ..extractors.model.loaded_model import LoadedModel

SAMPLED = 64
"""The number of inputs of each pass that are read, besides the longest."""


@dataclass(frozen=True)
class PassEstimate:
    """The inputs and the bytes that one pass over the corpus would read and need."""

    analyses: tuple[str, ...]
    copy: int | None  # None for the model, k for its k-th copy with random weights, counted from 0
    masked: bool
    inputs: int
    parts: tuple[int, ...]  # the numbers of inputs of its parts
    maps: int = 0  # the bytes of the largest batch, while it is made
    states: int = 0  # the bytes of the counts in memory
    disk: int = 0  # the bytes of the counts of all inputs together in a file
    disk_of_parts: int = 0
    failure: str = ""  # why an optional pass will fail
    further_passes: float = 0.0  # what analyses run by themselves for each batch

    def __str__(self) -> str:
        copy = "" if self.copy is None else f", random copy {self.copy + 1}"
        return ", ".join(self.analyses) + copy + (", masked" if self.masked else "")


@dataclass(frozen=True)
class RunEstimate:
    """The inputs that a run would read, and the bytes that it would need. Memory includes that of the libraries."""

    unit: str  # what the inputs are, for example "sentences"
    inputs: int
    passes: tuple[PassEstimate, ...]
    weights: int  # the bytes of the weights of the model
    device: str  # where the weights are, and the maps while they are made
    processes: int | None  # how many processes count; None if the cluster decides
    counted: int | None  # how many of the parts are in the folder of the parts, if there is one
    read: int  # the number of inputs that all passes read together
    parts: int  # the number of parts of all passes
    memory: int  # that of the process which makes the report
    memory_of_worker: int  # that of each process which counts parts
    disk: int  # the bytes of the counts in the results folder
    disk_of_parts: int  # the bytes of all parts in the folder of the parts
    follow_up_passes: int = 0  # the forward passes of single inputs that analyses make after all others

    def lines(self) -> Iterator[str]:
        """Yield the estimate as lines of text: one for each pass, and the sums."""
        for estimate in self.passes:
            line = f"Pass of {estimate}: {estimate.inputs:,} {self.unit} in {amount(len(estimate.parts), 'parts')}"
            if not estimate.failure:
                line += f", {size(estimate.maps + estimate.states)} of memory, {size(estimate.disk)} on disk"
                if estimate.further_passes:
                    line += f", about {estimate.further_passes:,.0f} more forward passes of each"
            yield line
        yield f"Corpus: {self.inputs:,} {self.unit}. All passes together read {self.read:,}."
        if self.follow_up_passes:
            yield f"After these passes: about {self.follow_up_passes:,} more forward passes of single {self.unit}"
        in_folder = "" if self.counted is None else f", of which {self.counted:,} are in the folder"
        yield f"Parts: {self.parts:,}{in_folder}"
        largest_batch = max(estimate.maps for estimate in self.passes)
        on_gpu = f", on {self.device}" if self.device != "cpu" else ""
        yield f"Model: {size(self.weights)} of weights, and up to {size(largest_batch)} of maps of one batch{on_gpu}"
        yield from memory_lines(self.memory, self.memory_of_worker, self.processes)
        yield f"Disk: about {size(self.disk)} in the results folder, and {size(self.disk_of_parts)} with --parts"
        yield from (
            f"Warning: {estimate} will fail: {estimate.failure}" for estimate in self.passes if estimate.failure
        )
        yield "Nothing was counted or written."


def memory_lines(memory: int, memory_of_worker: int, processes: int | None) -> Iterator[str]:
    """Yield what a dry run says of the bytes of memory that the main process and each worker need."""
    available, of_libraries = available_memory(), f"of which {size(LIBRARIES)} are for the libraries"
    of_available = "" if available is None else f"; {size(available)} are available here"
    yield f"Memory: about {size(memory)}, {of_libraries}{of_available}"
    if processes != 1:
        workers = "each worker" if processes is None else f"each of {processes:,} workers"
        yield f"Memory of {workers}: about {size(memory_of_worker)}, {of_libraries}"


def estimate_run(
    job: Job, part_options: PartOptions | None = None, *, model: LoadedModel | None = None, corpus: Corpus | None = None
) -> RunEstimate:
    """Check everything that a run checks before it counts, and estimate what it needs.

    The corpus is read, the model is loaded, and all analyses make their plans. Then each pass reads its first inputs
    and the longest.
    """
    part_options = part_options or PartOptions()
    # A model that has been loaded serves the estimate even if the run would have workers.
    check_job(job, part_options, model=None, corpus=corpus)
    prepared = job.prepare(model=model, corpus=corpus)
    planned = plan_analyses(prepared)
    parts = parts_of(planned.passes)
    passes: list[PassEstimate] = []
    for pass_number, corpus_pass in enumerate(planned.passes):
        analyses = []
        for analysis, _, plan in planned.plans:
            if any(request in corpus_pass.requests for request in plan.requests):
                analyses.append(analysis.name)
        part_sizes = [len(part) for part in parts if part.number == pass_number]
        passes.append(_estimate_pass(corpus_pass, analyses, part_sizes, prepared))
    n_counted = None  # the parts that an earlier run left in the folder
    if part_options.parts is not None:
        counter = PartCounter(job, prepared, part_options.parts, planned.passes)
        n_counted = sum(map(counter.has, counter.parts))

    # All that follows is in bytes.
    weights = sum(parameter.nbytes for parameter in prepared.setting.model.held.parameters())
    has_copies = any(estimate.copy is not None for estimate in passes)
    models = 2 * weights if has_copies else weights  # at most one copy is there besides the model
    while_reading = LIBRARIES + models + max(estimate.maps for estimate in passes)
    states = [estimate.states for estimate in passes]
    # While a part is added to others, its counts are there as read, as states, and in the sum.
    adds_parts = part_options.parts is not None or not part_options.in_this_process
    while_adding = 3 * max(states) if adds_parts else 0
    return RunEstimate(
        unit=prepared.setting.corpus.unit,
        inputs=len(prepared.setting.corpus),
        passes=tuple(passes),
        weights=weights,
        device=prepared.setting.model.device.type,
        processes=part_options.workers if part_options.engine == "ray" else part_options.workers or 1,
        counted=n_counted,
        read=sum(estimate.inputs for estimate in passes),
        parts=len(parts),
        memory=while_reading + while_adding + sum(states),
        memory_of_worker=while_reading + max(states),
        disk=sum(estimate.disk for estimate in passes),
        disk_of_parts=sum(estimate.disk_of_parts for estimate in passes),
        follow_up_passes=sum(plan.follow_up_passes for _, _, plan in planned.plans),
    )


def _estimate_pass(corpus_pass: Pass, analyses: list[str], sizes: Sequence[int], prepared: RunSetup) -> PassEstimate:
    """Read the first inputs of a pass and the longest, and estimate what all need; ``sizes`` are those of its parts."""
    estimate = PassEstimate(
        analyses=tuple(dict.fromkeys(analyses)),
        copy=corpus_pass.copy,
        masked=corpus_pass.masking is not None,
        inputs=len(corpus_pass.inputs),
        parts=tuple(sizes),
        further_passes=sum(request.further_passes for request in corpus_pass.requests),
    )
    # A copy with random weights takes as much as the model, which is there already.
    first = replace(corpus_pass, inputs=tuple(corpus_pass.inputs[:SAMPLED]), copy=None)
    longest = replace(first, inputs=(max(corpus_pass.inputs, key=len),))
    counts, counts_of_longest = PassCounts(), PassCounts()
    for sampled_pass, its_counts in ((first, counts), (longest, counts_of_longest)):
        sampled_pass.run(prepared.setting.model, prepared.limits, its_counts, may_be_empty=True, advance=lambda _: None)
    if counts.failures:
        return replace(estimate, failure=str(next(iter(counts.failures.values()))))
    if not counts.metrics:
        raise ExtractionError(f"none of the first {len(first.inputs)} inputs could be read")
    metrics = list(counts.metrics.values())
    bytes_in_files = [packed_bytes(states) for states in counts.states().values()]

    def bytes_on_disk(n_inputs: int) -> float:  # scaled from what the counts of the first inputs take
        times = n_inputs / len(first.inputs)
        return sum(packed * _growth(metric, times) for metric, packed in zip(metrics, bytes_in_files, strict=True))

    bytes_in_memory = 0.0
    for metric in metrics:
        fixed = sum(state.nbytes for state in metric.metric_state.values() if isinstance(state, Tensor))
        bytes_in_memory += fixed + _bytes_of_lists(metric) * _growth(metric, estimate.inputs / len(first.inputs))
    return replace(
        estimate,
        maps=max(counts.map_bytes, counts_of_longest.map_bytes),
        states=round(bytes_in_memory),
        disk=round(bytes_on_disk(estimate.inputs)),
        disk_of_parts=round(sum(map(bytes_on_disk, sizes))),
    )


def _growth(metric: Metric, times: float) -> float:
    """Return the factor by which counts grow with ``times`` as many inputs: tensors stay, lists grow up to a bound."""
    of_lists = _bytes_of_lists(metric)
    return max(1.0, min(times, metric.most_bytes() / of_lists)) if of_lists else 1.0


def _bytes_of_lists(metric: Metric) -> int:
    """Return the bytes of the states that are lists of tensors, to which each batch appends."""
    lists = [state for state in metric.metric_state.values() if not isinstance(state, Tensor)]
    return sum(tensor.nbytes for tensors in lists for tensor in tensors)
