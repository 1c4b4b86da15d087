"""Held-out gains over baselines and their intervals against loops over sentences in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from attentionology.analyses.alignment.accuracy import BASELINES as RULES
from attentionology.analyses.alignment.scores import LinkCounts, count_links
from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.analyses.counting.outcomes import SPLITS
from attentionology.analyses.counting.resampling import halves, poisson_weights
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.corpora_loaders import OFFSETS, Sentence
from tests.alignment import tables
from tests.documents import corpus
from tests.maps import RELATIONS, batch_of, random_corpus
from tests.reference import naive, naive_coreference
from tests.reference import test_alignment_scores as pairs
from tests.reference.test_coreference import random_case

REPLICATES = 40
Weights = Sequence[float]
Rate = Callable[[Any, Weights], float]
"""The rate of a candidate over sentences with these weights; larger is better."""


def best(candidates: Sequence[Any], rate: Rate, weights: Weights) -> Any:
    """The best candidate; of equally good ones, the last."""
    rates = [rate(candidate, weights) for candidate in candidates]
    return candidates[max(range(len(candidates)), key=lambda index: (rates[index], index))]


def cuts(ids: Sequence[str], seed: int, size: Callable[[Weights], float]) -> list[tuple[Weights, Weights]]:
    """The halves that choose, each with the half that is scored. An empty half does not choose."""
    firsts = halves(ids, SPLITS, seed).astype(float).tolist()
    both = [(first, [1 - one for one in first]) for first in firsts]
    return [each for first, second in both for each in ((first, second), (second, first)) if size(each[0])]


def choice_deviations(candidates: Sequence[Any], rate: Rate, replicates: Sequence[Weights]) -> np.ndarray:
    """How far the rate in the whole corpus of the candidate that is best in each replicate is from its mean."""
    whole = [1.0] * len(replicates[0])
    rates = np.array([rate(best(candidates, rate, drawn), whole) for drawn in replicates])
    return np.asarray(rates - rates.mean())


def held_out_accuracy(
    right: Sequence[dict[Any, int]], total: Sequence[int], candidates: Sequence[Any], ids: Sequence[str], seed: int
) -> tuple[float, np.ndarray]:
    """The held-out accuracy of the best candidate, and its deviations in the replicates.

    Args:
        right: the right decisions of each sentence by candidate.
        total: the decisions of each sentence.
        candidates: what is chosen from; of equally good ones, the last is.
        ids: the ids of the sentences.
        seed: the seed.
    """

    def size(weights: Weights) -> float:
        return sum(weight * n for weight, n in zip(weights, total, strict=True))

    def rate(candidate: Any, weights: Weights) -> float:
        return sum(weight * of[candidate] for weight, of in zip(weights, right, strict=True)) / size(weights)

    chosen = [(best(candidates, rate, choosing), scoring) for choosing, scoring in cuts(ids, seed, size)]
    scored = sum(size(scoring) for _, scoring in chosen)
    of_halves = [(rate(candidate, scoring) * size(scoring), size(scoring)) for candidate, scoring in chosen]
    value = sum(rate(candidate, scoring) * size(scoring) for candidate, scoring in chosen) / scored
    drawn = poisson_weights(ids, REPLICATES, seed).astype(float).tolist()
    whole = [1.0] * len(ids)
    scores = [
        sum(size(s) / scored * (rate(candidate, weights) - rate(candidate, whole)) for candidate, s in chosen)
        for weights in drawn
    ]
    # Every split has two halves that choose, if it is as large as here.
    of_both = [[sum(numbers) for numbers in zip(*two, strict=True)] for two in zip(*[iter(of_halves)] * 2, strict=True)]
    splits = naive.of_splits([right / n for right, n in of_both], REPLICATES)
    return value, np.array(scores) + choice_deviations(candidates, rate, drawn) + splits


def check(row: Any, gain: float, deviations: np.ndarray) -> None:
    """Compare a row of a table with a gain and its deviations, of which some must not be 0."""
    low, high = naive.around(gain, deviations.tolist())
    assert low < high
    columns = [row[name] for name in ("heldout_gain", "heldout_gain_low", "heldout_gain_high")]
    np.testing.assert_allclose(columns, [gain, low, high], atol=1e-11)


def of_offset(sentence: Sentence, offset: int, relation: str) -> int:
    return sum(
        min(max(i + offset, 1), len(sentence)) == head
        for i, (head, name) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1)
        if name == relation
    )


def test_gains_over_offsets_that_are_chosen_on_the_same_half():
    texts, maps = random_corpus(22, sentences=40)
    metric = DependencyAccuracy(RELATIONS, 2, 3, replicates=REPLICATES, seed=9)
    metric.update(batch_of(texts, maps))
    table = metric.compute().best.set_index("relation")
    ids = [sentence.id for sentence in texts]
    single = [naive.dependency_counts([text], [of_text]) for text, of_text in zip(texts, maps, strict=True)]
    offsets_differ = False
    for relation in ("det", "obj"):
        heads = [(layer, head, d) for layer in (1, 2) for head in (1, 2, 3) for d in ("dep->head", "head->dep")]
        by_head = [{cell: right[relation, cell[2], cell[0], cell[1]] for cell in heads} for right, _ in single]
        by_offset = [{offset: of_offset(text, offset, relation) for offset in sorted(OFFSETS)} for text in texts]
        total = [n[relation] for _, n in single]
        value, deviations = held_out_accuracy(by_head, total, heads, ids, 9)
        of_best_offset, of_offsets = held_out_accuracy(by_offset, total, sorted(OFFSETS), ids, 9)
        check(table.loc[relation], value - of_best_offset, deviations - of_offsets)
        offsets_differ |= of_best_offset != pytest.approx(table.loc[relation, "offset_accuracy"])
    assert offsets_differ  # the offset that is best on all sentences is another baseline


def test_gains_over_rules_on_the_same_mentions():
    docs, windows, maps = random_case(7, documents=20)
    metric = CoreferenceAccuracy(corpus(*docs), 2, 3, replicates=REPLICATES, seed=4)
    metric.update(batch_of(windows, maps))
    table = metric.compute().best.set_index(["candidates", "type"])
    ids, rules, right, total = [one.id for one in docs], [], [], []
    for one, window, of_window in zip(docs, windows, maps, strict=True):
        alone = CoreferenceAccuracy(corpus(one), 2, 3, replicates=0)
        alone.update(batch_of([window], [of_window]))
        baselines = alone.compute().baselines.set_index(["baseline", "type"])["correct"]
        rules.append({"rules": int(baselines["rule-based", "all"])})
        of_document, n = naive_coreference.counts([window], [of_window])
        right.append(of_document)
        total.append(n["all"])
    order = {"mention->antecedent": 0, "antecedent->mention": 1}
    for policy in ("preceding", "words"):
        cells = [(policy, "all", d, layer, head) for layer in (1, 2) for head in (1, 2, 3) for d in order]
        value, deviations = held_out_accuracy(right, total, cells, ids, 4)
        of_rules, deviations_of_rules = held_out_accuracy(rules, total, ["rules"], ids, 4)
        check(table.loc[policy, "all"], value - of_rules, deviations - deviations_of_rules)


def held_out_error(counts: dict[Any, list[LinkCounts]], ids: Sequence[str]) -> tuple[float, np.ndarray]:
    """The same for alignment error rates, whose counts are added up over all that is scored."""
    candidates = list(counts)[::-1]  # of equally good ones, the first is chosen

    def added(candidate: Any, weights: Weights) -> LinkCounts:
        each = [one for weight, one in zip(weights, counts[candidate], strict=True) for _ in range(int(weight))]
        return sum(each, LinkCounts())

    def rate(candidate: Any, weights: Weights) -> float:
        return -added(candidate, weights).error_rate

    chosen = [(best(candidates, rate, choosing), scoring) for choosing, scoring in cuts(ids, 3, sum)]
    value = sum((added(candidate, scoring) for candidate, scoring in chosen), LinkCounts()).error_rate
    drawn = poisson_weights(ids, pairs.REPLICATES, 3).astype(float).tolist()

    def of_chosen(weights: Weights) -> float:
        return sum((added(candidate, weights) for candidate, _ in chosen), LinkCounts()).error_rate

    scores = np.array([of_chosen(weights) for weights in drawn]) - of_chosen([1.0] * len(ids))
    both = zip(*[iter(added(candidate, scoring) for candidate, scoring in chosen)] * 2, strict=True)
    splits = naive.of_splits([(first + second).error_rate for first, second in both], pairs.REPLICATES)
    return value, scores - choice_deviations(candidates, rate, drawn) + splits


def test_gains_over_alignments_that_need_no_model():
    results = tables({pairs.SERIES: pairs.counted(pairs.PAIRS)}, {name: pairs.baseline(name) for name in RULES})
    gold = [pairs.GOLD[pair.id] for pair in pairs.PAIRS]
    heads = {
        cell: [count_links(pairs.naive_links(pair, *cell), of) for pair, of in zip(pairs.PAIRS, gold, strict=True)]
        for cell in np.ndindex(pairs.LAYERS, pairs.HEADS)
    }
    rules = {
        name: [count_links(rule(pair), of) for pair, of in zip(pairs.PAIRS, gold, strict=True)]
        for name, rule in RULES.items()
    }
    ids = [pair.id for pair in pairs.PAIRS]
    error, deviations = held_out_error(heads, ids)
    of_rules, deviations_of_rules = held_out_error(rules, ids)
    check(results.best.iloc[0], of_rules - error, deviations_of_rules - deviations)


def test_without_a_scored_half_there_is_no_gain():
    texts, maps = random_corpus(21, sentences=1)
    metric = DependencyAccuracy(RELATIONS, 2, 3, replicates=REPLICATES)
    metric.update(batch_of(texts, maps))
    best_heads = metric.compute().best
    assert best_heads[["heldout_gain", "heldout_gain_low", "heldout_gain_high"]].isna().all(axis=None)
