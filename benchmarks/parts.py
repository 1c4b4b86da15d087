"""What counting in parts costs, and what is done with counts: everything that a run of several processes is made of.

    python -m benchmarks.parts [--corpus FILE.conllu ...] [--sentences 2048] [--rounds 3] [--memory 12000 200000]

The corpus is repeated under new ids until it has enough sentences; 1,024 of them are a part. Every contestant is a
whole command in a fresh process, from the start of Python to the report, so the start of workers, of Ray and of its
actors is included. CPU time is that of the process and of its descendants, but not that of Ray's processes and actors;
that of workers is included on Linux alone. The commands take turns, and times are medians over rounds. Without Ray, its
rows are left out. A command that prints the version shows how long Python and the command line take to start.

``--memory`` measures the peak memory of runs over this many sentences as well, which takes long for 200,000 of them;
see `benchmarks.corpus`, which can measure less. With ``--rounds 0``, nothing else is measured.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors.model.named import load_encoder
from benchmarks.corpus import measure_memory, write_repeated
from benchmarks.dependency import forward_only
from benchmarks.engine import padding_and_operations
from benchmarks.measuring import take_turns

RUNS = {
    "analyze, one process, no parts": [],
    "analyze, one process, parts kept": ["--parts", "PARTS"],
    "analyze, two workers": ["--parts", "PARTS", "--workers", "2"],
    "analyze, two actors of Ray": ["--parts", "PARTS", "--workers", "2", "--engine", "ray"],
}
START_OF_RAY = (
    "import time; start = time.perf_counter(); import ray\n"
    "ray.init('local', include_dashboard=False, log_to_driver=False)\n"
    "actor = ray.remote(num_cpus=1)(type('Actor', (), {'answer': lambda self: 1})).remote()\n"
    "ray.get(actor.answer.remote()); print(time.perf_counter() - start)"
)
FORWARD_SENTENCES = 300
_PR_SET_CHILD_SUBREAPER = 36  # of sys/prctl.h

Times = tuple[float, float]
"""Wall-clock seconds and CPU seconds."""


def timed(arguments: Sequence[object]) -> Times:
    """Run the command line in a fresh process with one thread."""
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-m", "attentionology", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    elapsed = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stderr}")
    wait_for_adopted()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return elapsed, used


def adopt_orphans() -> None:
    """Let descendants whose parents have ended become children of this process, so that their CPU time is counted.

    Workers are children of a server, which ends a moment after the command that has started it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_adopted() -> None:
    """Wait until all children of this process have ended."""
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def size_of(folder: Path) -> float:
    """Return the megabytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def one_round(runs: dict[str, list[str]], halves: tuple[Path, Path], corpus: Path) -> dict[str, tuple[Times, float]]:
    """Run all commands once.

    Args:
        runs: the options of the runs by their names.
        halves: the runs over the halves of the corpus, which are merged and compared.
        corpus: the corpus.

    Returns:
        the times of each command, and the megabytes of the parts or of the counts that it has written.
    """
    measured = {"attentionology --version": (timed(["--version"]), 0.0)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (run, options) in enumerate(runs.items()):
            parts, out = folder / f"parts-{number}", folder / f"out-{number}"
            given = [str(parts) if option == "PARTS" else option for option in options]
            times = timed(["analyze", "--corpus", corpus, "--gradients", "none", *given, "--out", out])
            measured[run] = times, size_of(parts if parts.exists() else out / "states")
        measured["report"] = timed(["report", folder / "out-0"]), 0.0
        merged = folder / "merged"
        measured["merge"] = timed(["merge", *halves, "--out", merged]), size_of(merged / "states")
        measured["compare"] = timed(["compare", *halves, "--out", folder / "compared"]), 0.0
    return measured


def print_times(measured: Sequence[dict[str, tuple[Times, float]]], title: str) -> None:
    """Print the medians over the rounds."""
    table = Table(title=title)
    for column in ("", "wall s", "CPU s", "MB written"):
        table.add_column(column, justify="right" if column else "left")
    for name in measured[0]:
        wall, cpu = (statistics.median(one[name][0][index] for one in measured) for index in (0, 1))
        size = statistics.median(one[name][1] for one in measured)
        table.add_row(name, f"{wall:.1f}", f"{cpu:.1f}", f"{size:.1f}" if size else "")
    Console(width=110).print(table)


def write_halves(corpus: Path, folder: Path) -> tuple[Path, Path]:
    """Analyze each half of a corpus, and return the folders of the runs."""
    blocks = corpus.read_text("utf-8").strip().split("\n\n")
    middle = len(blocks) // 2
    runs = []
    for name, half in (("first", blocks[:middle]), ("second", blocks[middle:])):
        path = folder / f"{name}.conllu"
        path.write_text("\n\n".join(half) + "\n\n", encoding="utf-8")
        timed(["analyze", "--corpus", path, "--gradients", "none", "--out", folder / name])
        runs.append(folder / name)
    return runs[0], runs[1]


def print_forward_pass(corpus: Path, rounds: int) -> None:
    """Print the throughput of the forward pass against that of one large matrix product, and the share of padding."""
    torch.set_num_threads(1)
    encoder = load_encoder("demo")
    sentences = list(load_treebank(str(corpus), limit=FORWARD_SENTENCES))
    square = torch.ones(1024, 1024)
    seconds = take_turns(
        {"forward": lambda: forward_only(encoder, sentences), "product": lambda: torch.mm(square, square)}, rounds
    )
    padding, operations = padding_and_operations(encoder, sentences)
    share = operations / (2 * len(square) ** 3) * min(seconds["product"]) / min(seconds["forward"])
    print(
        f"The forward pass over {len(sentences)} sentences reaches {share:.0%} of the throughput of one large matrix "
        f"product, with one thread; {padding:.1%} of the pieces are padding."
    )


def print_start_of_ray(rounds: int) -> None:
    """Print how long Ray takes to start."""
    starts = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", START_OF_RAY], capture_output=True, text=True, check=True)
        starts.append(float(done.stdout.split()[-1]))
    print(f"Ray takes {statistics.median(starts):.1f} s from its import to the answer of a first, empty actor.")


def main() -> None:
    """Print all tables and facts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="+", default=[str(SAMPLE_TREEBANK)])
    parser.add_argument("--sentences", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=int, nargs="+", default=[], metavar="SENTENCES")
    options = parser.parse_args()
    has_ray = find_spec("ray") is not None
    runs = {name: given for name, given in RUNS.items() if has_ray or "ray" not in given}
    if options.rounds:
        adopt_orphans()
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder) / "repeated.conllu"
            write_repeated(options.corpus, options.sentences, corpus)
            halves = write_halves(corpus, Path(folder))
            measured = [one_round(runs, halves, corpus) for _ in range(options.rounds)]
            print_times(measured, f"{options.sentences:,} sentences, {options.rounds} rounds, whole commands")
            print_forward_pass(corpus, max(3, options.rounds))
        if has_ray:
            print_start_of_ray(options.rounds)
    if options.memory:
        measure_memory(options.corpus, options.memory)


if __name__ == "__main__":
    main()
