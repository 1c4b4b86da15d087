"""What counting in parts costs: in one process, in two, and with two actors of Ray, whose start is timed as well.

    python -m benchmarks.parts [--corpus FILE.conllu ...] [--sentences 2048] [--rounds 3]

Every contestant is a whole command in a fresh process, from the start of Python to the report, so the start of workers,
of Ray and of its actors is included. CPU time is that of the process and of all its descendants that have ended; Ray's
own processes are not among them. The commands take turns, and times are medians over rounds. Without Ray, its rows are
left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK

CONTESTANTS = {
    "one process, no parts": [],
    "one process, parts kept": ["--parts", "PARTS"],
    "two workers": ["--parts", "PARTS", "--workers", "2"],
    "two actors of Ray": ["--parts", "PARTS", "--workers", "2", "--engine", "ray"],
}
START_OF_RAY = (
    "import time; start = time.perf_counter(); import ray\n"
    "ray.init('local', include_dashboard=False, log_to_driver=False)\n"
    "actor = ray.remote(num_cpus=1)(type('Actor', (), {'answer': lambda self: 1})).remote()\n"
    "ray.get(actor.answer.remote()); print(time.perf_counter() - start)"
)


def timed(options: list[str], corpus: list[str], sentences: int) -> tuple[float, float, float]:
    """Run one command; return its wall-clock seconds, its CPU seconds, and the megabytes of its parts."""
    with tempfile.TemporaryDirectory() as folder:
        parts = Path(folder) / "parts"
        given = [str(parts) if option == "PARTS" else option for option in options]
        read = ["--corpus", *corpus, "--limit", str(sentences), "--gradients", "none"]
        start, before = time.perf_counter(), os.times()
        subprocess.run(
            [sys.executable, "-m", "attentionology.scripts.cli", "analyze", *read, *given, "--out", f"{folder}/out"],
            check=True,
            capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        seconds, after = time.perf_counter() - start, os.times()
        size = sum(path.stat().st_size for path in parts.iterdir()) if parts.exists() else 0
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, used, size / 1e6


def main() -> None:
    """Print the table, and the seconds that Ray takes to start."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", default=[SAMPLE_TREEBANK])
    parser.add_argument("--sentences", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    contestants = {name: given for name, given in CONTESTANTS.items() if "ray" not in given or find_spec("ray")}
    measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in contestants}
    for _ in range(options.rounds):
        for name, given in contestants.items():
            measured[name].append(timed(given, options.corpus, options.sentences))
    table = Table(title=f"{options.sentences} sentences at most, {options.rounds} rounds, whole commands")
    for column in ("", "wall s", "CPU s", "MB of parts"):
        table.add_column(column, justify="right" if column else "left")
    for name, rounds in measured.items():
        wall, cpu, size = (statistics.median(column) for column in zip(*rounds, strict=True))
        table.add_row(name, f"{wall:.1f}", f"{cpu:.1f}", f"{size:.1f}")
    Console(width=110).print(table)
    if find_spec("ray"):
        starts = []
        for _ in range(options.rounds):
            done = subprocess.run([sys.executable, "-c", START_OF_RAY], capture_output=True, text=True, check=True)
            starts.append(float(done.stdout.split()[-1]))
        print(f"Ray takes {statistics.median(starts):.1f} s from its import to the answer of a first, empty actor.")


if __name__ == "__main__":
    main()
