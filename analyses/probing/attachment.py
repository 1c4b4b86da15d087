"""How many words get the right syntactic head: tables of what trained probes and baselines predict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from ...corpora_loaders import Sentence, is_punct
from ...corpora_loaders.tree import counted_relations, plain_relation
from ..counting.best_head import interval, rate, rates
from ..counting.resampling import effective_number, poisson_weights

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
    """What is known of a tested sentence without its words: its id, its heads and its relations as they are counted."""

    id: str
    heads: tuple[int | None, ...]
    relations: tuple[str, ...]


class AttachmentTables(NamedTuple):
    """Unlabeled attachment scores of words with a head, without punctuation unless a column says otherwise."""

    # one row per method and decoding; see `attentionology.analyses.probing.columns` for the columns
    methods: pd.DataFrame
    runs: pd.DataFrame  # one row per method, task, decoding and run
    relations: pd.DataFrame  # one row per method, decoding and relation, punctuation included
    lengths: pd.DataFrame  # the same by dependency length, the distance between word and head in words; 0 for roots
    contrasts: pd.DataFrame  # differences of methods on the same words
    units: float = math.nan  # the effective number of sentences, which claims need; NaN if it is unknown


@dataclass(frozen=True)
class TestedWords:
    """All words of the tested sentences, one entry each."""

    sentence: Int[ndarray, " words"]  # the index of its sentence
    relation: ndarray
    length: Int[ndarray, " words"]  # the distance to the head
    known: Bool[ndarray, " words"]  # whether the treebank has a head
    scored: Bool[ndarray, " words"]  # the same without punctuation

    @classmethod
    def of(cls, sentences: Sequence[Sentence | TestedSentence]) -> TestedWords:
        """Look up what the scores depend on, word by word."""
        sentence_of_word: list[int] = []
        relations: list[str] = []
        lengths: list[int] = []
        has_head: list[bool] = []
        for index, sentence in enumerate(sentences):
            names = counted_relations(sentence) if isinstance(sentence, Sentence) else sentence.relations
            for word, (head, relation) in enumerate(zip(sentence.heads, names, strict=True), start=1):
                sentence_of_word.append(index)
                relations.append(relation)
                lengths.append(abs(head - word) if head else ROOT_LENGTH)
                has_head.append(head is not None)
        known = np.array(has_head, dtype=bool)
        return cls(
            sentence=np.array(sentence_of_word, dtype=np.int64),
            relation=np.array(list(map(plain_relation, relations)), dtype=object),
            length=np.array(lengths, dtype=np.int64),
            known=known,
            scored=known & np.array([not is_punct(relation) for relation in relations], dtype=bool),
        )

    @property
    def noroot(self) -> Bool[ndarray, " words"]:
        """The scored words that have a head word."""
        return np.asarray(self.scored & (self.length != ROOT_LENGTH))


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
    """Count what every method got right; ``contrasts`` are the pairs of methods whose difference is of interest."""
    words = TestedWords.of(sentences)
    for attempt in attempts:
        if attempt.right.shape != words.known.shape:
            raise ValueError(f"{attempt.method}: {len(attempt.right)} predictions for {len(words.known)} words")
    weights = poisson_weights([sentence.id for sentence in sentences], replicates, seed).astype(np.float64)
    groups = by_method(attempts)
    control = by_method([attempt for attempt in attempts if attempt.decoding == "argmax"], "control")
    replicated = {key: _replicated(words, group, weights) for key, group in groups.items()}
    methods = [_method_row(words, key, group, replicated[key], control.get(key, [])) for key, group in groups.items()]
    return AttachmentTables(
        methods=pd.DataFrame(methods),
        runs=pd.DataFrame([_run_row(words, attempt) for attempt in attempts]),
        relations=pd.DataFrame(_rows_by(words.relation, "relation", words.known, groups)),
        lengths=pd.DataFrame(_rows_by(words.length, "length", words.scored, groups)),
        contrasts=pd.DataFrame(
            [_contrast(words, groups, replicated, pair) for pair in contrasts],
            columns=["first", "second", "difference", "low", "high"],
        ),
        units=effective_number(np.bincount(words.sentence[words.scored])),
    )


def _replicated(
    words: TestedWords, attempts: Sequence[Attempt], weights: Float[ndarray, "replicates sentences"]
) -> Float[ndarray, " with_words"]:
    """Return the mean score of the attempts in each replicate with a word to score, given how often it draws each."""
    n_sentences = weights.shape[1]
    right = np.mean([attempt.right & words.scored for attempt in attempts], axis=0)
    correct = weights @ np.bincount(words.sentence, weights=right, minlength=n_sentences)
    total = weights @ np.bincount(words.sentence, weights=words.scored, minlength=n_sentences)
    return rates(correct, total)


def _method_row(
    words: TestedWords,
    key: tuple[str, str],
    attempts: Sequence[Attempt],
    replicated: Float[ndarray, " replicates"],
    control: Sequence[Attempt],
) -> dict[str, Any]:
    """Return the row of a method and decoding, given its attempts at the task and at the control task."""
    method, decoding = key
    scores, on_control = _scores(words.scored, attempts), _scores(words.scored, control)
    low, high = interval(replicated)
    return {
        "method": method,
        "decoding": decoding,
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


def _run_row(words: TestedWords, attempt: Attempt) -> dict[str, Any]:
    """Return the row of one attempt."""
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


def _rows_by(
    values: ndarray,
    name: Literal["relation", "length"],
    counted: Bool[ndarray, " words"],
    groups: dict[tuple[str, str], list[Attempt]],
) -> list[dict[str, Any]]:
    """Return the scores of each method by the relation or length of words; frequent relations, short lengths first."""
    kinds, kind_of_word, totals = np.unique(
        values[counted].astype(str if name == "relation" else int), return_inverse=True, return_counts=True
    )
    order = np.lexsort((kinds, -totals)) if name == "relation" else np.arange(len(kinds))
    rows = []
    for (method, decoding), attempts in groups.items():
        right = np.sum([attempt.right[counted] for attempt in attempts], axis=0)  # in how many attempts, by word
        correct_by_kind = np.bincount(kind_of_word, weights=right, minlength=len(kinds))
        for kind in order:
            correct, total = int(correct_by_kind[kind]), int(totals[kind])
            rows.append(
                {
                    "method": method,
                    "decoding": decoding,
                    name: kinds[kind].item(),
                    "runs": len(attempts),
                    "correct": correct,
                    "total": total,
                    "uas": rate(correct, total * len(attempts)),
                }
            )
    return rows


def _contrast(
    words: TestedWords,
    groups: dict[tuple[str, str], list[Attempt]],
    replicated: dict[tuple[str, str], Float[ndarray, " replicates"]],
    pair: tuple[str, str],
) -> dict[str, Any]:
    """Return the difference of the mean scores of two methods, with its interval."""
    first, second = pair
    low, high = interval(replicated[first, "argmax"] - replicated[second, "argmax"])
    first_mean, second_mean = (_mean(_scores(words.scored, groups[name, "argmax"])) for name in pair)
    return {"first": first, "second": second, "difference": first_mean - second_mean, "low": low, "high": high}


def _scores(counted: Bool[ndarray, " words"], attempts: Sequence[Attempt]) -> list[float]:
    """Return the share of the counted words that each attempt got right."""
    total = int(counted.sum())
    return [rate(int(attempt.right[counted].sum()), total) for attempt in attempts]


def _mean(scores: Sequence[float]) -> float:
    """Return the mean; NaN without scores."""
    return float(np.mean(scores)) if scores else float("nan")


def _sd(scores: Sequence[float]) -> float:
    """Return the standard deviation; NaN for fewer than two scores."""
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
