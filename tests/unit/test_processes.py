"""Working in several processes: every item is worked on, whatever dies, and errors say what is wrong."""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from attentionology.analyses.shared.processes import ATTEMPTS, Processes, WorkerError, results_of_processes
from attentionology.corpora_loaders.errors import CorpusError

TWO = Processes(2, kept="The squares are kept")


def prepare(folder: Path, number: int) -> Callable[[int], tuple[int, int]]:
    """Work that leaves a file for each item, and does what special items ask for."""
    if (folder / "no model").exists():
        raise CorpusError("there is no model")

    def square(item: int) -> tuple[int, int]:
        if item == -1:
            raise CorpusError("it is negative", file="numbers.txt", line=3)
        if item == -2 and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if item == -3:
            os._exit(7)
        if item == 60:
            time.sleep(60)
        (folder / f"{item}-{os.getpid()}").touch()
        return number, item**2

    return square


def results(folder: Path, items: list[int], processes: Processes = TWO) -> dict[int, tuple[int, int]]:
    return dict(results_of_processes(processes, functools.partial(prepare, folder), items))


def test_every_item_is_worked_on_once(tmp_path):
    squares = results(tmp_path, list(range(20)))
    assert {item: square for item, (_, square) in squares.items()} == {item: item**2 for item in range(20)}
    assert {number for number, _ in squares.values()} <= {0, 1}
    names = [path.name.split("-") for path in tmp_path.iterdir()]
    assert sorted(int(item) for item, _ in names) == list(range(20))
    assert os.getpid() not in {int(process) for _, process in names}


def test_there_are_never_more_processes_than_items(tmp_path):
    assert results(tmp_path, [3], Processes(5, kept="")) == {3: (0, 9)}


def test_a_process_that_dies_is_replaced(tmp_path):
    assert {item: square for item, (_, square) in results(tmp_path, [-2, 5, 6]).items()} == {-2: 4, 5: 25, 6: 36}


def test_processes_that_die_again_and_again_are_an_error(tmp_path):
    with pytest.raises(WorkerError) as error:
        results(tmp_path, [-3])
    assert str(error.value) == (
        f"a worker process died {ATTEMPTS} times, perhaps because there was too little memory for 2 processes. "
        "The squares are kept"
    )


def test_an_item_that_fails_ends_all_processes_at_once(tmp_path):
    start = time.monotonic()
    with pytest.raises(WorkerError, match=r"^numbers\.txt:3: it is negative$"):
        results(tmp_path, [60, 1, -1])
    assert time.monotonic() - start < 30


def test_a_process_that_cannot_be_prepared_says_why(tmp_path):
    (tmp_path / "no model").touch()
    with pytest.raises(WorkerError, match="there is no model"):
        results(tmp_path, [1, 2])
