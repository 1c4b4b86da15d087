"""How many words get the right syntactic head: tables of what trained probes and baselines predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from ...corpora_loaders import Sentence, is_punct
from ..shared.best_head import interval, rate, rates
from ..shared.resampling import poisson_weights

Task = Literal["dependencies", "control"]

ROOT_LENGTH = 0
"""The dependency length of root words in tables."""


@dataclass(frozen=True)
class Attempt:
    """What one method got right in one run, for every word of all sentences in their order."""

    method: str
    task: Task
    decoding: str  # "argmax" or "tree"
    run: int  # 1-based; a method without seeds has one run
    right: Bool[ndarray, " words"]


@dataclass(frozen=True)
class TestedSentence:
    """What is known of a tested sentence without its words: its id, its heads and its relations."""

    id: str
    heads: tuple[int | None, ...]
    relations: tuple[str, ...]


class AttachmentTables(NamedTuple):
    """Unlabelled attachment scores."""

    # They count words with a head, without punctuation unless a column says otherwise.

    # one row per method and decoding; see `attentionology.analyses.probing.columns` for the columns
    methods: pd.DataFrame
    runs: pd.DataFrame  # one row per method, task, decoding and run
    relations: pd.DataFrame  # one row per method, decoding and relation, punctuation included
    lengths: pd.DataFrame  # the same by dependency length, the distance between word and head in words; 0 for roots
    contrasts: pd.DataFrame  # differences of methods on the same words


@dataclass(frozen=True)
class TestedWords:
    """All words of the tested sentences, one entry each."""

    sentence: Int[ndarray, " words"]
    relation: ndarray
    length: Int[ndarray, " words"]  # the distance to the head
    known: Bool[ndarray, " words"]  # whether the treebank has a head
    scored: Bool[ndarray, " words"]  # the same without punctuation

    @classmethod
    def of(cls, sentences: Sequence[Sentence | TestedSentence]) -> TestedWords:
        """Look up what the scores depend on."""
        words = [
            (index, relation, number, head)
            for index, sentence in enumerate(sentences)
            for number, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1)
        ]
        known = np.array([head is not None for *_, head in words], dtype=bool)
        return cls(
            sentence=np.array([index for index, *_ in words], dtype=np.int64),
            relation=np.array([relation for _, relation, *_ in words], dtype=object),
            length=np.array(
                [abs(head - number) if head else ROOT_LENGTH for *_, number, head in words], dtype=np.int64
            ),
            known=known,
            scored=known & np.array([not is_punct(relation) for _, relation, *_ in words], dtype=bool),
        )

    @property
    def noroot(self) -> Bool[ndarray, " words"]:
        """The scored words that have a head word."""
        noroot: Bool[ndarray, " words"] = self.scored & (self.length != ROOT_LENGTH)
        return noroot


def by_method(attempts: Sequence[Attempt], task: Task = "dependencies") -> dict[tuple[str, str], list[Attempt]]:
    """Return the attempts at a task by method and decoding, in the order of the table."""
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in attempts:
        if attempt.task == task:
            groups.setdefault((attempt.method, attempt.decoding), []).append(attempt)
    return groups


def attachment(
    sentences: Sequence[Sentence | TestedSentence],
    attempts: Sequence[Attempt],
    *,
    contrasts: Sequence[tuple[str, str]] = (),
    replicates: int = 1000,
    seed: int = 0,
) -> AttachmentTables:
    """Count what every method got right."""
    words = TestedWords.of(sentences)
    for attempt in attempts:
        if attempt.right.shape != words.known.shape:
            raise ValueError(f"{attempt.method}: {len(attempt.right)} predictions for {len(words.known)} words")
    drawn = poisson_weights([sentence.id for sentence in sentences], replicates, seed).astype(np.float64)
    groups = by_method(attempts)
    control = by_method([attempt for attempt in attempts if attempt.decoding == "argmax"], "control")
    replicated = {key: _replicated(words, tried, drawn) for key, tried in groups.items()}
    methods = [_method(words, key, tried, replicated[key], control.get(key, [])) for key, tried in groups.items()]
    return AttachmentTables(
        methods=pd.DataFrame(methods),
        runs=pd.DataFrame([_run(words, attempt) for attempt in attempts]),
        relations=pd.DataFrame(_by(words, groups, "relation", words.relation, words.known)),
        lengths=pd.DataFrame(_by(words, groups, "length", words.length, words.scored)),
        contrasts=pd.DataFrame(
            [_contrast(words, groups, replicated, pair) for pair in contrasts],
            columns=["first", "second", "difference", "low", "high"],
        ),
    )


def _replicated(
    words: TestedWords, attempts: Sequence[Attempt], drawn: Float[ndarray, "replicates sentences"]
) -> Float[ndarray, " with_words"]:
    """Mean score of the attempts in each replicate with a word to score, the same replicates for all methods."""
    n = drawn.shape[1]
    right = np.mean([attempt.right & words.scored for attempt in attempts], axis=0)
    correct = drawn @ np.bincount(words.sentence, weights=right, minlength=n)
    total = drawn @ np.bincount(words.sentence, weights=words.scored, minlength=n)
    return rates(correct, total)


def _method(
    words: TestedWords,
    key: tuple[str, str],
    attempts: Sequence[Attempt],
    replicated: Float[ndarray, " replicates"],
    control: Sequence[Attempt],
) -> dict[str, Any]:
    scores, on_control = _scores(words.scored, attempts), _scores(words.scored, control)
    low, high = interval(replicated)
    return {
        "method": key[0],
        "decoding": key[1],
        "runs": len(attempts),
        "correct": sum(int((attempt.right & words.scored).sum()) for attempt in attempts),
        "total": int(words.scored.sum()),
        "uas": _mean(scores),
        "uas_sd": _sd(scores),
        "uas_low": low,
        "uas_high": high,
        "uas_all": _mean(_scores(words.known, attempts)),
        "uas_noroot": _mean(_scores(words.noroot, attempts)),
        "control_accuracy": _mean(on_control),
        "control_sd": _sd(on_control),
        "selectivity": _mean(scores) - _mean(on_control),
    }


def _run(words: TestedWords, attempt: Attempt) -> dict[str, Any]:
    correct, total = int(attempt.right[words.scored].sum()), int(words.scored.sum())
    return {
        "method": attempt.method,
        "task": attempt.task,
        "decoding": attempt.decoding,
        "run": attempt.run,
        "correct": correct,
        "total": total,
        "uas": rate(correct, total),
        "correct_all": int(attempt.right[words.known].sum()),
        "total_all": int(words.known.sum()),
        "correct_noroot": int(attempt.right[words.noroot].sum()),
        "total_noroot": int(words.noroot.sum()),
    }


def _by(
    words: TestedWords,
    groups: dict[tuple[str, str], list[Attempt]],
    name: str,
    values: ndarray,
    counted: Bool[ndarray, " words"],
) -> list[dict[str, Any]]:
    """Scores by a property of words; frequent relations and short lengths first."""
    names, code, totals = np.unique(
        values[counted].astype(str if name == "relation" else int), return_inverse=True, return_counts=True
    )
    order = np.lexsort((names, -totals)) if name == "relation" else np.arange(len(names))
    rows = []
    for (method, decoding), attempts in groups.items():
        right = np.sum([attempt.right[counted] for attempt in attempts], axis=0)
        correct = np.bincount(code, weights=right, minlength=len(names))
        rows += [
            {
                "method": method,
                "decoding": decoding,
                name: names[k].item(),
                "runs": len(attempts),
                "correct": int(correct[k]),
                "total": int(totals[k]),
                "uas": rate(int(correct[k]), int(totals[k]) * len(attempts)),
            }
            for k in order
        ]
    return rows


def _contrast(
    words: TestedWords,
    groups: dict[tuple[str, str], list[Attempt]],
    replicated: dict[tuple[str, str], Float[ndarray, " replicates"]],
    pair: tuple[str, str],
) -> dict[str, Any]:
    first, second = [(name, "argmax") for name in pair]
    low, high = interval(replicated[first] - replicated[second])
    means = [_mean(_scores(words.scored, groups[key])) for key in (first, second)]
    return {"first": pair[0], "second": pair[1], "difference": means[0] - means[1], "low": low, "high": high}


def _scores(counted: Bool[ndarray, " words"], attempts: Sequence[Attempt]) -> list[float]:
    total = int(counted.sum())
    return [rate(int(attempt.right[counted].sum()), total) for attempt in attempts]


def _mean(scores: Sequence[float]) -> float:
    return float(np.mean(scores)) if scores else float("nan")


def _sd(scores: Sequence[float]) -> float:
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
