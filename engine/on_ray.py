"""Counting parts on a Ray cluster.

Each actor holds the model and counts one part at a time. It returns what it has counted to the process that runs the
command, which writes the file of the part. So the folder of the parts need not be shared with the cluster; only the
corpus and the model must be readable by the same names on every node.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..analyses.contract import OptionError
from ..analyses.shared.processes import ATTEMPTS, WorkerError
from ..corpora_loaders.errors import AttentionologyError
from .parts import KEPT

if TYPE_CHECKING:
    from .executors import PartCounter, PartTask
    from .part_options import PartOptions

_ONE_MACHINE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""The environment variable that Ray reads when it is imported. With the value 0, which is Ray's default on Windows and
macOS, a cluster that is started here consists of this machine alone and listens on the loopback interface."""

_RESTARTS = 10
"""How often Ray starts an actor again whose process or node has died."""


class RayWorker:
    """Counts parts as an actor on a Ray cluster."""

    def __init__(self, task: PartTask, number: int) -> None:
        self._counter: PartCounter | None = None
        self._reason = ""
        try:
            self._counter = task.counter(number)
        except (AttentionologyError, OSError) as error:  # Ray would start the actor again and again
            self._reason = str(error) or type(error).__name__

    def content(self, number: int) -> tuple[bytes, str]:
        """Count a part, and return the content of its file and an empty string, or nothing and the reason why not."""
        if self._counter is None:
            return b"", self._reason
        try:
            return self._counter.content(self._counter.parts[number]), ""
        except (AttentionologyError, OSError) as error:
            return b"", str(error) or type(error).__name__


def count_on_ray(counter: PartCounter, numbers: Sequence[int], options: PartOptions) -> None:
    """Count parts on a Ray cluster, and write their files here.

    Ray starts an actor again, perhaps on another node, when its process or its node dies, and repeats the part that it
    was counting, a few times at most.

    Raises:
        OptionError: the cluster has none of the GPUs that the options ask for.
        WorkerError: the cluster cannot be reached, or a part cannot be counted. The parts that were counted are kept.
    """
    device = counter.task.job.device
    if device.startswith("cuda:"):
        raise OptionError(f"--engine ray chooses the GPU of each actor; give --device cuda, not {device}")
    with _connected(options.address) as ray:
        resource = "GPU" if device == "cuda" else "CPU"
        available = int(ray.cluster_resources().get(resource, 0))
        if not available:
            raise OptionError(f"the Ray cluster has no {resource} for --device {device}")
        needed = {"num_cpus": 1, "num_gpus": int(resource == "GPU")}
        kind = ray.remote(max_restarts=_RESTARTS, max_task_retries=ATTEMPTS - 1, **needed)(RayWorker)
        task = ray.put(counter.task)
        actors = [kind.remote(task, number) for number in range(min(options.workers or available, len(numbers)))]
        try:
            _count_with(ray, actors, counter, numbers)
        finally:
            for actor in actors:
                ray.kill(actor)


def _count_with(ray: Any, actors: Sequence[Any], counter: PartCounter, numbers: Sequence[int]) -> None:
    """Give each actor one part after the other. (An `ActorPool` would not say which part it is that fails.)"""
    waiting, counting = list(reversed(numbers)), dict[Any, tuple[Any, int]]()

    def next_of(actor: Any) -> None:
        if waiting:
            number = waiting.pop()
            counting[actor.content.remote(number)] = actor, number
        else:
            ray.kill(actor)  # another actor, which is to be started again, may be waiting for its CPU or GPU

    for actor in actors:
        next_of(actor)
    while counting:
        (done, *_), _ = ray.wait(list(counting))
        actor, number = counting.pop(done)
        part = counter.parts[number]
        try:
            content, reason = ray.get(done)
        except ray.exceptions.ObjectLostError:  # the node of the result died before it was fetched
            waiting.append(number)
        except ray.exceptions.RayError as error:
            raise WorkerError(f"{part} cannot be counted on the Ray cluster ({error}). {KEPT}") from error
        else:
            if reason:
                raise WorkerError(reason)
            counter.folder.write(part, content)
        next_of(actor)


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start one on this machine, during a block.

    Nothing is changed if this process is connected already. A cluster that is started here has no dashboard, sends no
    usage statistics, and listens on the loopback interface alone.

    Raises:
        WorkerError: there is no cluster at this address, or it has another version of Ray or of Python.
    """
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address == "local":
        os.environ.setdefault(_ONE_MACHINE, "0")
    import ray

    if ray.is_initialized():
        yield ray
        return
    local: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
    in_main_thread = threading.current_thread() is threading.main_thread()
    on_termination = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **local)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise WorkerError(f"cannot connect to a Ray cluster at {address}: {error}") from error
    if in_main_thread:
        signal.signal(signal.SIGTERM, on_termination)  # Ray has replaced it by one that exits at once
    try:
        yield ray
    finally:
        ray.shutdown()
