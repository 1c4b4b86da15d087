"""How long a short command makes its user wait beyond what the libraries take to be imported.

    python -m benchmarks.wait [--rounds 5]

Each contestant is a new process. The first does what no run can do without: it imports torch and the model class, and
loads the demo model and its tokenizer. All others are compared with it in turns.
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

from attentionology.extractors.model.named import DEMO, model_location
from benchmarks.measuring import take_turns

IMPORTS = "import torch, transformers.models.bert.modeling_bert"
LOADS = """
from transformers import AutoModel, AutoTokenizer
AutoTokenizer.from_pretrained({0!r}), AutoModel.from_pretrained({0!r})
"""
BASE = "torch, BERT and loading the model"


def python(*arguments: str) -> None:
    """Run Python in a process of its own."""
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def until_printed(*arguments: str) -> None:
    """Run Python in a process of its own until it prints a line, and end it then."""
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        if not process.stdout or not process.stdout.readline():
            raise RuntimeError(f"nothing was printed by {' '.join(arguments)}")
        process.kill()


def main() -> None:
    """Measure and print the waits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        analyze = ("-m", "attentionology", "analyze", "--overwrite", "--out", f"{folder}/run")
        contestants = {
            BASE: ("-c", IMPORTS + LOADS.format(str(model_location(DEMO)))),
            "torch and BERT alone": ("-c", IMPORTS),
            "attentionology --help": ("-m", "attentionology", "--help"),
            "analyze --limit 2": (*analyze, "--limit", "2"),
            "analyze (157 sentences)": analyze,
            "analyze, also as PDF and PNG": (*analyze, "--figures", "pdf", "png"),
        }
        runs = {name: functools.partial(python, *arguments) for name, arguments in contestants.items()}
        for name in ("analyze --limit 2", "analyze (157 sentences)"):
            runs[f"{name}, until its tables are printed"] = functools.partial(until_printed, *contestants[name])
        seconds = take_turns(runs, rounds)
    base = seconds[BASE]
    table = Table("", "seconds", "beyond the first")
    for name, measured in seconds.items():
        beyond = statistics.median(a - b for a, b in zip(measured, base, strict=True))
        table.add_row(name, f"{statistics.median(measured):.2f}", f"{beyond:+.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
