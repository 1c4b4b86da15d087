"""Progress bars, which are shown on a terminal only, and the times of stages."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Advance(Protocol):
    """The signature of the function that advances a progress bar."""

    def __call__(self, done: int, remark: str = "") -> None:
        """Advance the bar by ``done`` items, and replace its remark."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f}/s")


_shown: ContextVar[Progress | None] = ContextVar("_shown", default=None)
"""The display of the outermost bar, to which bars within its block are added as further lines."""


@contextmanager
def progress_bar(description: str, total: int, *, unit: str = "sentences", remarks: bool = False) -> Iterator[Advance]:
    """Show a progress bar during a block, which receives the function that advances the bar.

    The bar is written to standard error, with the remaining time and either the rate or remarks. Nothing is shown if
    standard error is not a terminal. A bar within the block of another bar is shown below it, and disappears at the end
    of its own block.
    """
    outer = _shown.get()
    if outer is not None:
        task = outer.add_task(description, total=total, note=unit)
        try:
            yield lambda done, remark="": outer.update(task, advance=done, note=remark or unit)
        finally:
            outer.remove_task(task)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(8 if remarks else 40),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        *(() if remarks else (_Rate(),)),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    first = "" if remarks else unit
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(description, total=total, note=first)
        token = _shown.set(bar)
        try:
            yield lambda done, remark="": bar.update(task, advance=done, note=remark or first)
        finally:
            _shown.reset(token)


class Stages:
    """Measures the wall-clock time of the stages of a run.

    Attributes:
        started: when the measurement started, in UTC.
        seconds: the seconds of each stage, by name.
    """

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Measure the time of a block. The times of blocks with the same name are added."""
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0) + time.perf_counter() - start, 3)
