"""Results of probing that are made up, and what becomes of them on disk and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attentionology.analyses.contract import Titles
from attentionology.analyses.probing.attachment import Attempt, Task, attachment
from attentionology.analyses.probing.head_weights import head_weights
from attentionology.analyses.probing.report import ProbeResults, probe_section
from attentionology.reports.page import Section, write_report
from tests.maps import random_corpus
from tests.unit.test_reports import RUN

SENTENCES, _ = random_corpus(0)
WORDS = sum(map(len, SENTENCES))
ATTENTION = ("attention", "attention+words")
PUBLISHED = {"right-branching": 26, "attention": 61}


@dataclass(frozen=True)
class Case:
    """What was run."""

    probes: tuple[str, ...] = (*ATTENTION, "words+distances")
    runs: int = 3
    copies: int = 0
    control: bool = True
    tree: bool = False
    replicates: int = 30
    published: bool = False
    folds: int = 1
    epochs: int = 1
    dev: bool = False
    shape: tuple[int, int] = (2, 3)


def results(case: Case, sentences: Sequence[Any] = SENTENCES) -> ProbeResults:
    """Everything right at random."""
    rng = np.random.default_rng(0)
    attempts, history = [], []

    def attempt(method: str, rate: float, run: int = 1, task: Task = "dependencies", decoding: str = "argmax") -> None:
        attempts.append(Attempt(method, task, decoding, run, rng.random(WORDS) < rate))

    for name, rate in (("right-branching", 0.25), ("best offset", 0.3), ("best single head", 0.4)):
        attempt(name, rate)
    tried = [(name, name) for name in case.probes]
    tried += [(f"{name}, random weights", name) for name in case.probes if name in ATTENTION and case.copies]
    for method, name in tried:
        twin = method != name
        for run in range(1, 1 + case.runs * (case.copies if twin else 1)):
            attempt(method, 0.2 if twin else 0.6, run)
            tasks: list[Task] = ["dependencies"]
            if case.tree:
                attempt(method, 0.65, run, decoding="tree")
            if case.control and not twin:
                attempt(method, 0.5, run, task="control")
                tasks.append("control")
            history += [
                {"method": method, "task": task, "run": run, "fold": fold, "epoch": epoch, "loss": 2.0 / epoch,
                 "train_uas": 0.5, "dev_uas": 0.1 * epoch if case.dev else None}
                for task in tasks for fold in range(1, case.folds + 1) for epoch in range(1, case.epochs + 1)
            ]  # fmt: skip
    shape = (2, *case.shape)
    weights = {
        name: head_weights(
            [{relation: (arcs, rng.normal(size=shape), rng.normal(size=shape)) for relation, arcs in
              (("nsubj", 36), ("<rel>", 7))} for _ in range(case.runs)],
            rng.integers(0, 100, shape), 100,
        )
        for name in case.probes if name in ATTENTION
    }  # fmt: skip
    named = {method for method, _ in tried}
    pairs = [pair for pair in (("attention", "best offset"), ("attention+words", "attention")) if pair[0] in named]
    return ProbeResults(
        tables=attachment(sentences, attempts, contrasts=pairs, replicates=case.replicates),
        weights=weights,
        history=pd.DataFrame(history),
        published=PUBLISHED if case.published else None,
        min_count=36,  # as many words as one relation has, and arcs another
        facts=("trained on much", "map “weight”"),
        notes=("Words without a vector: 3.", "mind the <gap>"),
    )


def written(folder: Path, found: ProbeResults, folds: int = 1) -> tuple[Section, str]:
    """The section, and the page, which has the tables of the section."""
    section = probe_section(found, Titles("$model$ <b>", "c"))
    run = {**RUN, "control": None, "probes": {"splits": [{"train": 5}] * folds}}
    write_report(folder, run=run, sections=[section])
    page = (folder / "report.html").read_text()
    assert all(str(table).partition("<tbody>")[2] in page for table in section.shown if table.rows)
    return section, page


CASES = [
    Case(),
    Case(runs=1, replicates=0, control=False),
    Case(probes=("words+distances",), published=True),
    Case(probes=("attention",), tree=True, published=True, copies=1),
    Case(runs=2, copies=2, tree=True, folds=4, epochs=3, dev=True),
    Case(runs=1, copies=2),
    Case(probes=("attention",), runs=1, shape=(1, 1), folds=2),
]
