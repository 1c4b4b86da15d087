"""Probes of states that know nothing: their scores against what chance is expected to give, which is a formula.

The states of the words of a sentence are independent and from one distribution, so every order of the words is equally
likely, whatever the projection. Each of the k words that are no punctuation is therefore the predicted root with
probability 1 / k. The spanning tree has k − 1 of the k (k − 1) / 2 pairs, so it has a given pair with probability
2 / k. And in the row of a word, its own distance is the smallest one, predicted and gold, and the others are in random
order. A chain of neighbors finds 40 % of the same edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats

from attentionology import load_treebank
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import StateBatch
from attentionology.probes import DepthProbe, DistanceProbe, LabelProbe, StateRecipe, tree_distances
from attentionology.probes.states.annotation import kept_words
from attentionology.probes.states.tree_scores import mean_by_length
from tests.unit.test_state_probes import noise

DRAWS = 6
STILL = StateRecipe(epochs=1, learning_rate=1e-30)
"""With this recipe, a probe stays what it is in the beginning."""


@pytest.fixture(scope="module")
def sentences(data_file) -> Sequence[Sentence]:
    return load_treebank(data_file("ud/en_ewt-dev.conllu"), limit=100).sentences


@pytest.fixture(scope="module")
def training(data_file) -> Sequence[Sentence]:
    return load_treebank(data_file("ud/en_ewt-train.conllu"), limit=200).sentences


def expected_scores(sentences: Sequence[Sentence]) -> tuple[float, float, float]:
    """Return the expected share of edges, correlation of distances, and share of roots."""
    pairs, edges, roots = 0.0, 0, list[float]()
    by_length: dict[int, list[float]] = {}
    for sentence in sentences:
        n, k = len(sentence), int(kept_words(sentence).sum())
        pairs, edges = pairs + (2 * (k - 1) / k if k else 0), edges + max(k - 1, 0)
        is_root = [head == 0 for head in sentence.heads]
        if any(np.array(is_root) & kept_words(sentence)):
            roots.append(1 / k)
        if not 5 <= n <= 50:
            continue
        variance = n * (n**2 - 1) / 12  # of n ranks, summed
        for row in tree_distances(sentence.heads):
            ranks = scipy.stats.rankdata(row)
            # The rank of the word itself is 1 in both rows. Those of all others have the same expected value.
            expected = (1 - ranks.mean()) ** 2 * (1 + 1 / (n - 1))
            of_gold = float(((ranks - ranks.mean()) ** 2).sum())
            by_length.setdefault(n, []).append(expected / (variance * of_gold) ** 0.5)
    correlation = float(np.mean([np.mean(of_length) for of_length in by_length.values()]))
    return pairs / edges, correlation, float(np.mean(roots))


def found_scores(probe: DistanceProbe | DepthProbe, states: Sequence[StateBatch]) -> tuple[float, float]:
    """Return the share of what is found, and the correlation."""
    outcomes = probe.outcomes(states)
    lengths = [len(sentence) for batch in states for sentence in batch.sentences]
    first, second = ([outcome[score.name] for outcome in outcomes] for score in probe.metrics)
    return sum(each.found for each in first) / sum(each.of for each in first), mean_by_length(second, lengths)


@pytest.mark.parametrize("is_trained", [False, True])
def test_trees_of_noise_are_those_of_chance(sentences, training, is_trained):
    recipe = StateRecipe(epochs=4, learning_rate=0.01) if is_trained else STILL
    drawn = []
    for draw in range(DRAWS):
        tested = noise(sentences, dim=16, seed=draw)
        trained = noise(training[:100] if is_trained else training[:2], dim=16, seed=DRAWS + draw % 2)
        probes = [kind(rank=8, recipe=recipe, random_state=draw).fit(trained) for kind in (DistanceProbe, DepthProbe)]
        drawn.append([*found_scores(probes[0], tested), *found_scores(probes[1], tested)])
    uuas, dspr, root, nspr = np.mean(drawn, axis=0)
    expected = expected_scores(sentences)
    assert expected == pytest.approx((0.098, 0.177, 0.07), abs=0.02)  # what one draw was measured to give elsewhere
    assert uuas == pytest.approx(expected[0], abs=0.01)
    assert dspr == pytest.approx(expected[1], abs=0.005)
    assert root == pytest.approx(expected[2], abs=0.015)
    assert nspr == pytest.approx(0, abs=0.03)


def test_labels_of_noise_are_found_by_their_frequencies_alone(sentences, training):
    """Guesses that know how frequent labels are find more than at random, and at most the most frequent label.

    That is as true of the tags as of control tasks, so selectivity is small.
    """
    states, tested = noise(training, dim=16), noise(sentences, dim=16, seed=1)
    accuracies = []
    for seed in (None, *range(4)):
        probe = LabelProbe(recipe=StateRecipe(epochs=10, learning_rate=0.01))
        gold = probe.gold if seed is None else probe.control(training, seed)
        known, asked = (
            Counter(label for sentence in part for label in gold(sentence)) for part in (training, sentences)
        )
        outcomes = [outcome["accuracy"] for outcome in probe.fit(states, tested, gold=gold).outcomes(tested, gold=gold)]
        accuracies.append(sum(each.found for each in outcomes) / asked.total())
        at_random = sum(count * asked[label] for label, count in known.items()) / known.total() / asked.total()
        assert at_random < accuracies[-1] < max(asked.values()) / asked.total() + 0.01
    of_tags, *of_controls = accuracies
    assert of_tags - np.mean(of_controls) == pytest.approx(0, abs=0.06)
