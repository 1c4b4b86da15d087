"""Progress bars within each other."""

from __future__ import annotations

import io
import sys

import pytest

from attentionology.reports import progress
from attentionology.reports.progress import progress_bar, showing


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


def test_batches_are_counted_without_a_trace_in_the_callers_context(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    batches = progress.counted(iter([[1, 2], [3]]), 3, progress=True)
    assert next(batches) == [1, 2]
    assert (progress._wanted.get(), progress._shown.get()) == (None, None)
    assert list(batches) == [[3]]
    assert "maps" in screen.getvalue()
    with showing(True):  # a part of something larger has no bar of its own
        shown = screen.getvalue()
        assert list(progress.counted(iter([[1]]), 1, None)) == [[1]]
    assert screen.getvalue() == shown
