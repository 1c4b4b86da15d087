"""Progress bars, and the times of stages.

A command shows bars if standard error is a terminal. In Python, `showing` decides: the functions that take long have an
argument ``progress`` for it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ..storage.characters import one_line
from ..storage.messages import RUN_MESSAGES


class Advance(Protocol):
    """The signature of the function that advances a progress bar."""

    def __call__(self, done: int, remark: str = "") -> None:
        """Advance the bar by ``done`` items, and replace its remark."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f}/s")


_wanted: ContextVar[bool | None] = ContextVar("_wanted", default=None)
"""Whether bars are shown; None for a command, which shows them on a terminal."""


@contextmanager
def showing(progress: bool | None) -> Iterator[None]:
    """Show progress bars during a block or not. By default, an interactive session and a notebook show them."""
    outer = _wanted.get()
    if progress is None:
        progress = _is_session() if outer is None else outer
    token = _wanted.set(progress)
    try:
        yield
    finally:
        _wanted.reset(token)


def _is_session() -> bool:
    """Whether somebody types Python in a terminal, or a notebook runs that can show bars."""
    return Console().is_jupyter or (hasattr(sys, "ps1") and sys.stderr.isatty())


class _InCell(Progress):
    """A display of bars for a notebook without ipywidgets, in which rich shows none: a line of text for each."""

    _handle: Any = None
    _shown_at = 0.0

    def start(self) -> None:
        """Show what there is to be done below the cell."""
        from IPython.display import display

        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def stop(self) -> None:
        """Show how much was done in the end."""
        self.refresh()

    def refresh(self) -> None:
        """Show how much is done."""
        self._shown_at = time.monotonic()
        if self._handle is not None:
            self._handle.update({"text/plain": "\n".join(map(_in_words, self.tasks))}, raw=True)

    def update(self, task_id: TaskID, **values: Any) -> None:
        """Update a bar, and show it at most four times a second."""
        super().update(task_id, **values)
        if time.monotonic() - self._shown_at > 0.25:
            self.refresh()


def _in_words(task: Task) -> str:
    """Write how much of a task is done, how fast, and how long the rest will take."""
    total = "?" if task.total is None else f"{task.total:,.0f}"
    left = task.time_remaining
    rest = "" if left is None or task.finished else f", {timedelta(seconds=round(left))} left"
    return f"{task.description}: {task.completed:,.0f} of {total} {task.fields['note']}{rest}"


def _display(*columns: ProgressColumn) -> Progress:
    """Make a display of bars on standard error. Bars that are asked for are drawn where no terminal is found, too."""
    wanted = _wanted.get()
    shown = sys.stderr.isatty() if wanted is None else wanted
    console = Console(stderr=True, force_terminal=wanted or None)
    if shown and console.is_jupyter and find_spec("ipywidgets") is None:
        return _InCell(*columns, console=console, auto_refresh=False)
    return Progress(*columns, console=console, disable=not shown, transient=True)


Counted = TypeVar("Counted", bound=Sized)


def with_bar(batches: Iterator[Counted], total: int | None, progress: bool | None) -> Iterator[Counted]:
    """Yield batches of sentences with a progress bar, unless they are part of something that decides about bars."""
    is_inner = progress is None and _wanted.get() is not None
    with showing(progress):
        display = _display(*_columns(_Rate()))
    if is_inner or display.disable:
        yield from batches
        return
    # The display is held here and not in a context variable, which the caller of a generator would see.
    with display:
        task = display.add_task("maps", total=total, note="sentences")
        for batch in batches:
            yield batch
            display.update(task, advance=len(batch))


_shown: ContextVar[Progress | None] = ContextVar("_shown", default=None)
"""The display of the outermost bar, to which bars within its block are added as further lines."""


def _columns(*rate: ProgressColumn, width: int = 40) -> tuple[ProgressColumn, ...]:
    """Return the columns of a line with a bar of this width; ``rate`` is a column for the rate, if it has one."""
    return (*_bar_columns(width), *rate, TimeRemainingColumn())


def _bar_columns(width: int) -> tuple[ProgressColumn, ...]:
    """Return the columns of a description, a bar of this width, a count and a note. Names in them are no markup."""
    description, note = (TextColumn(field, markup=False) for field in ("{task.description}", "{task.fields[note]}"))
    return description, BarColumn(width), MofNCompleteColumn(), note


@contextmanager
def progress_bar(description: str, total: int, *, unit: str = "sentences", remarks: bool = False) -> Iterator[Advance]:
    """Show a progress bar during a block, which receives the function that advances the bar."""
    # The bar is written to standard error, with the remaining time and either the rate or remarks. A bar within the
    # block of another bar is shown below it, and disappears at the end of its own block.
    columns = _columns(width=8) if remarks else _columns(_Rate())
    note = "" if remarks and _shown.get() is None else unit
    display = _display(*columns)
    with _line(display, description, total, note) as (bar, task):
        yield lambda done, remark="": bar.update(task, advance=done, note=one_line(remark) or note)


@contextmanager
def _line(display: Progress, description: str, total: int, note: str) -> Iterator[tuple[Progress, TaskID]]:
    """Add a line to the display of an outer bar, or else show this display with one line."""
    outer, description = _shown.get(), one_line(description)
    if outer is not None:
        task = outer.add_task(description, total=total, note=note)
        try:
            yield outer, task
        finally:
            outer.remove_task(task)
        return
    with display:
        token = _shown.set(display)
        try:
            yield display, display.add_task(description, total=total, note=note)
        finally:
            _shown.reset(token)


@dataclass(frozen=True)
class Pace:
    """How fast work is done that several processes share, and how long the rest will take."""

    before: int  # how much had been done when this process began to watch. It has no effect on the rate
    done: int  # how much has been done by now, by all processes
    total: int  # all there is to do
    seconds: float  # how long this process has been watching

    @property
    def rate(self) -> float:
        """How much is done in a second; 0 if nothing has been done yet."""
        return (self.done - self.before) / self.seconds if self.seconds > 0 else 0.0

    @property
    def remaining(self) -> timedelta | None:
        """The time that the rest will take; None if the rate is not known yet."""
        return timedelta(seconds=round((self.total - self.done) / self.rate)) if self.rate > 0 else None

    def __str__(self) -> str:
        if self.remaining is None:
            return "-:--:-- left"
        digits = 0 if self.rate >= 10 else 1
        return f"{self.rate:,.{digits}f}/s, {self.remaining} left"


@contextmanager
def watching_bar(
    description: str, total: int, measure: Callable[[], int], *, unit: str = "sentences"
) -> Iterator[None]:
    """Show a progress bar over work that other processes may share, with the rate and the remaining time."""
    # A bar within the block of another bar is shown below it, as in `progress_bar`.
    display = _display(*_bar_columns(40))
    outer = _shown.get()
    if (display if outer is None else outer).disable:  # nothing is measured if nothing is shown
        yield
        return
    with _line(display, description, total, unit) as (bar, task), _watch(bar, task, total, measure, unit):
        yield


@contextmanager
def _watch(bar: Progress, task: TaskID, total: int, measure: Callable[[], int], unit: str) -> Iterator[None]:
    """Measure in a thread twice a second, and show how much has been done, until the block ends."""
    ended = threading.Event()

    def watch() -> None:
        before, started = measure(), time.monotonic()
        done = before
        while True:
            pace = Pace(before, done, total, time.monotonic() - started)
            bar.update(task, completed=done, note=f"{unit}, {pace}")
            if ended.wait(0.5):
                return
            done = measure()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


class Stages:
    """Measures the wall-clock time of the stages of a run."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Measure the time of a block. The times of blocks with the same name are added."""
        if name not in self.seconds:  # a stage of each fold or cell is said once
            RUN_MESSAGES.info("%s", one_line(name))
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        RUN_MESSAGES.debug("%s: %.3f s", one_line(name), seconds)
        self.add({name: seconds})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add the times of stages that were measured elsewhere, perhaps in another process."""
        for name, time_of_stage in seconds.items():
            self.seconds[name] = round(self.seconds.get(name, 0) + time_of_stage, 3)
