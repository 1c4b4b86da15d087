"""Counting the passes of a run: here, in several processes, or on a Ray cluster, whole or one share of its parts.

Other processes load the model and make the same plan; they are given the numbers of parts. Processes on this machine
write the files of their parts.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

from ..analyses.shared.processes import Processes, WorkerError, results_of_processes
from ..corpora_loaders import Corpus
from ..reports.progress import Stages, watching_bar
from ..storage.sealed import DamagedError
from .job import Job
from .on_ray import count_on_ray
from .part_keys import fingerprint
from .part_options import PartOptions
from .parts import KEPT, CorpusPart, PartFolder, parts_of
from .pass_counts import PassCounts
from .passes import Pass, run_passes
from .preparing import Prepared, plan_analyses
from .readers import Readers


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


class PartProgress:
    """How much of a run has been counted, by this process and by all others that count into the same folder.

    Args:
        parts: all parts of the run.
        folder: the folder of the parts.
    """

    def __init__(self, parts: Sequence[CorpusPart], folder: PartFolder) -> None:
        self._missing, self._folder = dict(enumerate(parts)), folder
        self._finished = self._unfinished = 0
        self.total = sum(len(part) for part in parts)

    def advance(self, inputs: int) -> None:
        """Add inputs of the part that this process is counting."""
        self._unfinished += inputs

    def finish(self) -> None:
        """Say that the file of the part that this process has counted is written."""
        self._unfinished = 0

    def done(self) -> int:
        """The number of inputs that have been counted."""
        unfinished = self._unfinished
        for number in [number for number, part in self._missing.items() if self._folder.has(part)]:
            self._finished += len(self._missing.pop(number))
        return min(self._finished + unfinished, self.total)


@dataclass(frozen=True)
class ShareCounts:
    """How many parts of a run there are after a share was counted.

    Attributes:
        share: the number of parts of the share.
        counted: how many of the parts of the run are in the folder.
        total: the number of all parts of the run.
        warnings: which parts were damaged and have been counted again.
    """

    share: int
    counted: int
    total: int
    warnings: tuple[str, ...] = ()

    def described(self, folder: Path | None) -> str:
        """Return a sentence that says what is in the folder of the parts, and another one if that is everything."""
        rest = " The same command without --part makes the report." if self.counted == self.total else ""
        warnings = "".join(f"Warning: {warning}\n" for warning in self.warnings)
        return f"{warnings}{self.counted:,} of {self.total:,} parts are in {folder}.{rest}"


def count_passes(
    job: Job, prepared: Prepared, options: PartOptions, stages: Stages, passes: Sequence[Pass]
) -> PassCounts:
    """Run all passes of a run, in parts if the options say so or other processes count them."""
    if options.parts is not None:
        return count_in_parts(PartCounter(job, prepared, options.parts, passes), options, stages)
    if options.in_this_process:
        return run_passes(passes, prepared.model, seed=prepared.setting.seed, limits=prepared.limits, stages=stages)
    with tempfile.TemporaryDirectory(prefix="attentionology-parts-") as folder:
        return count_in_parts(PartCounter(job, prepared, Path(folder), passes), options, stages)


def count_in_parts(counter: PartCounter, options: PartOptions, stages: Stages) -> PassCounts:
    """Count the parts of a run that are missing, and add up all parts."""
    _count_missing(counter, range(len(counter.parts)), options, stages)
    with stages("add up parts"):
        try:
            counts = counter.folder.counts_of(counter.parts)
        except (FileNotFoundError, DamagedError) as error:
            raise DamagedError(
                f"a part in {counter.folder.folder} was changed while it was used ({error}); run the command again"
            ) from error
    counts.warnings += counter.folder.cache_log.warnings()
    return counts


def count_share_of(counter: PartCounter, options: PartOptions, stages: Stages, *, offset: int = 0) -> ShareCounts:
    """Count one share of the parts of a run; `share_of` explains the offset."""
    numbers = share_of(counter.parts, options.share, offset)
    _count_missing(counter, numbers, options, stages)
    there = sum(counter.folder.has(part) for part in counter.parts)
    return ShareCounts(len(numbers), there, len(counter.parts), tuple(counter.folder.cache_log.warnings()))


def share_of(parts: Sized, share: tuple[int, int] | None, offset: int = 0) -> list[int]:
    """Return the numbers of the parts of a share (k, n), the k-th of n; of all parts if it is None.

    Runs of few parts that are shared together have different offsets, so that the first share does not count the first
    part of each.

    Example:
        >>> share_of(range(5), (1, 3)), share_of(range(5), (1, 3), offset=1)
        ([0, 3], [2])
    """
    first, step = (0, 1) if share is None else ((share[0] - 1 - offset) % share[1], share[1])
    return list(range(first, len(parts), step))


def _count_missing(counter: PartCounter, numbers: Sequence[int], options: PartOptions, stages: Stages) -> None:
    """Count those of the parts with these numbers that are missing or damaged."""
    with stages("count parts"):
        parts, folder = counter.parts, counter.folder
        missing = [number for number in numbers if folder.is_missing(parts[number])]
        if not missing:
            return
        progress = PartProgress(parts, folder)
        # One bar shows how much of all parts has been counted, by whatever process.
        with watching_bar("count", progress.total, progress.done, unit=parts[0].run.unit):
            if options.engine == "ray":
                count_on_ray(counter, missing, options)
            elif not options.in_this_process:
                count_in_processes(counter.task, missing, options.workers or 1)
            else:
                for number in missing:
                    counter.count(parts[number], progress.advance)
                    progress.finish()


def count_in_processes(task: PartTask, numbers: Sequence[int], workers: int) -> None:
    """Count parts in several processes on this machine, each of which writes the files of its parts."""
    preloaded, on_gpus = (PartTask.__module__, "transformers.modeling_utils"), task.job.device == "cuda"
    processes = Processes(workers, kept=KEPT, preloaded=preloaded, on_gpus=on_gpus)
    for _ in results_of_processes(processes, functools.partial(_counting, task), numbers):
        pass


def _counting(task: PartTask, number: int) -> Callable[[int], None]:
    """Prepare the process of a number, and return the function that counts a part by its number."""
    counter = task.counter(number)

    def count(number: int) -> None:
        if not counter.folder.has(counter.parts[number]):  # a process may have died after it had written the part
            counter.count(counter.parts[number])

    return count
