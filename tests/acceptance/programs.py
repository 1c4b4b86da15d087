"""Programs in processes of their own, which neither import PyTorch and other slow libraries again nor draw figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
UNREAD = "unread"
"""In place of a file: a pipe whose reading end is closed."""

PARENT = """
import json, os, runpy, sys
import matplotlib.backends.backend_agg, matplotlib.backends.backend_svg, matplotlib.figure
import pandas, scipy.stats, sklearn.manifold, sklearn.metrics, torch, torchmetrics, transformers
import transformers.models.bert.modeling_bert

repository = sys.argv[1]
sys.path.append(repository)
from tests.outlines import Figures
sys.path.remove(repository)
outlines = Figures(draw=False).replaced(".svg", ".png")
outlines.__enter__()

for line in sys.stdin:
    task = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    out = task["out"]
    if out == "unread":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open(out, os.O_WRONLY | os.O_CREAT)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(writing, 1)
    os.dup2(os.open(task["err"], os.O_WRONLY | os.O_CREAT), 2)
    os.chdir(task["folder"])
    sys.path[1:1] = task["paths"]
    flag, program, *sys.argv[1:] = task["arguments"]
    if flag == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
    sys.exit()
"""
"""Forks a process for each line of standard input, and prints the exit status of each."""


class Programs:
    """A process that has imported the slow libraries, and forks a process for each program."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "COLUMNS": "100", "OMP_NUM_THREADS": "1"}
        self.folder = folder
        self.parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(REPOSITORY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(
        self, *arguments: object, folder: Path, paths: Sequence[Path] = (), out: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python ARGUMENTS`` (``-m MODULE …`` or ``-c CODE …``) in a folder.

        Args:
            arguments: the words of the command line after ``python``.
            folder: the working directory.
            paths: further folders on the import path.
            out: a file in place of the standard output, or `UNREAD`.
        """
        printed, errors = self.folder / "out", self.folder / "err"
        for path in (printed, errors):
            path.unlink(missing_ok=True)
        task = {"arguments": [*map(str, arguments)], "folder": str(folder), "paths": [*map(str, paths)]}
        task |= {"out": out or str(printed), "err": str(errors)}
        assert self.parent.stdin is not None
        assert self.parent.stdout is not None
        self.parent.stdin.write(json.dumps(task) + "\n")
        self.parent.stdin.flush()
        status = int(self.parent.stdout.readline())
        text = printed.read_text(encoding="utf-8") if not out else ""
        return subprocess.CompletedProcess(task["arguments"], status, text, errors.read_text(encoding="utf-8"))

    def close(self) -> None:
        """End the process."""
        assert self.parent.stdin is not None
        self.parent.stdin.close()
        self.parent.wait(30)
