"""The outcomes of probes by sentence, by which two runs over the same sentences are compared in pairs.

A run that knows only its scores can be compared with another one only by two intervals, although both have parsed the
same sentences. With the number of right heads in each sentence, a bootstrap replicate draws the same sentences for both
runs, whatever was probed: another kind of map, another model, or other features. For probes, the right heads are known
word by word, so that they can be compared relation by relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from ...corpora_loaders import Sentence
from ..counting.best_head import rate
from ..counting.comparable import Comparable, Measured
from ..counting.resampling import effective_number, poisson_weights
from .rows import Attempt, TestedSentence, TestedWords, by_method


@dataclass(frozen=True, eq=False)
class MethodOutcomes:
    """What one method got right with one way of decoding, added up over its runs."""

    method: str
    decoding: str
    runs: int
    right: Int[ndarray, " sentences"]  # the number of right heads in each sentence
    right_words: Int[ndarray, " words"] | None = None  # in how many runs each scored word is right; only of probes


@dataclass(frozen=True, eq=False)
class AttachmentOutcomes:
    """What all methods of a run got right. Words are scored if they have a head and are not punctuation."""

    ids: tuple[str, ...]
    sentence: Int[ndarray, " words"]  # the index of the sentence of each scored word
    relation: Int[ndarray, " words"]  # the index of its relation
    relations: tuple[str, ...]  # the most frequent first
    methods: tuple[MethodOutcomes, ...]
    replicates: int
    seed: int

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sentence | TestedSentence],
        attempts: Sequence[Attempt],
        *,
        probes: Collection[str] = (),
        replicates: int,
        seed: int,
    ) -> AttachmentOutcomes:
        """Count by sentence what methods got right. Attempts at the control task are left out."""
        words = TestedWords.of(sentences)
        sentence_of_word = words.sentence[words.scored]
        relation_of_word = words.relation[words.scored].tolist()
        n_words = Counter(relation_of_word)
        relations = sorted(n_words, key=lambda name: (-n_words[name], name))
        methods = []
        for (method, decoding), group in by_method(attempts).items():
            # By word, in how many attempts it is right.
            right = np.stack([np.asarray(attempt.right)[words.scored] for attempt in group]).sum(0, dtype=np.int64)
            by_sentence = np.bincount(sentence_of_word, weights=right, minlength=len(sentences)).astype(np.int64)
            by_word = right if decoding == "argmax" and method in probes else None
            methods.append(MethodOutcomes(method, decoding, len(group), by_sentence, by_word))
        return cls(
            ids=tuple(tested.id for tested in sentences),
            sentence=sentence_of_word,
            relation=np.array([relations.index(name) for name in relation_of_word], dtype=np.int64),
            relations=tuple(relations),
            methods=tuple(methods),
            replicates=replicates,
            seed=seed,
        )

    def comparable(self) -> tuple[Comparable, ...]:
        """Return the attachment scores: one family for each decoding, and one by relation for each probe."""
        weights = poisson_weights(self.ids, self.replicates, self.seed).astype(np.float64)  # sums of integers are exact
        n_sentences = len(self.ids)
        all_words = np.bincount(self.sentence, minlength=n_sentences)
        families: dict[str, list[Measured]] = {}
        for outcomes in self.methods:
            measured = _mean_score(outcomes.method, outcomes.right, all_words, outcomes.runs, weights)
            families.setdefault(f"attachment score ({outcomes.decoding})", []).append(measured)
        for outcomes in self.methods:
            if outcomes.right_words is not None:
                by_relation = families[f"attachment score by relation: {outcomes.method}"] = []
                for index, name in enumerate(self.relations):
                    has_relation = self.relation == index
                    sentences, right_words = self.sentence[has_relation], outcomes.right_words[has_relation]
                    words = np.bincount(sentences, minlength=n_sentences)
                    right = np.bincount(sentences, weights=right_words, minlength=n_sentences).astype(np.int64)
                    by_relation.append(_mean_score(name, right, words, outcomes.runs, weights))
        return tuple(
            Comparable(family, tuple(measured), "words whose head is found", "words", self.seed)
            for family, measured in families.items()
        )


def _mean_score(
    name: str,
    right: Int[ndarray, " sentences"],
    words: Int[ndarray, " sentences"],
    n_runs: int,
    weights: Float[ndarray, "replicates sentences"],
) -> Measured:
    """Return the mean score over runs, and how far it deviates in each replicate; NaN in one without words."""
    n_words, total = int(words.sum()), weights @ words  # in the corpus, and in each replicate
    value = rate(int(right.sum()), n_words * n_runs)
    deviations = np.where(total > 0, (weights @ right) / n_runs / np.maximum(total, 1), np.nan) - value
    return Measured(name, value, n_words, deviations, units=effective_number(words))
