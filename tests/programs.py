"""Programs in processes of their own, which neither import PyTorch and other slow libraries again nor draw figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

REPOSITORY = Path(__file__).resolve().parents[1]
UNREAD = "unread"
"""In place of a file: a pipe whose reading end is closed."""

PARENT = """
import json, os, runpy, sys
import matplotlib.backends.backend_agg, matplotlib.backends.backend_svg, matplotlib.figure
import pandas, scipy.stats, sklearn.manifold, sklearn.metrics, torch, transformers
import transformers.models.bert.modeling_bert

repository = sys.argv[1]
sys.path.append(repository)
from tests import outlines, shortcuts
sys.path.remove(repository)
figures = outlines.Figures(draw=False).replaced(".svg", ".png")  # they are drawn again when it is collected
figures.__enter__()
shortcuts.take_shortcuts(outlines.pytest.MonkeyPatch())

def run(task):
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, stream in ((1, "out"), (2, "err")):
        if task[stream] == "unread":
            reading, writing = os.pipe()
            os.close(reading)
        else:
            writing = os.open(task[stream], os.O_WRONLY | os.O_CREAT)
        os.dup2(writing, descriptor)
    os.chdir(task["folder"])
    sys.path[1:1] = task["paths"]
    flag, program, *sys.argv[1:] = task["arguments"]
    if flag == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    sys.exit()

def started(task):
    child = os.fork()
    if not child:
        run(task)
    return child

def status(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

for line in sys.stdin:
    numbers = [started(item) if isinstance(item, dict) else status(item) for item in json.loads(line)]
    print(json.dumps(numbers), flush=True)
"""
"""Reads lists from the standard input, one per line. Forks a process for each task in them, and waits for each process.
Prints the list of the identifiers of the processes that were forked, and of the exit statuses of those that ended."""


class Programs:
    """A process that has imported the slow libraries, and forks a process for each program."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "COLUMNS": "100"}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.folder = folder
        self.parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(REPOSITORY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(
        self, *arguments: object, folder: Path, paths: Sequence[Path] = (), out: str = "", err: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python ARGUMENTS`` (``-m MODULE …`` or ``-c CODE …``) in a folder.

        Args:
            arguments: the words of the command line after ``python``.
            folder: the working directory.
            paths: further folders on the import path.
            out: a file in place of the standard output, or `UNREAD`.
            err: the same for the standard error.
        """
        [done] = self._ended([self._task(0, arguments, folder, paths, out, err)])
        return done

    def start(self, *arguments: object, folder: Path, paths: Sequence[Path] = ()) -> psutil.Process:
        """Start a program like `run`, and do not wait for its end."""
        [number] = self._ask([self._task(0, arguments, folder, paths)])
        return psutil.Process(number)

    def wait(self, process: psutil.Process) -> int:
        """Wait for the end of a program that was started, and return its exit status."""
        [status] = self._ask([process.pid])
        return status

    def together(self, *programs: Sequence[object], folder: Path) -> list[subprocess.CompletedProcess[str]]:
        """Run programs at the same time in the same folder."""
        return self._ended([self._task(number, words, folder) for number, words in enumerate(programs)])

    def _task(
        self,
        number: int,
        arguments: Sequence[object],
        folder: Path,
        paths: Sequence[Path] = (),
        out: str = "",
        err: str = "",
    ) -> dict[str, Any]:
        printed, errors = self.folder / f"out{number}", self.folder / f"err{number}"
        for path in (printed, errors):
            path.unlink(missing_ok=True)
        task = {"arguments": [*map(str, arguments)], "folder": str(folder), "paths": [*map(str, paths)]}
        return task | {"out": out or str(printed), "err": err or str(errors)}

    def _ask(self, items: Sequence[dict[str, Any] | int]) -> list[int]:
        assert self.parent.stdin is not None
        assert self.parent.stdout is not None
        self.parent.stdin.write(json.dumps(items) + "\n")
        self.parent.stdin.flush()
        numbers: list[int] = json.loads(self.parent.stdout.readline())
        return numbers

    def _ended(self, tasks: list[dict[str, Any]]) -> list[subprocess.CompletedProcess[str]]:
        done = []
        for task, status in zip(tasks, self._ask(self._ask(tasks)), strict=True):
            streams = [Path(task["out"]), Path(task["err"])]
            texts = [path.read_text(encoding="utf-8") if path.is_relative_to(self.folder) else "" for path in streams]
            done.append(subprocess.CompletedProcess(task["arguments"], status, *texts))
        return done

    def close(self) -> None:
        """End the process."""
        assert self.parent.stdin is not None
        self.parent.stdin.close()
        self.parent.wait(30)
