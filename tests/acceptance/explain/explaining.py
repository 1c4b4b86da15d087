"""What the tests of ``attentionology explain`` have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attentionology.scripts.cli import main

GOOD, BAD = ("good", "great", "fine"), ("bad", "awful", "poor")
FILLERS = ("the", "a", "film", "story", "was", "of", "with", "it", "that", "plot", "long", "in")
TABLES = ("curve", "flips", "models", "regularizers", "summary", "texts", "training", "verdicts")
FIGURES = (
    *("adversarial", "adversarial_weight", "curve", "imitation", "permutation", "regularizers"),
    *("removal", "seeds", "single", "tau", "training"),
)
ALL = "(all)"
OF_ONE_MODEL = "correlation,permutation,adversarial,uniform,erasure,removal,single-token,eraser"
FEWEST = 30  # texts that a verdict needs


def run(*arguments: object) -> int:
    return main(["explain", *map(str, arguments)])


def table(folder: Path, name: str = "texts") -> pd.DataFrame:
    return pd.read_csv(folder / "tables" / f"explain_{name}.csv")


def columns(rows: pd.DataFrame, *beginnings: str) -> list[str]:
    """Names of the columns that begin so."""
    return [name for name in map(str, rows.columns) if name.startswith(beginnings)]


def record(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())


def said(text: str) -> str:
    """What the terminal says, however it is broken into lines."""
    return " ".join(text.split())


def texts(count: int, seed: int) -> list[str]:
    """Lines of label and text; one word decides the label."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(count):
        words = [str(word) for word in rng.choice(FILLERS, size=rng.integers(2, 9))]
        words.insert(int(rng.integers(len(words) + 1)), str(rng.choice(GOOD if i % 2 else BAD)))
        lines.append(f"{i % 2} {' '.join(words)}")
    return lines


SMALL = ("--encoder", "average", "--dimensions", 8, "--epochs", 4, "--learning-rate", 0.01, "--replicates", 20)
QUICK = ("--draws", 5, "--steps", 3)


def everything(files: Path, tests: str = "all") -> tuple[object, ...]:
    data = ("--data", files / "train.txt", "--dev", files / "dev.txt", "--test", files / "test.txt")
    trained = () if tests != "all" else ("--seeds", 2, "--adversary-epochs", 2, "--lambdas", 0.01)
    return (*data, *SMALL, *QUICK, "--tests", tests, *trained)
