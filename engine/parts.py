"""Counting a corpus in parts, which are kept on disk, so that a run can be resumed and shared among machines.

A part is a whole number of windows of 1,024 inputs of one pass. Inputs are batched within windows, so a part is read in
the same batches whoever counts it, and since all counts add up exactly, the results have the same bits however the
parts are distributed. Each part is one file, which is written whole or not at all, and sealed. Two processes that count
the same part write the same content, and the later file replaces the earlier one.

A pass that may fail is one part, because it reads a bounded number of inputs and its failure is a result, which is kept
like counts.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from ..analyses.shared.metric_states import NamesFiles
from ..analyses.shared.processes import WorkerError
from ..corpora_loaders import Corpus, Sentence
from ..extractors import ExtractionError
from ..extractors.maps.batching import WINDOW
from ..storage.cache_log import CacheLog
from ..storage.durable import StorageError
from ..storage.sealed import cache_name, check, write_sealed
from ..storage.tensors import read_tensors, tensor_content
from .job import Job
from .part_keys import content_of_inputs, fingerprint, pass_key
from .pass_counts import PassCounts, PassLog
from .passes import Pass
from .plain_data import plain_failure, restored_failure
from .preparing import Prepared, plan_analyses
from .readers import Readers
from .states import packed_states, unpacked_states

KEPT = "With --parts, the parts that were counted are kept, and the same command continues"
"""What messages say when a run ends before all parts are counted."""

MOST_PARTS = 64
"""The largest number of parts of a pass. A part of a large corpus has several windows, so that its counts, which take a
few megabytes, take much less space than the time to make them would suggest."""

_COUNTS = ("read", "words", "unknown_words", "substituted_words")


@dataclass(frozen=True)
class CorpusPart:
    """A part of the inputs of one pass.

    Attributes:
        run: the pass, with the inputs of this part only.
        number: the number of the pass.
        start, stop: the inputs as a half-open range of those of the pass.
    """

    run: Pass
    number: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __str__(self) -> str:
        return f"the part of {self.run.label} with the {self.run.unit} {self.start + 1:,} to {self.stop:,}"


def size_of_parts(inputs: int) -> int:
    """Return the number of inputs of each part of a pass that reads a number of inputs and must not fail."""
    return WINDOW * max(1, math.ceil(math.ceil(inputs / WINDOW) / MOST_PARTS))


def number_of_parts(inputs: int) -> int:
    """Return the number of parts of such a pass."""
    return math.ceil(inputs / size_of_parts(inputs))


def parts_of(passes: Sequence[Pass]) -> list[CorpusPart]:
    """Cut all passes into parts. A pass that may fail is one part."""
    parts = []
    for number, current in enumerate(passes):
        inputs = len(current.inputs)
        size = max(1, inputs) if current.optional else size_of_parts(inputs)
        for start in range(0, inputs, size):
            stop = min(start + size, inputs)
            parts.append(CorpusPart(current.of_inputs(start, stop), number, start, stop))
    return parts


class PartFolder:
    """The folder with the parts of runs. Parts of several runs may share a folder.

    Args:
        folder: the folder, which is created when the first part is written.
        fingerprint: the digest of everything on which counts depend, apart from the text and the requests.

    Attributes:
        cache_log: the files that were deleted because they were damaged.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder, self.fingerprint = folder, fingerprint
        self.cache_log = CacheLog()
        self._known: dict[tuple[int, int, int], tuple[Path, tuple[str, ...]]] = {}

    def path(self, part: CorpusPart) -> Path:
        """The file of a part, whether or not it exists."""
        return self._identified(part)[0]

    def _identified(self, part: CorpusPart) -> tuple[Path, tuple[str, ...]]:
        """Return the file of a part, and the paths of the corpus files that it reads."""
        identity = part.number, part.start, part.stop
        if identity not in self._known:
            content = content_of_inputs(part.run.inputs)
            name = f"{pass_key(part.run, self.fingerprint, content.digest)}.safetensors"
            self._known[identity] = self.folder / name, content.files
        return self._known[identity]

    def has(self, part: CorpusPart) -> bool:
        """Whether the file of a part exists. Its content is checked when it is read."""
        return self.path(part).is_file()

    def is_missing(self, part: CorpusPart) -> bool:
        """Whether a part has to be counted. Its file is deleted and noted if it is damaged."""
        return self.cache_log.read(self.path(part), lambda path: check(path, cache_name(path))) is None

    def content(self, part: CorpusPart, counts: PassCounts) -> bytes:
        """Return what was counted for a part as the content of its file, which is sealed when it is written."""
        tensors: dict[str, Tensor] = {}
        requests: dict[str, Any] = {}
        for name, states in counts.states().items():
            packed, requests[name] = packed_states(states, f"{name}/")
            tensors |= packed
        log = next(iter(counts.logs.values()), PassLog())
        skipped = [(skip.sentence.id, skip.sentence.file, skip.sentence.line, skip.reason) for skip in log.skipped]
        facts = {
            "requests": requests,
            "failures": {name: plain_failure(error) for name, error in counts.failures.items()},
            "log": {name: getattr(log, name) for name in _COUNTS},
            "skipped": skipped,
            "files": self._identified(part)[1],
        }
        return tensor_content(tensors, facts)

    def write(self, part: CorpusPart, content: bytes) -> None:
        """Write what was counted for a part."""
        path = self.path(part)
        try:
            write_sealed(path, content, cache_name(path))
        except StorageError as error:
            raise StorageError(f"{error}. {KEPT}", forbidden=error.forbidden) from error

    def counts_of(self, parts: Sequence[CorpusPart]) -> PassCounts:
        """Add up all parts of all passes, one part at a time."""
        counts, logs = PassCounts(), dict[int, PassLog]()
        for part in parts:
            log = logs.setdefault(part.number, PassLog())
            self._add(part, counts, log)
            counts.logs |= {request.name: log for request in part.run.requests if request.name not in counts.failures}
        for of_pass in counts.logs.values():
            if not of_pass.read:
                raise ExtractionError(f"none of the inputs could be read: {of_pass.reasons()}")
        return counts

    def _add(self, part: CorpusPart, counts: PassCounts, log: PassLog) -> None:
        """Read what was counted for a part, and add it."""
        path, files = self._identified(part)
        tensors, facts = read_tensors(path, cache_name(path))
        moved = {old: new for old, new in zip(facts["files"], files, strict=True) if old != new}
        log.add(PassLog(**facts["log"]))
        for sentence_id, file, line, reason in facts["skipped"]:
            log.skip(Sentence(sentence_id, (), file=moved.get(file, file), line=line), reason)
        counts.failures |= {name: restored_failure(*failure) for name, failure in facts["failures"].items()}
        kinds = {request.name: request.metric.metric for request in part.run.requests}
        for name, packing in facts["requests"].items():
            states = unpacked_states(tensors, packing, f"{name}/")
            metric = states.restore(kinds[name])
            if moved and isinstance(metric, NamesFiles):
                metric.rename_files(moved)
            if name in counts.metrics:
                counts.metrics[name].merge_state(metric)
            else:
                counts.metrics[name], counts.arguments[name] = metric, dict(states.arguments)


class PartCounter:
    """The parts of a run, and what counts them in this process.

    Attributes:
        folder: the folder of the parts.
        parts: the parts of all passes.
        task: what other processes need to count them.
        readers: the model and its copies.
    """

    def __init__(self, job: Job, prepared: Prepared, folder: Path, passes: Sequence[Pass] | None = None) -> None:
        self.folder = PartFolder(folder, fingerprint(prepared))
        self.parts = parts_of(plan_analyses(prepared).passes if passes is None else passes)
        self.task = PartTask(job, prepared.source, folder, self.folder.fingerprint)
        self.readers, self._limits = Readers(prepared.model, prepared.setting.seed), prepared.limits

    def content(self, part: CorpusPart, advance: Callable[[int], None] = lambda _: None) -> bytes:
        """Count a part, and return the content of its file; ``advance`` receives the number of inputs of each batch."""
        counts = PassCounts()
        part.run.run(self.readers.of(part.run.copy), self._limits, counts, may_be_empty=True, advance=advance)
        return self.folder.content(part, counts)

    def count(self, part: CorpusPart, advance: Callable[[int], None] = lambda _: None) -> None:
        """Count a part and write its file."""
        self.folder.write(part, self.content(part, advance))


@dataclass(frozen=True)
class PartTask:
    """What another process needs to count parts: it must be possible to send it there.

    Attributes:
        job: what was asked for.
        corpus: the corpus, which has been read.
        folder: the folder of the parts.
        fingerprint: the fingerprint that the process must arrive at, too.
    """

    job: Job
    corpus: Corpus
    folder: Path
    fingerprint: str

    def counter(self, number: int) -> PartCounter:
        """Prepare the run again, in the process of a number, from 0, which chooses its GPU."""
        import torch

        job = self.job
        if job.device == "cuda":
            job = job.on_device(f"cuda:{number % max(1, torch.cuda.device_count())}")
        elif job.device == "cpu":
            torch.set_num_threads(1)  # threads of several processes would wait for each other
        counter = PartCounter(job, job.prepare(corpus=self.corpus), self.folder)
        if counter.folder.fingerprint != self.fingerprint:
            raise WorkerError("the model or the toolkit has changed while the run was started; run the command again")
        return counter


def check_folder(folder: Path) -> None:
    """Create the folder of the parts, and check that files can be written to it, before anything slow happens."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error
