"""The rows that all questions about probes share: what was tested, what each method got right, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from ...corpora_loaders import Sentence, is_punct
from ...corpora_loaders.tree import counted_relations, plain_relation
from ...reports.columns import TableColumn
from ...reports.format import rows_of
from ..contract import OptionSet, PlanCounts
from ..counting.best_head import rate, rates
from ..counting.metric import Metric
from ..counting.resampling import effective_number, poisson_weights
from ..questions import Question
from ..shared.merged_facts import merges_by
from ..shared.options import CountOptions
from ..shared.previews import Answers

# ruff: noqa: RUF009  (merges_by is dataclasses.field with a rule)

Task = Literal["dependencies", "control"]

NAME = "probe"
"""The name of the analysis, and of its counts."""

STATES = "probe_states"
"""The name of the counts of probes of hidden states."""

NO_LAYER, MIX = -1, -2
"""What stands for a layer in what is stored where nothing reads states, and where a mix of all layers is read."""

MIXED = "mix of layers"
"""What tables call a mix."""

ROOT_LENGTH = 0
"""The dependency length of root words in tables."""


@dataclass(frozen=True)
class Tried:
    """One attempt of a method, see `Attempt`."""

    method: str
    task: Task
    decoding: str  # "argmax" or "tree"
    run: int  # 1-based; a method without seeds has one run


@dataclass(frozen=True)
class Attempt(Tried):
    """What one method got right in one run, for every word of all sentences in their order."""

    right: Bool[ndarray, " words"]


@dataclass(frozen=True)
class TestedSentence:
    """What is known of a tested sentence without its words: its id, its heads and its relations as they are counted."""

    id: str
    heads: tuple[int | None, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True)
class StateTried:
    """What one column of the counts of state probes is: a score of a training, or of what reads no states."""

    probe: str
    layer: int  # or `NO_LAYER` or `MIX`
    source: str  # the model, random weights, or the name of what reads no states
    task: str  # "gold", or the name of a control task
    run: int  # 1-based
    score: str
    by_length: bool  # whether the score is averaged by sentence length
    dev: float | None  # the score on the dev sentences, by which layers are chosen


def place_in_table(layer: int, source: str) -> tuple[float, str]:
    """Return the layer and the source as tables have them: a mix has no layer, and its name is in the source."""
    if layer >= 0:
        return layer, source
    named = {"model": MIXED, "random weights": f"{MIXED}, random weights"}
    return float("nan"), named[source] if layer == MIX else source


def layer_name(layer: float) -> str:
    """Return what texts call a layer, or the mix, which has none."""
    return f"layer {layer:.0f}" if layer >= 0 else f"the {MIXED}"


@dataclass(frozen=True, eq=False)
class ProbeFacts:
    """Everything that probing has found, except for which words are right. All results are made of both."""

    model: str
    probes: tuple[str, ...]
    tried: tuple[Tried, ...]  # in the order of the table
    replicates: int
    seed: int  # of the bootstrap
    training_sentences: tuple[str, ...]  # a digest for each split; runs can be merged if they trained on the same
    alone: tuple[tuple[tuple[int, ...], ...], ...]  # training words that each head finds: direction, layer, head
    alone_of: int  # the number of these words
    sentences: pd.DataFrame = merges_by("rows")  # the tested sentences: id, heads, relations
    phrases: tuple[str, ...] = merges_by("union")  # what was trained on what
    notes: tuple[str, ...] = merges_by("union")  # how the numbers came about

    def tested(self) -> list[TestedSentence]:
        """Return the tested sentences."""
        columns = (self.sentences[name] for name in ("id", "heads", "relations"))
        return [TestedSentence(id_, tuple(heads), tuple(names)) for id_, heads, names in zip(*columns, strict=True)]


class RightWords(Metric):
    """Which attempts get the head of a word right, for all words of the tested sentences in their order."""

    def __init__(self, attempts: int) -> None:
        super().__init__()
        self.attempts = attempts
        self.right: list[Tensor]
        self.add_state("right", [], "cat")

    def update(self, attempts: Sequence[Attempt]) -> None:
        """Count the words of the tested sentences."""
        self.right.append(torch.from_numpy(np.stack([attempt.right for attempt in attempts], axis=1)))

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add the words of another run after those of this one, as the facts do; the rule ``cat`` puts them first."""
        if not isinstance(incoming_state, RightWords):
            raise ValueError("only the words of another probing run can be added")
        self.right = [*self.right, *incoming_state.right]

    def compute(self) -> npt.NDArray[np.bool_]:
        """Return which words are right, shape (words, attempts)."""
        return torch.cat(self.right).numpy() if self.right else np.zeros((0, self.attempts), dtype=bool)


class StateCounts(Metric):
    """What each tested sentence adds to the scores of probes of hidden states, and which edges of its tree are found.

    What is added has a numerator and a denominator. Edges stand sentence by sentence in the order of `tree_edges`.
    """

    def __init__(self, tried: int) -> None:
        super().__init__()
        self.tried = tried
        self.fractions: list[Tensor]
        self.add_state("fractions", [], "cat")
        self.edges: list[Tensor]
        self.add_state("edges", [], "cat")

    def update(
        self, fractions: Float[ndarray, "sentences tried 2"], edges: Sequence[Bool[ndarray, " edges"]] = ()
    ) -> None:
        """Count the tested sentences."""
        self.fractions.append(torch.from_numpy(fractions))
        self.edges.append(torch.from_numpy(np.stack(edges, axis=1) if edges else np.zeros((0, 0), dtype=bool)))

    def merge_state(self, incoming_state: Mapping[str, Any] | Metric) -> None:
        """Add the sentences of another run after those of this one, as the facts do."""
        if not isinstance(incoming_state, StateCounts):
            raise ValueError("only the sentences of another probing run can be added")
        self.fractions = [*self.fractions, *incoming_state.fractions]
        self.edges = [*self.edges, *incoming_state.edges]

    def compute(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return the fractions, shape (sentences, tried, 2), and the edges, shape (edges, those that predict edges)."""
        if not self.fractions:
            return np.zeros((0, self.tried, 2)), np.zeros((0, 0), dtype=bool)
        return torch.cat(self.fractions).numpy(), torch.cat(self.edges).numpy()


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


Key = tuple[str, str]
"""A method and a way of decoding, whose attempts have a row of the tables together."""


class Tested:
    """What questions answer from: what each method got right, word by word.

    Attributes:
        sentences, attempts: the tested sentences, and the attempts in the order of the table.
        words: all words of the sentences.
        states: what each sentence adds to the scores of probes of hidden states; None without such probes.
        edges: which edges of trees are found by each attempt at predicting edges; None without such probes.
        groups: the attempts at finding heads, by method and decoding.
        facts: what else is known of the run.
        min_count: the least number of words of which something is said.
    """

    def __init__(self, options: OptionSet, plan_counts: PlanCounts[ProbeFacts]) -> None:
        self.facts, self.min_count = plan_counts.facts, options[CountOptions].min_count
        self.sentences = plan_counts.facts.tested()
        self.words = TestedWords.of(self.sentences)
        right = plan_counts.metric(NAME, RightWords).compute()
        if len(right) != len(self.words.known):
            raise ValueError(f"{len(right)} predictions for {len(self.words.known)} words")
        self.attempts = [
            Attempt(tried.method, tried.task, tried.decoding, tried.run, words)
            for tried, words in zip(plan_counts.facts.tried, right.T, strict=True)
        ]
        self.groups = by_method(self.attempts)
        self.states: Float[ndarray, "sentences tried 2"] | None = None
        self.edges: Bool[ndarray, "edges tried"] | None = None
        if STATES in plan_counts.metrics:
            self.states, self.edges = plan_counts.metric(STATES, StateCounts).compute()

    @cached_property
    def weights(self) -> Float[ndarray, "replicates sentences"]:
        """How often each sentence is drawn in each replicate, the same for all methods."""
        ids = [sentence.id for sentence in self.sentences]
        return poisson_weights(ids, self.facts.replicates, self.facts.seed).astype(np.float64)

    @cached_property
    def replicated(self) -> dict[Key, Float[ndarray, " with_words"]]:
        """The mean score of each method in each replicate with a word to score."""
        words, n_sentences, weights = self.words, len(self.sentences), self.weights
        total = weights @ np.bincount(words.sentence, weights=words.scored, minlength=n_sentences)
        scores = {}
        for key, attempts in self.groups.items():
            right = np.mean([attempt.right & words.scored for attempt in attempts], axis=0)
            correct = weights @ np.bincount(words.sentence, weights=right, minlength=n_sentences)
            scores[key] = rates(correct, total)
        return scores

    @property
    def units(self) -> float:
        """The effective number of sentences, which claims need."""
        return effective_number(np.bincount(self.words.sentence[self.words.scored]))

    def rows_by(
        self, values: ndarray, name: Literal["relation", "length"], counted: Bool[ndarray, " words"]
    ) -> pd.DataFrame:
        """Return the scores of each method by a value of words; frequent relations and short lengths come first."""
        kinds, kind_of_word, totals = np.unique(
            values[counted].astype(str if name == "relation" else int), return_inverse=True, return_counts=True
        )
        order = np.lexsort((kinds, -totals)) if name == "relation" else np.arange(len(kinds))
        rows = []
        for (method, decoding), attempts in self.groups.items():
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
        return pd.DataFrame(rows)


def by_method(attempts: Sequence[Attempt], task: Task = "dependencies") -> dict[Key, list[Attempt]]:
    """Return the attempts at a task by method and decoding, in the order of the table."""
    groups: dict[Key, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.task == task:
            groups.setdefault((attempt.method, attempt.decoding), []).append(attempt)
    return groups


def scores(counted: Bool[ndarray, " words"], attempts: Sequence[Attempt]) -> list[float]:
    """Return the share of the counted words that each attempt got right."""
    total = int(counted.sum())
    return [rate(int(attempt.right[counted].sum()), total) for attempt in attempts]


def mean(values: Sequence[float]) -> float:
    """Return the mean of scores; NaN without any."""
    return float(np.mean(values)) if values else float("nan")


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of scores; NaN for fewer than two."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


ProbeQuestion = Question[None, Any, Tested, Any]
"""A question about probes, which looks up with a `attentionology.analyses.probing.trainings.training.Kept`."""


@dataclass(frozen=True, repr=False)
class ProbeResults(Answers):
    """The results of probing. Layers and heads are 1-based, scores are shares of words.

    Attributes:
        methods: one row per ``method`` and ``decoding``, with the unlabeled attachment score ``uas``, its interval
            (``uas_low``, ``uas_high``), and the columns that other questions add: the ``control_accuracy``, the
            ``selectivity``, and for the models of the paper ``paper_uas``.
        probes: the trained probes, in the order of tables.
        units: the effective number of sentences, which claims need.
        min_count: relations with fewer words are grayed.
        facts: what was trained on what, one phrase each.
        notes: how the numbers were computed, one sentence each.
        added: the columns of ``methods`` that other questions add.
        answers: the answers of all questions, by name. Each is an attribute, too: ``contrasts`` has the ``difference``
            of two methods on the same words, with its interval; ``lengths`` and ``relations`` have the score by
            ``length`` of the arc and by ``relation``; ``head_weights`` has what each attention probe says of the heads
            by the name of the probe, each with the tables ``heads``, ``relations`` and ``correlations``; and
            ``runs`` has the tables ``scores``, one row per training run, and ``history``, one row per epoch.
    """

    methods: pd.DataFrame
    probes: tuple[str, ...] = ()
    units: float = float("nan")
    min_count: int = 50
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    added: tuple[TableColumn, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def argmax(self) -> pd.DataFrame:
        """The rows of the methods that choose the best candidate of each word."""
        return self.methods[self.methods["decoding"] == "argmax"]

    @property
    def differences(self) -> list[dict[str, Any]]:
        """The rows of the differences of methods; none if the run has not asked for them."""
        return rows_of(self.answers["contrasts"]) if "contrasts" in self.answers else []
