"""Probes and baselines as estimators, their weights on the arcs of trees, and saved files that are broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch
from attentionology.probes import (
    AttentionProbe,
    AttentionWordsProbe,
    TrainingError,
    added_up,
    arc_weights,
    load_probe,
)
from attentionology.storage.sealed import ANYWHERE, read_json, write_json
from tests.maps import batch_of, random_corpus
from tests.probing import CAT, VECTORS, batches_of, blank, chain, predictors


@pytest.fixture(scope="module")
def batches() -> list[MapBatch]:
    return batches_of(1)


class TestDemandingUsers:
    """What people try with ``from probes import …``."""

    def test_streams_are_lists(self, batches):
        for predictor in predictors():
            few = batches[:8]
            score = predictor.fit(few).score(few)
            heads = predictor.predict(few)
            assert predictor.fit(iter(few)).score(iter(few)) == score
            assert all((a == b).all() for a, b in zip(predictor.predict(iter(few)), heads, strict=True))

    def test_nothing_at_all(self):
        for probe in predictors()[3:]:
            with pytest.raises(TrainingError, match="no sentence to learn from"):
                probe.fit([])
            with pytest.raises(TrainingError, match="no sentence to learn from"):
                probe.fit(iter([]))
        fitted = AttentionProbe().fit(blank(CAT))
        assert fitted.predict([]) == []
        assert np.isnan(fitted.score([]))

    def test_fit_that_fails_leaves_what_was_learned(self, batches):
        probe = AttentionProbe().fit(batches)
        before = probe.coef_.copy()
        with pytest.raises(TrainingError):
            probe.fit(blank(chain(2, None, None)))
        assert (probe.coef_ == before).all()
        assert probe.shape_ == (2, 3)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
    def test_maps_of_other_precision(self, batches, dtype):
        rounded = [replace(b, maps=b.maps.to(dtype).float()) for b in batches]
        given = [replace(b, maps=b.maps.to(dtype)) for b in batches]
        for predictor in predictors():
            expected = predictor.fit(rounded).predict(rounded)
            assert all((a == b).all() for a, b in zip(predictor.fit(given).predict(given), expected, strict=True))

    def test_without_special_tokens_the_root_scores_zero(self, batches):
        bare = [MapBatch(b.maps[..., 1:-1, 1:-1], b.lengths - 2, b.special[:, 1:-1], b.sentences) for b in batches]
        for probe in (AttentionProbe(), AttentionWordsProbe(VECTORS)):
            for batch, scores in zip(bare, probe.fit(bare).scores(bare), strict=True):
                assert scores.shape == (len(batch.sentences[0]), len(batch.sentences[0]) + 1)
                assert (scores[:, 0] == 0).all()
                assert (scores[:, 1:] != 0).all()

    def test_batches_of_any_size_give_the_same_heads(self):
        sentences, maps = random_corpus(9)
        together, apart = batch_of(sentences, maps), [batch_of([s], [m]) for s, m in zip(sentences, maps, strict=True)]
        for predictor in predictors():
            expected = predictor.fit(apart).predict(apart)
            found = predictor.fit([together]).predict([together])
            assert all((a == b).all() for a, b in zip(found, expected, strict=True))
            assert predictor.score([together]) == predictor.score(apart)

    def test_argmax_and_tree_are_decoded_from_the_scores(self, batches):
        pytest.importorskip("ufal.chu_liu_edmonds")
        probe = AttentionProbe().fit(batches)
        for batch, scores in zip(batches, probe.scores(batches), strict=True):
            assert probe.predict([batch])[0].tolist() == [max(range(len(row)), key=row.__getitem__) for row in scores]
            heads = probe.predict([batch], "tree")[0]
            assert (heads == 0).sum() == 1
            assert (heads != np.arange(1, len(heads) + 1)).all()

    def test_maps_that_are_not_numbers(self, batches):
        broken = [replace(batches[0], maps=batches[0].maps * float("nan"))]
        with pytest.raises(TrainingError, match="'s0' is nan"):
            AttentionProbe().fit(broken)


def description(saved: Path) -> dict[str, Any]:
    """What ``probe.json`` says, without its seal."""
    return read_json(saved / "probe.json", ANYWHERE)


class TestBrokenFiles:
    @pytest.fixture
    def saved(self, tmp_path: Path) -> Path:
        AttentionProbe().fit(batches_of(1)).save(tmp_path / "probe")
        return tmp_path / "probe"

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"layers": 7}, "weights do not fit the description"),
            ({"recipe": {"epoch": 1}}, "damaged: TypeError"),
            ({"probe": "mlp"}, "unknown probe 'mlp'"),
        ],
    )
    def test_description_of_something_else(self, saved, changes, message):
        write_json(saved / "probe.json", description(saved) | changes, ANYWHERE)
        with pytest.raises(ValueError, match=message):
            load_probe(saved)


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

    def test_order_is_the_same_in_every_process(self):
        """Sums of floating-point numbers depend on it, and the order of a set is another in every process."""
        names = tuple(f"relation{i}" for i in range(12))
        sentence = Sentence("s", names, (*range(2, 13), 1), names[::-1])
        found = arc_weights(AttentionProbe().fit(blank(sentence)), blank(sentence))
        assert list(found) == sorted(names)
