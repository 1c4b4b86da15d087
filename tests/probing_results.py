"""Results of probing that are made up, and what becomes of them on disk and on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attentionology.analyses.contract import OptionSet, PlanCounts, Titles
from attentionology.analyses.probing.analysis import Probing
from attentionology.analyses.probing.contrasts import contrast_table
from attentionology.analyses.probing.head_weights import HeadWeights, head_weights
from attentionology.analyses.probing.rows import (
    NAME,
    Attempt,
    ProbeFacts,
    ProbeResults,
    RightWords,
    Task,
    Tested,
    Tried,
)
from attentionology.analyses.shared.options import CountOptions
from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.tree import counted_relations
from attentionology.reports.explorer.contribution import Contribution
from attentionology.reports.page import Section, write_report
from tests.maps import random_corpus
from tests.unit.test_reports import RUN

SENTENCES, _ = random_corpus(0)
WORDS = sum(map(len, SENTENCES))
RIGHT = np.ones(WORDS, dtype=bool)
ATTENTION = ("attention", "attention+words")
PUBLISHED = {"right-branching": 26, "words+distances": 58, "attention": 61, "attention+words": 77}


def counts_of_attempts(
    sentences: Sequence[Any], attempts: Sequence[Attempt], *, replicates: int = 1000, seed: int = 0, **facts: Any
) -> PlanCounts[ProbeFacts]:
    """What a run has stored that tested these attempts."""
    names = [counted_relations(each) if isinstance(each, Sentence) else each.relations for each in sentences]
    table = {
        "id": [sentence.id for sentence in sentences],
        "heads": [list(sentence.heads) for sentence in sentences],
        "relations": list(map(list, names)),
    }
    of_run = ProbeFacts(
        **{
            "model": "tiny",
            "probes": (),
            "tried": tuple(Tried(one.method, one.task, one.decoding, one.run) for one in attempts),
            "replicates": replicates,
            "seed": seed,
            "training_sentences": (),
            "alone": (),
            "alone_of": 0,
            "sentences": pd.DataFrame(table),
            "phrases": (),
            "notes": (),
            **facts,
        }
    )
    right_words = RightWords(len(attempts))
    right_words.update(attempts)
    return PlanCounts(of_run, {NAME: right_words}, {})


def results_of(
    given: PlanCounts[ProbeFacts], min_count: int = 50, history: Sequence[Mapping[str, Any]] = ()
) -> ProbeResults:
    """The results of what a run has stored."""
    options = OptionSet([CountOptions(min_count=min_count)])
    return Probing().results(options, given, {}, {"runs": {"texts": history}})


def with_answers(found: ProbeResults, **answers: Any) -> ProbeResults:
    """The same results with other answers; None for a question that was not asked."""
    together: Mapping[str, Any] = {**found.answers, **answers}
    return replace(found, answers={name: answer for name, answer in together.items() if answer is not None})


def weights_of(found: ProbeResults) -> dict[str, HeadWeights]:
    """The weights of the heads in each probe; none if no probe has any."""
    return dict(found.answers.get("head_weights", {}))


def explore_probes(found: ProbeResults) -> Contribution | None:
    """What the questions add to the explorer."""
    given = counts_of_attempts(SENTENCES, [Attempt("a", "control", "argmax", 1, RIGHT)])
    return Probing().explored(OptionSet(), given, found, None)


class Tables(NamedTuple):
    """The tables of attachment scores."""

    methods: pd.DataFrame
    runs: pd.DataFrame
    relations: pd.DataFrame
    lengths: pd.DataFrame
    contrasts: pd.DataFrame


def attachment(
    sentences: Sequence[Any],
    attempts: Sequence[Attempt],
    *,
    contrasts: Sequence[tuple[str, str]] = (),
    replicates: int = 1000,
    seed: int = 0,
) -> Tables:
    """The scores of attempts, and the differences of pairs of methods."""
    given = counts_of_attempts(sentences, attempts, replicates=replicates, seed=seed)
    found = results_of(given)
    differences = contrast_table(Tested(OptionSet(), given), contrasts)
    return Tables(found.methods, found.runs.scores, found.relations, found.lengths, differences)


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
    given = counts_of_attempts(
        sentences,
        attempts,
        replicates=case.replicates,
        model="bert-base-uncased" if case.published else "tiny",
        probes=case.probes,
        phrases=("trained on much", "map “weight”"),
        notes=("Words without a vector: 3.", "mind the <gap>"),
    )
    found = results_of(given, 36, history)  # as many words as one relation has, and arcs another
    differences = contrast_table(Tested(OptionSet(), given), pairs)
    return with_answers(found, contrasts=differences, head_weights=weights or None)


def write_section(folder: Path, found: ProbeResults, folds: int = 1) -> tuple[Section, str]:
    """The section, and the page, which has the tables of the section."""
    section = Probing().section(found, Titles("$model$ <b>", "c"))
    run = {**RUN, "control": None, "probes": {"splits": [{"train": 5}] * folds}}
    write_report(folder, run=run, sections=[section])
    page = (folder / "report.html").read_text()
    assert all(str(table).partition("<tbody>")[2] in page for table in section.shown if table.rows)
    return section, page
