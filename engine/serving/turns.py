"""Whose turn it is: one pass at a time for each model, the newest request first, and stale ones are given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import RequestError, StaleError

T = TypeVar("T")

MOST_WAITING = 300
"""How many requests may wait for a model. Each page has two slots, so this is far above what people do."""


@dataclass(eq=False)
class _Turn:
    """A piece of work that waits for the model or is being done."""

    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    patient: bool  # whether it lets others go first


class Turns:
    """Lets one piece of work at a time use a model, in a thread of its own.

    All methods are called in the thread of the server's event loop.

    Args:
        lock: is held while work is done, where servers with event loops of their own share a model.
    """

    def __init__(self, lock: AbstractContextManager[Any] | None = None) -> None:
        self._lock = nullcontext() if lock is None else lock
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="attentionology-model")
        self._waiting: list[_Turn] = []  # the newest last
        self._latest: dict[str, _Turn] = {}  # by slot
        self._is_busy = False

    async def take(self, slot: str, work: Callable[[], T], *, patient: bool = False) -> T:
        """Return what some work gives when it is its turn.

        Args:
            slot: whose work it is. What the slot has asked for before is no longer wanted.
            work: a function that uses the model.
            patient: whether all work that is not patient goes first.

        Raises:
            StaleError: the slot has asked for something else meanwhile.
            RequestError: too many wait.
        """
        earlier = self._latest.get(slot)
        if earlier is not None and not earlier.answer.done():
            earlier.answer.set_exception(StaleError())
        self._waiting = [turn for turn in self._waiting if not turn.answer.done()]
        if len(self._waiting) >= MOST_WAITING:
            raise RequestError("Too many requests wait for this model; try again in a moment.", 429)
        turn = _Turn(work, asyncio.get_running_loop().create_future(), patient)
        self._latest[slot] = turn
        self._waiting.append(turn)
        self._begin_next()
        try:
            result: T = await turn.answer
            return result
        finally:
            if self._latest.get(slot) is turn:
                del self._latest[slot]

    def close(self) -> None:
        """Give up everything that waits. What is being done ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin_next(self) -> None:
        """Begin with the newest work that is still wanted, if the model is free."""
        wanted = [turn for turn in self._waiting if not turn.answer.done()]
        if self._is_busy or not wanted:
            return
        turn = max(reversed(wanted), key=lambda each: not each.patient)  # of equals, the first: the newest
        self._waiting = [each for each in wanted if each is not turn]
        self._is_busy = True
        done = asyncio.get_running_loop().run_in_executor(self._threads, self._do, turn.work)
        done.add_done_callback(lambda result: self._end(turn, result))

    def _do(self, work: Callable[[], T]) -> T:
        """Do work in the thread of the model."""
        with self._lock:
            return work()

    def _end(self, turn: _Turn, done: asyncio.Future[Any]) -> None:
        """Hand over what was done, if it is still wanted, and go on."""
        self._is_busy = False
        error = None if done.cancelled() else done.exception()
        if not turn.answer.done():
            if done.cancelled():
                turn.answer.cancel()
            elif error is not None:
                turn.answer.set_exception(error)
            else:
                turn.answer.set_result(done.result())
        self._begin_next()
