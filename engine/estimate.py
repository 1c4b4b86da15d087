"""What ``--dry-run`` prints: what a run would read and need, estimated from the first inputs of each pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..analyses.shared.metric import Metric
from ..corpora_loaders import Corpus
from ..extractors import ExtractionError
from ..storage.durable import size
from .execution import check_job
from .job import Job
from .memory import LIBRARIES, available_memory
from .part_keys import fingerprint
from .part_options import PartOptions
from .parts import PartFolder, parts_of
from .pass_counts import Limits, PassCounts
from .passes import Pass
from .preparing import plan_analyses
from .states import packed_bytes

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

    @property
    def name(self) -> str:
        """What the pass reads for which analyses."""
        copy = "" if self.copy is None else f", random copy {self.copy + 1}"
        return ", ".join(self.analyses) + copy + (", masked" if self.masked else "")

    def line(self, unit: str) -> str:
        """The estimate as a line of text."""
        needs = "" if self.failure else f", {size(self.maps + self.states)} of memory, {size(self.disk)} on disk"
        return f"Pass of {self.name}: {self.inputs:,} {unit} in {len(self.parts):,} parts{needs}"


@dataclass(frozen=True)
class RunEstimate:
    """The inputs that a run would read, and the bytes that it would need."""

    unit: str  # what the inputs are, for example "sentences"
    inputs: int
    passes: tuple[PassEstimate, ...]
    weights: int  # the bytes of the weights of the model
    processes: int | None = 1  # how many processes count; None if the cluster decides
    counted: int | None = None  # how many of the parts are in the folder of the parts, if there is one
    in_parts: bool = False  # whether the parts are counted into files, which are added up afterwards

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

    def described(self) -> dict[str, Any]:
        """The estimate for JSON, with the sums over all passes."""
        sums = ("read", "parts", "memory", "memory_of_worker", "disk", "disk_of_parts")
        return {**{name: getattr(self, name) for name in sums}, **asdict(self)}

    def lines(self) -> list[str]:
        """The estimate as lines of text: one for each pass, and the sums."""
        there = "" if self.counted is None else f", of which {self.counted:,} are in the folder"
        return [
            *(each.line(self.unit) for each in self.passes),
            f"Corpus: {self.inputs:,} {self.unit}. All passes together read {self.read:,}.",
            f"Parts: {self.parts:,}{there}",
            *memory_lines(self.memory, self.memory_of_worker, self.processes),
            f"Disk: about {size(self.disk)} in the results folder, and {size(self.disk_of_parts)} with --parts",
            *(f"Warning: {each.name} will fail: {each.failure}" for each in self.passes if each.failure),
            "Nothing was counted or written.",
        ]


def memory_lines(memory: int, memory_of_worker: int, processes: int | None) -> Iterator[str]:
    """Yield what a dry run says of memory."""
    available, libraries = available_memory(), f"of which {size(LIBRARIES)} are for the libraries"
    known = "" if available is None else f"; {size(available)} are available here"
    yield f"Memory: about {size(memory)}, {libraries}{known}"
    if processes != 1:
        workers = "each worker" if processes is None else f"each of {processes:,} workers"
        yield f"Memory of {workers}: about {size(memory_of_worker)}, {libraries}"


def estimate_run(
    job: Job,
    part_options: PartOptions | None = None,
    *,
    model: LoadedModel | None = None,
    corpus: Corpus | None = None,
) -> RunEstimate:
    """Check everything that a run checks before it counts, and estimate what it needs.

    The corpus is read, the model is loaded, and all analyses make their plans. Then each pass reads its first inputs
    and the longest.
    """
    part_options = part_options or PartOptions()
    # A model that has been loaded serves the estimate even if the run would have workers.
    check_job(job, part_options, None, corpus)
    prepared = job.prepare(model=model, corpus=corpus)
    planned = plan_analyses(prepared)
    parts = parts_of(planned.passes)
    passes = []
    for number, current in enumerate(planned.passes):
        served = (
            analysis.name
            for analysis, _, plan in planned.plans
            if any(request in current.requests for request in plan.requests)
        )
        estimate = PassEstimate(
            analyses=tuple(dict.fromkeys(served)),
            copy=current.copy,
            masked=current.masking is not None,
            inputs=len(current.inputs),
            parts=tuple(len(part) for part in parts if part.number == number),
        )
        passes.append(_with_sizes(estimate, current, prepared.model, prepared.limits))
    counted = None
    if part_options.parts is not None:
        folder = PartFolder(part_options.parts, fingerprint(prepared))
        counted = sum(folder.has(part) for part in parts)
    return RunEstimate(
        unit=prepared.setting.corpus.unit,
        inputs=len(prepared.setting.corpus),
        passes=tuple(passes),
        weights=sum(parameter.nbytes for parameter in prepared.model.model.parameters()),
        processes=part_options.workers if part_options.engine == "ray" else part_options.workers or 1,
        counted=counted,
        in_parts=part_options.parts is not None or not part_options.in_this_process,
    )


def _with_sizes(estimate: PassEstimate, current: Pass, model: LoadedModel, limits: Limits) -> PassEstimate:
    """Read the first inputs of a pass and the longest, and add the sizes of maps and counts to its estimate."""
    # A copy with random weights takes as much as the model, which is there already.
    first = replace(current, inputs=tuple(current.inputs[:SAMPLED]), copy=None)
    longest = replace(first, inputs=(max(current.inputs, key=len),))
    counts, of_longest = PassCounts(), PassCounts()
    for few, counted in ((first, counts), (longest, of_longest)):
        few.run(model, limits, counted, may_be_empty=True, advance=lambda _: None)
    if counts.failures:
        return replace(estimate, failure=str(next(iter(counts.failures.values()))))
    if not counts.metrics:
        raise ExtractionError(f"none of the first {len(first.inputs)} inputs could be read")
    read, metrics = len(first.inputs), counts.metrics.values()
    packed = [packed_bytes(states) for states in counts.states().values()]

    def on_disk(inputs: int) -> float:
        return sum(n_bytes * _growth(metric, inputs / read) for n_bytes, metric in zip(packed, metrics, strict=True))

    return replace(
        estimate,
        maps=max(counts.map_bytes, of_longest.map_bytes),
        states=round(sum(_in_memory(metric, estimate.inputs / read) for metric in metrics)),
        disk=round(on_disk(estimate.inputs)),
        disk_of_parts=round(sum(map(on_disk, estimate.parts))),
    )


def _growth(metric: Metric, times: float) -> float:
    """Return how many times larger counts get with more inputs: tensors stay, and lists grow up to a bound."""
    listed = _bytes_of_lists(metric)
    return max(1.0, min(times, metric.most_bytes() / listed)) if listed else 1.0


def _in_memory(metric: Metric, times: float) -> float:
    fixed = sum(state.nbytes for state in metric.metric_state.values() if isinstance(state, Tensor))
    return fixed + _bytes_of_lists(metric) * _growth(metric, times)


def _bytes_of_lists(metric: Metric) -> int:
    lists = [state for state in metric.metric_state.values() if not isinstance(state, Tensor)]
    return sum(tensor.nbytes for tensors in lists for tensor in tensors)
