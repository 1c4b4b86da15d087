"""Progress bars within each other, and over work that several processes share."""

from __future__ import annotations

import io
import logging
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from attentionology.engine.counting.executors import PartProgress
from attentionology.engine.counting.passes import run_passes
from attentionology.reports import progress
from attentionology.reports.progress import Pace, Stages, progress_bar, showing
from attentionology.storage.messages import RUN_MESSAGES


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_within_another_shares_its_display(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Screen())
    with progress_bar("cells", 4, unit="") as advance:
        outer = progress._shown.get()
        assert outer is not None
        with progress_bar("parts", 10, unit="inputs") as advance_inner:
            assert progress._shown.get() is outer
            advance_inner(7)
            assert [(task.description, task.completed, task.total) for task in outer.tasks] == [
                ("cells", 0, 4),
                ("parts", 7, 10),
            ]
            assert outer.tasks[1].fields["note"] == "inputs"
            advance_inner(1, "loss 0.5")
            assert outer.tasks[1].fields["note"] == "loss 0.5"
        assert [task.description for task in outer.tasks] == ["cells"]
        advance(4)
    assert progress._shown.get() is None


@pytest.mark.parametrize("progress", [True, False])
def test_python_says_whether_bars_are_shown(progress, monkeypatch):
    screen = io.StringIO()  # no terminal
    monkeypatch.setattr(sys, "stderr", screen)
    with showing(progress), progress_bar("cells", 4) as advance:
        advance(1)
    assert ("cells" in screen.getvalue()) is progress


@pytest.mark.parametrize(("typed", "terminal"), [(True, True), (True, False), (False, True)])
def test_by_default_a_session_shows_bars_and_a_script_does_not(typed, terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Screen() if terminal else io.StringIO())
    if typed:
        monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with showing(None):
        assert progress._wanted.get() is (typed and terminal)
        with showing(True):
            assert progress._wanted.get() is True
    with showing(False), showing(None):  # what runs within a function obeys its argument
        assert progress._wanted.get() is False


def test_a_rate_that_is_not_known_is_not_shown():
    for pace in (Pace(5, 5, 10, 3), Pace(0, 0, 10, 0)):
        assert pace.remaining is None
        assert str(pace) == "-:--:-- left"


def test_a_pace_is_what_this_process_has_seen():
    pace = Pace(before=10, done=30, total=100, seconds=4)
    assert str(pace) == "5.0/s, 0:00:14 left"
    assert str(Pace(0, 40, 100, 4)) == "10/s, 0:00:06 left"


def test_a_stage_is_logged_once_and_each_time_of_it():
    said = []

    class Keep(logging.Handler):
        def emit(self, record):
            said.append((record.name, record.levelname, record.getMessage()))

    handler = Keep()
    RUN_MESSAGES.addHandler(handler)
    RUN_MESSAGES.setLevel(logging.DEBUG)
    stages = Stages()
    try:
        for _ in range(2):
            with stages("model \x1b[31m"):
                pass
    finally:
        RUN_MESSAGES.removeHandler(handler)
        RUN_MESSAGES.setLevel(logging.NOTSET)
    assert [line[:2] for line in said] == [("attentionology.run", level) for level in ("INFO", "DEBUG", "DEBUG")]
    assert said[0][2] == "model \\u001b[31m"
    assert re.fullmatch(r"model \\u001b\[31m: 0\.\d{3} s", said[1][2])


def test_times_of_stages_are_added(monkeypatch):
    monkeypatch.setattr("time.perf_counter", iter([1.0, 3.5, 10.0, 10.25]).__next__)
    stages = Stages()
    for _ in range(2):
        with stages("model"):
            pass
    stages.add({"model": 0.125, "maps": 4.0})
    stages.add({"maps": 1.5})
    assert stages.seconds == {"model": 2.875, "maps": 5.5}


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


def of_parts(*sizes: int) -> tuple[PartProgress, Counter]:
    counter: Any = Counter(sizes)
    return PartProgress(counter), counter


def test_parts_of_all_processes_count():
    shown, counter = of_parts(1024, 1024, 100)
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
    shown, counter = of_parts(100, 10)
    shown.advance(90)
    counter.written |= {0, 1}
    assert shown.done() == 110


def test_one_bar_is_over_all_passes_of_a_run(monkeypatch):
    """It says which pass is at hand, and inputs that a pass skips count as done."""
    shown: list[Any] = []

    class Read:
        def __init__(self, label: str, size: int, read: int) -> None:
            self.label, self.inputs, self.read, self.unit, self.copy = label, range(size), read, "sentences", None

        def run(self, model, limits, counts, *, advance=None):
            assert (advance is None) == (len(shown) == 0)
            if advance:
                advance(self.read)

    @contextmanager
    def bar(label, total, *, unit):
        shown.append((label, total, unit))
        yield lambda done, remark="": shown.append((done, remark))

    monkeypatch.setattr("attentionology.engine.counting.passes.progress_bar", bar)
    model: Any = SimpleNamespace()
    passes: Any = [Read("dependency", 10, 8), Read("control", 5, 5)]
    run_passes(passes, model)
    first, second = "sentences, pass 1 of 2, dependency", "sentences, pass 2 of 2, control"
    assert shown == [
        ("count", 15, "sentences"), (0, first), (8, first), (2, first), (0, second), (5, second), (0, second),
    ]  # fmt: skip
    shown.clear()
    run_passes(passes[:1], model)
    assert shown == []


def test_a_notebook_without_widgets_shows_a_line_of_text(monkeypatch):
    texts: list[str] = []
    handle = SimpleNamespace(update=lambda data, raw: texts.append(data["text/plain"]))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=lambda *_, **__: handle))
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with showing(None), progress_bar("count", 2000) as advance:
        advance(1500, "sentences, pass 2 of 3")
    assert texts[0].startswith("count: 0 of 2,000 sentences")
    assert texts[-1].startswith("count: 1,500 of 2,000 sentences, pass 2 of 3")
