"""The weights of attention heads on the arcs of trees, against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attentionology.corpora_loaders import Sentence
from attentionology.probes import (
    ArcWeights,
    AttentionProbe,
    AttentionWordsProbe,
    added_up,
    arc_weights,
    gold_heads,
    scored,
)
from tests.maps import batch_of, random_corpus
from tests.probing import VECTORS, batches_of, blank


class TestArcWeights:
    def naive(self, sentences, maps, weights_of, layers, heads):
        """Relation → arcs, sums of weight and of weight × attention; weights_of: words of the arc → features."""
        found: dict[str, list[Any]] = {}
        for sentence, array in zip(sentences, maps, strict=True):
            for i, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1):
                if not head or relation == "punct":
                    continue
                weight = weights_of(sentence.words[i - 1], sentence.words[head - 1]).reshape(2, layers, heads)
                attention = np.stack([array[..., i, head], array[..., head, i]])
                own = found.setdefault(relation, [0, 0, 0])
                own[0] += 1
                own[1] = own[1] + weight
                own[2] = own[2] + weight * attention
        return found

    @pytest.mark.parametrize("words", [False, True])
    @pytest.mark.parametrize("shape", [(2, 3), (3, 1)])
    def test_equal_a_plain_loop(self, words, shape):
        sentences, maps = random_corpus(7, layers=shape[0], heads=shape[1])
        batches = [batch_of(sentences[:9], maps[:9]), batch_of(sentences[9:], maps[9:])]
        probe = (AttentionWordsProbe(VECTORS) if words else AttentionProbe()).fit(batches)
        p = {name: value.detach().double().numpy() for name, value in probe.scorer_.named_parameters()}

        def weights_of(dependent: str, head: str) -> np.ndarray:
            if not words:
                return np.asarray(p["weight"].ravel())
            v_i, v_c = VECTORS([dependent, head]).astype(float)
            return np.asarray(p["dependent"] @ v_i + p["candidate"] @ v_c + p["bias"])

        expected = self.naive(sentences, maps, weights_of, *shape)
        found = arc_weights(probe, batches)
        assert set(found) == set(expected) == {"det", "nsubj", "nsubj:pass", "obj"}
        for relation, (arcs, weight, contribution) in expected.items():
            assert found[relation].arcs == arcs
            np.testing.assert_allclose(found[relation].weight, weight, rtol=0, atol=1e-4)
            np.testing.assert_allclose(found[relation].contribution, contribution, rtol=0, atol=1e-4)
        apart = added_up([arc_weights(probe, batches[:1]), {}, arc_weights(probe, batches[1:])])
        for relation, own in found.items():
            assert apart[relation].arcs == own.arcs
            np.testing.assert_allclose(apart[relation].contribution, own.contribution, rtol=1e-12)

    def test_contributions_of_the_right_arcs_are_their_scores(self):
        """What all heads together add to a candidate is the score of the probe."""
        batches = batches_of(8, sentences=12)
        probe = AttentionWordsProbe(VECTORS).fit(batches)
        arcs = added_up([arc_weights(probe, batches)])
        total = 0.0
        for batch, scores in zip(batches, probe.scores(batches), strict=True):
            gold, counts = gold_heads(batch.sentences[0]), scored(batch.sentences[0])
            total += sum(float(scores[i, gold[i]]) for i in np.flatnonzero(counts & (gold > 0)))
        assert sum(own.contribution.sum() for own in arcs.values()) == pytest.approx(total, abs=1e-4)

    def test_added_up(self):
        def one(arcs: int, value: float) -> ArcWeights:
            return ArcWeights(arcs, np.full((2, 1, 1), value), np.full((2, 1, 1), 10 * value))

        parts = [{"a": one(1, 1.0), "b": one(2, 5.0)}, {"a": one(4, 2.0)}]
        found = added_up(parts)
        assert {name: (own.arcs, own.weight[0, 0, 0], own.contribution[1, 0, 0]) for name, own in found.items()} == {
            "a": (5, 3.0, 30.0), "b": (2, 5.0, 50.0),
        }  # fmt: skip
        assert parts[0]["a"].weight[0, 0, 0] == 1.0  # left as it was
        assert added_up([]) == {}

    def test_order_is_the_same_in_every_process(self):
        """Sums of floating-point numbers depend on it, and the order of a set is another in every process."""
        names = tuple(f"relation{i}" for i in range(12))
        sentence = Sentence("s", names, (*range(2, 13), 1), names[::-1])
        found = arc_weights(AttentionProbe().fit(blank(sentence)), blank(sentence))
        assert list(found) == sorted(names)

    def test_roots_and_punctuation_are_no_arcs(self):
        sentence = Sentence("s", ("a", "b"), (0, 1), ("root", "punct"))
        assert arc_weights(AttentionProbe().fit(blank(sentence)), blank(sentence)) == {}
