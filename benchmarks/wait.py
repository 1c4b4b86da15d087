"""How long a short command makes its user wait beyond what the libraries take to be imported.

    python -m benchmarks.wait [--rounds 5]

Each contestant is a new process. The first only imports torch and the model class that the demo model needs, which no
run can do without; all others are compared with it in turns. A command also loads the model, which takes half a second.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

from benchmarks.measuring import take_turns

LIBRARIES = ("-c", "import torch, transformers.models.bert.modeling_bert")


def python(*arguments: str) -> None:
    """Run Python in a process of its own."""
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    """Measure and print the waits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        analyze = ("-m", "attentionology", "analyze", "--overwrite", "--out", f"{folder}/run")
        contestants = {
            "torch and the model class": LIBRARIES,
            "attentionology --help": ("-m", "attentionology", "--help"),
            "analyze --limit 2": (*analyze, "--limit", "2"),
            "analyze (157 sentences)": analyze,
            "analyze, also as PDF and PNG": (*analyze, "--figures", "pdf", "png"),
        }
        runs = {name: functools.partial(python, *arguments) for name, arguments in contestants.items()}
        seconds = take_turns(runs, rounds)
    base = seconds["torch and the model class"]
    table = Table("", "seconds", "beyond the libraries")
    for name, measured in seconds.items():
        beyond = statistics.median(a - b for a, b in zip(measured, base, strict=True))
        table.add_row(name, f"{statistics.median(measured):.2f}", f"{beyond:+.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
