"""Working in several processes on one machine.

Each process prepares itself, for example by loading a model, and then works on one item after the other. A process that
dies (it may have been killed for want of memory) breaks the pool. The pool is then made again, twice at most, and goes
on with what is missing.

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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any, TypeVar

from ...corpora_loaders.errors import AttentionologyError

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3
"""How often a pool of processes is made before the run gives up."""


class WorkerError(AttentionologyError, RuntimeError):
    """A process could not do its work, or died."""


@dataclass(frozen=True)
class Processes:
    """How many processes work, and how they are started."""

    number: int
    kept: str  # a sentence without its full stop that says what is kept if the processes die again and again
    preloaded: tuple[str, ...] = ()  # the modules that are imported once for all processes
    on_gpus: bool = False  # whether they compute on GPUs

    def context(self) -> BaseContext:
        """The way in which processes are started: by a server on Linux; anew elsewhere, and for GPUs."""
        if sys.platform != "linux" or self.on_gpus:
            return multiprocessing.get_context("spawn")
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(self.preloaded))
        return context


def results_of_processes(
    processes: Processes, prepare: Callable[[int], Callable[[Item], Result]], items: Sequence[Item]
) -> Iterator[tuple[Item, Result]]:
    """Work on items in several processes, and yield each item with its result as soon as it is there."""
    # prepare: makes the function that works on an item in a process, given the number of the process.
    # If an item fails, or the generator is closed before its end, all processes are ended at once.
    missing = list(items)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            for item, result in _one_pool(processes, prepare, missing):
                missing.remove(item)
                yield item, result
            return
        except BrokenProcessPool:
            if attempt == ATTEMPTS:
                raise WorkerError(
                    f"a worker process died {ATTEMPTS} times, perhaps because there was too little memory for "
                    f"{processes.number} processes. {processes.kept}"
                ) from None


def _one_pool(
    processes: Processes, prepare: Callable[[int], Callable[[Item], Result]], items: Sequence[Item]
) -> Iterator[tuple[Item, Result]]:
    """Work on items in one pool of processes, and yield each item with its result."""
    context = processes.context()
    started = context.Value("i", 0)
    receiver, sender = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        min(processes.number, len(items)), mp_context=context, initializer=_start, initargs=(prepare, started, receiver)
    )
    try:
        for future in as_completed([pool.submit(_work, item) for item in items]):
            item, result, reason = future.result()
            if reason:
                raise WorkerError(reason)
            yield item, result
    except BaseException:
        sender.close()  # which ends all processes
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_prepared: Callable[[Any], Any] | str = ""  # what works in this process, or the reason why there is nothing


def _start(prepare: Callable[[int], Callable[[Any], Any]], started: Any, receiver: Connection) -> None:
    """Prepare this process, which is one of a pool, to work on items."""
    global _prepared
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interruption on the terminal ends it without a traceback
    threading.Thread(target=_end_with_parent, args=(receiver,), daemon=True).start()
    with started.get_lock():
        number = started.value
        started.value += 1
    try:
        _prepared = prepare(number)
    except (AttentionologyError, OSError) as error:
        _prepared = str(error) or type(error).__name__  # the reason that `_work` returns


def _end_with_parent(receiver: Connection) -> None:
    """End this process when its parent has died, or has closed the other end of the pipe."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel, receiver])
        os._exit(1)


def _work(item: Any) -> tuple[Any, Any, str]:
    """Work on an item, and return it with the result and an empty string, or with the reason why there is no result."""
    if isinstance(_prepared, str):
        return item, None, _prepared
    try:
        return item, _prepared(item), ""
    except (AttentionologyError, OSError) as error:
        return item, None, str(error) or type(error).__name__
