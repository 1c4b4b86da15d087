"""Counting the passes of a run: here, in several processes, or on a Ray cluster, whole or one share of its parts.

Other processes load the model and make the same plan; they are given the numbers of parts. Processes on this machine
write the files of their parts. Actors on a Ray cluster return what they have counted to the process that runs the
command, which writes the files. So the folder of the parts need not be shared with the cluster; only the corpus and the
model must be readable by the same names on every node.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...analyses.contract import OptionError
from ...analyses.shared.part_options import WHAT_IS_KEPT, PartOptions
from ...analyses.shared.processes import ATTEMPTS, Processes, WorkerError, results_of_processes
from ...corpora_loaders import Corpus
from ...corpora_loaders.errors import AttentionologyError
from ...reports.progress import Stages, watching_bar
from ...storage.sealed import DamagedError
from ...storage.writing import amount
from .job import Job, RunSetup
from .parts import PartCounter
from .passes import Pass, PassCounts, run_passes

_ONE_MACHINE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""The environment variable that Ray reads when it is imported. With the value 0, which is Ray's default on Windows and
macOS, a cluster that is started here consists of this machine alone and listens on the loopback interface."""


class PartProgress:
    """How much of a run has been counted, by this process and by all others that count into the same folder."""

    def __init__(self, counter: PartCounter) -> None:
        self._parts, self._has = counter.parts, counter.has
        self._unfinished = 0  # the inputs counted of the part whose file is not written yet
        self.total = sum(map(len, counter.parts))  # the number of inputs of all parts

    def advance(self, n_inputs: int) -> None:
        """Add inputs of the part that this process is counting."""
        self._unfinished += n_inputs

    def finish(self) -> None:
        """Say that the file of the part that this process has counted is written."""
        self._unfinished = 0

    def done(self) -> int:
        """The number of inputs that have been counted."""
        unfinished = self._unfinished  # before the files are looked for, so that no part is counted twice
        return min(sum(len(part) for part in self._parts if self._has(part)) + unfinished, self.total)


@dataclass(frozen=True)
class ShareCounts:
    """How many parts of a run there are after a share was counted."""

    share: int  # the number of parts of the share
    counted: int  # how many of the parts of the run are in the folder
    total: int  # the number of all parts of the run
    warnings: tuple[str, ...] = ()  # which parts were damaged and have been counted again

    def lines(self, folder: Path | None) -> list[str]:
        """Return the warnings, and a line that says what is in the folder of the parts and if that is everything."""
        rest = " The same command without --part makes the report." if self.counted == self.total else ""
        warnings = [f"Warning: {warning}" for warning in self.warnings]
        verb = "is" if self.counted == 1 else "are"
        return [*warnings, f"{self.counted:,} of {amount(self.total, 'parts')} {verb} in {folder}.{rest}"]


@dataclass(frozen=True)
class PartTask:
    """What another process needs to count the parts of a run. It can be sent there."""

    job: Job
    corpus: Corpus  # as it was read
    folder: Path
    fingerprint: str  # which the process must arrive at, too

    @classmethod
    def of(cls, counter: PartCounter) -> PartTask:
        """Return the task of counting the same parts."""
        return cls(counter.job, counter.corpus, counter.folder, counter.fingerprint)

    def prepare(self, process: int) -> PartCounter:
        """Prepare the run in another process, and return its counter. The process, counted from 0, chooses the GPU."""
        import torch

        job = self.job
        if job.model.device == "cuda":
            job = job.on_device(f"cuda:{process % max(1, torch.cuda.device_count())}")
        elif job.model.device == "cpu":
            torch.set_num_threads(1)  # threads of several processes would wait for each other
        # A prepared run has the model in it, which is large. So every process loads it, and makes the same plan.
        counter = PartCounter(job, job.prepare(corpus=self.corpus), self.folder)
        if counter.fingerprint != self.fingerprint:
            raise WorkerError("the model or the toolkit has changed while the run was started; run the command again")
        return counter

    def count_function(self, process: int) -> Callable[[int], None]:
        """Prepare the run again, and return the function that counts a part by its number."""
        counter = self.prepare(process)

        def count(number: int) -> None:
            part = counter.parts[number]
            if not counter.has(part):  # a process may have died after it had written the part
                counter.count(part)

        return count


def count_passes(
    job: Job, prepared: RunSetup, options: PartOptions, stages: Stages, passes: Sequence[Pass]
) -> PassCounts:
    """Run all passes of a run, in parts if the options say so or other processes count them."""
    if options.parts is None and options.in_this_process:
        return run_passes(
            passes, prepared.setting.model, seed=prepared.setting.seed, limits=prepared.limits, stages=stages
        )
    folder_of_parts: AbstractContextManager[str | Path]
    if options.parts is None:
        folder_of_parts = tempfile.TemporaryDirectory(prefix="attentionology-parts-")
    else:
        folder_of_parts = nullcontext(options.parts)
    with folder_of_parts as folder:
        counter = PartCounter(job, prepared, Path(folder), passes)
        count_missing(counter, range(len(counter.parts)), options, stages)
        with stages("add up parts"):
            try:
                counts = counter.counts_of(counter.parts)
            except (FileNotFoundError, DamagedError) as error:
                raise DamagedError(
                    f"a part in {folder} was changed while it was used ({error}); run the command again"
                ) from error
    counts.warnings += counter.cache_log.warnings()
    return counts


def count_missing(counter: PartCounter, numbers: Sequence[int], options: PartOptions, stages: Stages) -> None:
    """Count the parts with these numbers, unless their files are there and undamaged."""
    with stages("count parts"):
        missing = [number for number in numbers if counter.is_missing(counter.parts[number])]
        if not missing:
            return
        progress = PartProgress(counter)
        # One bar shows how much of all parts has been counted, by whatever process.
        with watching_bar("count", progress.total, progress.done, unit=counter.parts[0].run.unit):
            if options.engine == "ray":
                count_on_ray(counter, missing, options)
            elif not options.in_this_process:
                _count_in_processes(PartTask.of(counter), missing, options.workers or 1)
            else:
                for number in missing:
                    counter.count(counter.parts[number], progress.advance)
                    progress.finish()


def _count_in_processes(task: PartTask, numbers: Sequence[int], n_workers: int) -> None:
    """Count the parts with these numbers in processes on this machine, which write the files."""
    slow_to_import = (__name__, "transformers.modeling_utils")
    on_gpus = task.job.model.device == "cuda"
    processes = Processes(n_workers, kept=WHAT_IS_KEPT, preloaded=slow_to_import, on_gpus=on_gpus)
    for _ in results_of_processes(processes, task.count_function, numbers):
        pass  # each process has written the file


class RayWorker:
    """Counts parts as an actor on a Ray cluster."""

    def __init__(self, task: PartTask, process: int) -> None:
        self._counter: PartCounter | None = None
        self._why_not_prepared = ""
        try:
            self._counter = task.prepare(process)
        except (AttentionologyError, OSError) as error:  # if it were raised, Ray would start the actor again and again
            self._why_not_prepared = str(error) or type(error).__name__

    def content(self, number: int) -> tuple[bytes, str]:
        """Count a part, and return the content of its file and an empty string, or nothing and the reason why not."""
        if self._counter is None:
            return b"", self._why_not_prepared
        try:
            return self._counter.content(self._counter.parts[number]), ""
        except (AttentionologyError, OSError) as error:
            return b"", str(error) or type(error).__name__


def count_on_ray(counter: PartCounter, numbers: Sequence[int], options: PartOptions) -> None:
    """Count parts on a Ray cluster, and write their files here.

    Ray starts an actor again, perhaps on another node, when its process or its node dies, and repeats the part that it
    was counting, a few times at most.
    """
    device = counter.job.model.device
    if device.startswith("cuda:"):
        raise OptionError(f"--engine ray chooses the GPU of each actor; give --device cuda, not {device}")
    with _connection(options.address) as ray:
        resource = "GPU" if device == "cuda" else "CPU"
        available = int(ray.cluster_resources().get(resource, 0))
        if not available:
            raise OptionError(f"the Ray cluster has no {resource} for --device {device}")
        of_each_actor = {"num_cpus": 1, "num_gpus": int(resource == "GPU")}
        # Ray counts how often a task is repeated, `ATTEMPTS` how often it is tried. Restarts are many, because an actor
        # that counts many parts may lose its node more than once, but they must end.
        actor_class = ray.remote(max_restarts=10, max_task_retries=ATTEMPTS - 1, **of_each_actor)(RayWorker)
        task = ray.put(PartTask.of(counter))
        workers = min(options.workers or available, len(numbers))
        actors = [actor_class.remote(task, process) for process in range(workers)]
        try:
            _count_with(ray, actors, counter, numbers)
        finally:
            for actor in actors:
                ray.kill(actor)


def _count_with(ray: Any, actors: Sequence[Any], counter: PartCounter, numbers: Sequence[int]) -> None:
    """Give each actor one part after the other. (An `ActorPool` would not say which part it is that fails.)"""
    waiting = list(reversed(numbers))  # the numbers of parts, the next one last
    counting: dict[Any, tuple[Any, int]] = {}  # for each result that Ray has promised: the actor and the part

    def start_next(actor: Any) -> None:
        if waiting:
            number = waiting.pop()
            counting[actor.content.remote(number)] = actor, number
        else:
            ray.kill(actor)  # another actor, which is to be started again, may be waiting for its CPU or GPU

    for actor in actors:
        start_next(actor)
    while counting:
        (done, *_), _ = ray.wait(list(counting))
        actor, number = counting.pop(done)
        part = counter.parts[number]
        try:
            content, why_not_counted = ray.get(done)
        except ray.exceptions.ObjectLostError:  # the node of the result died before it was fetched
            waiting.append(number)
        except ray.exceptions.RayError as error:
            raise WorkerError(f"{part} cannot be counted on the Ray cluster ({error}). {WHAT_IS_KEPT}") from error
        else:
            if why_not_counted:
                raise WorkerError(why_not_counted)
            counter.write(part, content)
        start_next(actor)


@contextmanager
def _connection(address: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start one on this machine, during a block.

    Nothing is changed if this process is connected already. A cluster that is started here has no dashboard, sends no
    usage statistics, and listens on the loopback interface alone.
    """
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    options_of_new_cluster: dict[str, Any] = {}
    if address == "local":
        options_of_new_cluster["include_dashboard"] = False
        os.environ.setdefault(_ONE_MACHINE, "0")  # before Ray is imported, which reads it
    import ray

    if ray.is_initialized():
        yield ray
        return
    our_handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **options_of_new_cluster)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise WorkerError(f"cannot connect to a Ray cluster at {address}: {error}") from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, our_handler)  # Ray has replaced it by one that exits at once
    try:
        yield ray
    finally:
        ray.shutdown()
