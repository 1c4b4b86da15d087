"""Counting parts in several processes on one machine.

Each process loads the model and makes the same plan, counts the parts whose numbers it is given, and writes their
files. A process that dies (it may have been killed for want of memory) breaks the pool. The pool is then made again,
twice at most, and goes on with what is missing.

The processes are not forks of this one, because torch does not survive a fork once it has computed something. On
Linux, they are forks of a server, a process that has imported the libraries and has computed nothing: the imports take
seconds, and N processes pay for them once. CUDA does not survive even that, so processes for GPUs are started anew.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from typing import Any

from attentionology.corpora_loaders.errors import AttentionologyError
from attentionology.engine.part_tasks import PartTask, WorkerError, prepared_parts
from attentionology.engine.parts import KEPT, CorpusPart, PartFolder

ATTEMPTS = 3
"""How often a pool of processes is made before the run gives up."""


class Worker:
    """Counts parts in a process of its own.

    Args:
        task: what is to be counted.
        number: the number of the process, from 0.
    """

    def __init__(self, task: PartTask, number: int) -> None:
        self.parts, self.counter = prepared_parts(task, number)

    def count(self, number: int) -> str:
        """Count a part, and return a message if that is impossible, otherwise an empty string."""
        try:
            self.counter.count(self.parts[number])
        except (AttentionologyError, OSError) as error:
            return str(error) or type(error).__name__
        return ""


_worker: Worker | str = ""  # the worker of this process, or the reason why there is none


def _start(task: PartTask, started: Any) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interruption on the terminal ends it without a traceback
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with started.get_lock():
        number = started.value
        started.value += 1
    try:
        _worker = Worker(task, number)
    except (AttentionologyError, OSError) as error:
        _worker = str(error) or type(error).__name__


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _count(number: int) -> tuple[int, str]:
    return number, _worker if isinstance(_worker, str) else _worker.count(number)


def count_with_workers(
    task: PartTask, parts: Sequence[CorpusPart], folder: PartFolder, numbers: Sequence[int], workers: int
) -> Iterator[int]:
    """Count parts in several processes, and yield the number of each part when its file is written.

    Args:
        task: what is to be counted.
        parts: all parts of the run.
        folder: the folder of the parts.
        numbers: the numbers of the parts to count.
        workers: the number of processes.

    Raises:
        WorkerError: a part cannot be counted, or processes died again and again. The parts that were counted are kept.
    """
    missing = list(numbers)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            for number in _one_pool(task, missing, min(workers, len(missing))):
                missing.remove(number)
                yield number
            return
        except BrokenProcessPool:
            written = [number for number in missing if folder.has(parts[number])]
            yield from written
            missing = [number for number in missing if number not in written]
            if not missing:
                return
            if attempt == ATTEMPTS:
                raise WorkerError(
                    f"a process that counted died {ATTEMPTS} times, perhaps because there was too little memory for "
                    f"{workers} processes. {KEPT}"
                ) from None


def _one_pool(task: PartTask, numbers: Iterable[int], workers: int) -> Iterator[int]:
    context = _context(task.options.model.device)
    started = context.Value("i", 0)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(task, started))
    try:
        for future in as_completed([pool.submit(_count, number) for number in numbers]):
            number, message = future.result()
            if message:
                raise WorkerError(message)
            yield number
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _context(device: str) -> BaseContext:
    if sys.platform != "linux" or device == "cuda":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PartTask.__module__, "transformers.modeling_utils"])
    return context
