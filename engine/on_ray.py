"""Counting parts on a Ray cluster.

Each actor holds the model and counts one part at a time. It returns what it has counted to the process that runs the
command, which writes the file of the part. So the folder of the parts need not be shared with the cluster; only the
corpus and the model must be readable by the same names on every node.

Ray starts an actor again, perhaps on another node, when its process or its node dies, and repeats the part that it was
counting. An actor for which there is nothing left to do is dismissed at once, because an actor that is to be started
again may be waiting for its CPU or its GPU.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..analyses.contract import OptionError
from ..analyses.shared.processes import WorkerError
from ..corpora_loaders.errors import AttentionologyError
from .part_tasks import PartTask, prepared_parts
from .parts import CorpusPart, PartFolder

_ONE_MACHINE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""The environment variable that Ray reads when it is imported. With the value 0, which is Ray's default on Windows and
macOS, a cluster that is started here consists of this machine alone and listens on the loopback interface."""


class RayWorker:
    """Counts parts as an actor on a Ray cluster.

    Args:
        task: what is to be counted.
        number: the number of the actor, from 0.
    """

    def __init__(self, task: PartTask, number: int) -> None:
        self._reason = ""
        try:
            self._parts, self._counter = prepared_parts(task, number)
        except (AttentionologyError, OSError) as error:  # Ray would start the actor again and again
            self._reason = str(error) or type(error).__name__

    def content(self, number: int) -> tuple[bytes, str]:
        """Count a part, and return the content of its file and an empty string, or nothing and the reason why not."""
        if self._reason:
            return b"", self._reason
        try:
            return self._counter.content(self._parts[number]), ""
        except (AttentionologyError, OSError) as error:
            return b"", str(error) or type(error).__name__


def count_on_ray(
    task: PartTask,
    parts: Sequence[CorpusPart],
    folder: PartFolder,
    numbers: Sequence[int],
    workers: int | None,
    address: str | None,
) -> Iterator[int]:
    """Count parts on a Ray cluster, and yield the number of each part when its file is written.

    Args:
        task: what is to be counted.
        parts: all parts of the run.
        folder: the folder of the parts, which only this process uses.
        numbers: the numbers of the parts to count.
        workers: the number of actors; None for one on each GPU or CPU of the cluster.
        address: the address of the cluster; None for that of the environment variable ``RAY_ADDRESS``, or for a cluster
            on this machine, which ends with the run.

    Raises:
        OptionError: the cluster has none of the GPUs that the options ask for.
        WorkerError: the cluster cannot be reached, or a part cannot be counted. The parts that were counted are kept.
    """
    with _connected(address) as ray:
        device = task.job.device
        if device.startswith("cuda:"):
            raise OptionError(f"--engine ray chooses the GPU of each actor; give --device cuda, not {device}")
        resource = "GPU" if device == "cuda" else "CPU"
        available = int(ray.cluster_resources().get(resource, 0))
        if not available:
            raise OptionError(f"the Ray cluster has no {resource} for --device {device}")
        amount = {"num_cpus": 1} if resource == "CPU" else {"num_cpus": 1, "num_gpus": 1}
        kind = ray.remote(max_restarts=-1, max_task_retries=-1, **amount)(RayWorker)
        shared_task = ray.put(task)
        actors = [kind.remote(shared_task, number) for number in range(min(workers or available, len(numbers)))]
        try:
            for number, content in _counted(ray, actors, numbers):
                folder.write(parts[number], content)
                yield number
        finally:
            for actor in actors:
                ray.kill(actor)


def _counted(ray: Any, actors: Sequence[Any], numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Give each actor one part after the other, and yield the numbers of the parts with the content of their files.

    Raises:
        WorkerError: a part cannot be counted.
    """
    waiting = list(reversed(numbers))
    busy: dict[Any, tuple[Any, int]] = {}
    idle = list(actors)
    while waiting or busy:
        while waiting and idle:
            actor, number = idle.pop(), waiting.pop()
            busy[actor.content.remote(number)] = actor, number
        while idle:
            ray.kill(idle.pop())
        (done, *_), _ = ray.wait(list(busy))
        actor, number = busy.pop(done)
        try:
            content, reason = ray.get(done)
        except (ray.exceptions.ObjectLostError, ray.exceptions.ActorUnavailableError):  # its node died afterwards
            waiting.append(number)
            idle.append(actor)
            continue
        except ray.exceptions.RayError as error:
            raise WorkerError(f"an actor on the Ray cluster failed: {error}") from error
        if reason:
            raise WorkerError(reason)
        idle.append(actor)
        yield number, content


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
