"""Progress over work that several processes share."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console

from attentionology.engine.executors import PartProgress
from attentionology.reports import progress as progress_module
from attentionology.reports.progress import Pace, progress_bar, watching_bar


def test_what_was_there_before_has_no_effect_on_the_rate():
    pace = Pace(before=9_000, done=9_300, total=10_000, seconds=30)
    assert pace.rate == pytest.approx(10)
    assert pace.remaining == timedelta(seconds=70)
    assert str(pace) == "10/s, 0:01:10 left"


def test_a_rate_that_is_not_known_is_not_shown():
    for pace in (Pace(5, 5, 10, 3), Pace(0, 0, 10, 0)):
        assert pace.remaining is None
        assert str(pace) == "-:--:-- left"


@dataclass
class Part:
    number: int
    size: int

    def __len__(self) -> int:
        return self.size


class Counter:
    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.parts = [Part(number, size) for number, size in enumerate(sizes)]
        self.written: set[int] = set()

    def has(self, part: Part) -> bool:
        return part.number in self.written


def progress(*sizes: int) -> tuple[PartProgress, Counter]:
    counter: Any = Counter(sizes)
    return PartProgress(counter), counter


def test_parts_of_all_processes_count():
    shown, counter = progress(1024, 1024, 100)
    assert (shown.total, shown.done()) == (2148, 0)
    shown.advance(40)
    shown.advance(30)
    assert shown.done() == 70
    counter.written.add(2)  # by another process
    assert shown.done() == 170
    counter.written.add(0)
    shown.finish()
    assert shown.done() == 1124
    counter.written.add(1)
    assert shown.done() == shown.total == 2148


def test_a_part_that_two_processes_count_is_not_counted_twice():
    shown, counter = progress(100, 10)
    shown.advance(90)
    counter.written |= {0, 1}
    assert shown.done() == 110


def test_the_bar_shows_what_all_have_done_with_rate_and_time(monkeypatch):
    screen, done = io.StringIO(), [100]
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    with watching_bar("count", 1000, lambda: done[0], interval=0.02, console=console):
        time.sleep(0.1)
        done[0] = 400
        time.sleep(0.4)
    text = screen.getvalue()
    assert "100/1000" in text
    assert "400/1000 sentences" in text
    assert "/s, 0:00:" in text


def test_nothing_is_measured_without_a_terminal():
    def fail() -> int:
        raise AssertionError

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=False)
    with watching_bar("count", 10, fail, interval=0.01, console=console):
        time.sleep(0.05)
    assert not screen.getvalue()


def test_a_bar_within_another_shares_its_display(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar("cells", 4, unit=""):
        outer = progress_module._shown.get()
        assert outer is not None
        with watching_bar("count", 1000, lambda: 300, interval=0.01):
            time.sleep(0.1)
            assert [(task.description, task.completed) for task in outer.tasks] == [("cells", 0), ("count", 300)]
        assert [task.description for task in outer.tasks] == ["cells"]
