"""Progress for people: bars on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
    """Moves a bar on."""

    def __call__(self, done: int, remark: str = "") -> None:
        """So many more are done."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f}/s")


@contextmanager
def progress_bar(description: str, total: int, *, unit: str = "sentences", remarks: bool = False) -> Iterator[Advance]:
    """A bar on standard error, with rate (or remarks) and time left; yields the function that moves it on.

    Nothing is shown where standard error is not a terminal.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(8 if remarks else 40),
        MofNCompleteColumn(),
        *((TextColumn("{task.fields[remark]}"),) if remarks else (TextColumn(unit), _Rate())),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(description, total=total, remark="")
        yield lambda done, remark="": bar.update(task, advance=done, remark=remark)


class Stages:
    """Wall-clock seconds per named stage."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time a block; the same name adds up."""
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0) + time.perf_counter() - start, 3)
