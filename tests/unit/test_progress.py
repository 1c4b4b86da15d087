"""Progress bars within each other."""

from __future__ import annotations

import io
import sys

from attentionology.reports import progress
from attentionology.reports.progress import progress_bar


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


def test_a_bar_that_is_interrupted_gives_up_the_display(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Screen())
    try:
        with progress_bar("cells", 4), progress_bar("parts", 10):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert progress._shown.get() is None
