"""What ``--dry-run`` prints: what a run would read and need, estimated from the first inputs of each pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..analyses.shared.metric import Metric
from ..analyses.shared.metric_states import MetricStates
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

    @property
    def name(self) -> str:
        """What the pass reads for which analyses."""
        copy = "" if self.copy is None else f", random copy {self.copy + 1}"
        return ", ".join(self.analyses) + copy + (", masked" if self.masked else "")


@dataclass(frozen=True)
class RunEstimate:
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
    passes: tuple[PassEstimate, ...]
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

    def described(self) -> dict[str, Any]:
        """The estimate for JSON, with the sums over all passes."""
        sums = ("read", "parts", "memory", "memory_of_worker", "disk", "disk_of_parts")
        return {**{name: getattr(self, name) for name in sums}, **asdict(self)}

    def lines(self) -> list[str]:
        """The estimate as lines of text: one for each pass, and the sums."""
        there = "" if self.counted is None else f", of which {self.counted:,} are in the folder"
        return [
            *(_line(each, self.unit) for each in self.passes),
            f"Corpus: {self.inputs:,} {self.unit}. All passes together read {self.read:,}.",
            f"Parts: {self.parts:,}{there}",
            *memory_lines(self.memory, self.memory_of_worker, self.processes),
            f"Disk: about {size(self.disk)} in the results folder, and {size(self.disk_of_parts)} with --parts",
            *(f"Warning: {each.name} will fail: {each.failure}" for each in self.passes if each.failure),
            "Nothing was counted or written.",
        ]


def _line(each: PassEstimate, unit: str) -> str:
    needs = "" if each.failure else f", {size(each.maps + each.states)} of memory, {size(each.disk)} on disk"
    return f"Pass of {each.name}: {each.inputs:,} {unit} in {len(each.parts):,} parts{needs}"


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

    Args:
        job: the options of the run.
        part_options: how the corpus is cut into parts, and how many processes count.
        model: the model, if it has been loaded.
        corpus: the corpus, if it has been loaded.

    Raises:
        OptionError, CorpusError, ModelError, ExtractionError: the run would end with this error.

    Example:
        >>> from attentionology import CorpusOptions, OptionSet
        >>> from attentionology.engine.analyze import AnalyzeJob
        >>> from attentionology.engine.estimate import estimate_run
        >>> estimate = estimate_run(AnalyzeJob(OptionSet([CorpusOptions(limit=20)]), ("dependency",)))
        >>> estimate.inputs, estimate.parts, estimate.passes[0].analyses
        (20, 1, ('dependency',))
    """
    part_options = part_options or PartOptions()
    # A model that has been loaded serves the estimate even if the run would have workers.
    check_job(job, part_options, None, corpus)
    prepared = job.prepare(model=model, corpus=corpus)
    planned, passes = plan_analyses(prepared), list[PassEstimate]()
    parts = parts_of(planned.passes)
    for number, current in enumerate(planned.passes):
        served = [
            analysis.name
            for analysis, _, plan in planned.plans
            if any(request in current.requests for request in plan.requests)
        ]
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
    sizes = [_Size(metric, counts.states()[name], len(first.inputs)) for name, metric in counts.metrics.items()]
    return replace(
        estimate,
        maps=max(counts.map_bytes, of_longest.map_bytes),
        states=sum(each.memory(estimate.inputs) for each in sizes),
        disk=sum(each.disk(estimate.inputs) for each in sizes),
        disk_of_parts=sum(each.disk(part) for part in estimate.parts for each in sizes),
    )


@dataclass(frozen=True)
class _Size:
    """The size of what a metric counted in a few inputs. Tensors keep it; lists grow with the inputs up to a bound."""

    metric: Metric
    stored: MetricStates
    read: int

    def memory(self, inputs: int) -> int:
        fixed = sum(state.nbytes for state in self.metric.metric_state.values() if isinstance(state, Tensor))
        return round(fixed + self._growing * self._growth(inputs))

    def disk(self, inputs: int) -> int:
        return round(packed_bytes(self.stored) * self._growth(inputs))

    @property
    def _growing(self) -> int:
        lists = [state for state in self.metric.metric_state.values() if not isinstance(state, Tensor)]
        return sum(tensor.nbytes for tensors in lists for tensor in tensors)

    def _growth(self, inputs: int) -> float:
        if not self._growing:
            return 1.0
        return max(1.0, min(inputs / self.read, self.metric.most_bytes() / self._growing))
