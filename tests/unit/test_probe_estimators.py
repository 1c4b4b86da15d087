"""Probes and baselines as estimators and by name, their weights on the arcs of trees, and damaged files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from attentionology.corpora_loaders import Sentence, WordVectors
from attentionology.extractors import MapBatch
from attentionology.probes import (
    TUNED,
    AttentionProbe,
    AttentionWordsProbe,
    FixedOffset,
    Probe,
    ProbeRegistryError,
    TrainingError,
    WordProbe,
    WordsDistancesProbe,
    added_up,
    arc_weights,
    list_probes,
    load_probe,
    make_probe,
    register_probe,
    registered_probes,
    unregister_probe,
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


class Mine(AttentionProbe):
    name = "mine"


class WithWords(WordProbe):
    name = "mine+words"


@pytest.fixture
def registered():
    yield register_probe(Mine)
    unregister_probe("mine")


def test_a_probe_that_is_registered_can_be_made_saved_and_loaded(registered, tmp_path):
    assert registered is Mine
    assert list_probes()[:4] == ["attention", "attention+words", "words+distances", "mine"]
    sentences, maps = random_corpus(1)
    batches = [batch_of([s], [m]) for s, m in zip(sentences, maps, strict=True)]
    probe = make_probe("mine", random_state=4).fit(batches)
    assert isinstance(probe, Mine)
    assert (probe.coef_ == AttentionProbe(random_state=4).fit(batches).coef_).all()
    probe.save(tmp_path)
    loaded = load_probe(tmp_path)
    assert isinstance(loaded, Mine)
    assert (loaded.coef_ == probe.coef_).all()
    unregister_probe("mine")
    with pytest.raises(ValueError, match="unknown probe 'mine'; choose from: attention, attention"):
        load_probe(tmp_path)


def test_probes_that_read_words_get_vectors():
    vectors = WordVectors(np.zeros((1, 2), dtype=np.float32), {"a": 0})
    register_probe(WithWords)
    try:
        assert make_probe("mine+words", vectors).vectors is vectors
        with pytest.raises(ValueError, match="needs word vectors"):
            make_probe("mine+words")
    finally:
        unregister_probe("mine+words")


def named(name: Any) -> type[Probe]:
    return type("Named", (AttentionProbe,), {"name": name})


@pytest.mark.parametrize("name", ["attention", "mine"])
def test_a_name_is_given_once(registered, name):
    with pytest.raises(ProbeRegistryError, match=f"'{name}' is already registered"):
        register_probe(named(name))
    assert registered_probes()["mine"] is Mine


def test_parameters_are_those_of_the_constructor_and_a_repr_shows_those_that_were_chosen():
    probe = AttentionProbe(random_state=3)
    assert probe.get_params() == {"recipe": probe.recipe, "random_state": 3}
    assert repr(probe) == "AttentionProbe(random_state=3)"
    assert repr(FixedOffset()) == "FixedOffset()"
    assert probe.set_params(recipe=TUNED) is probe
    assert (probe.recipe, probe.random_state) == (TUNED, 3)
    with pytest.raises(ValueError, match="Invalid parameter 'seed' for estimator AttentionProbe"):
        probe.set_params(seed=1)


def test_a_clone_has_the_parameters_and_the_same_vectors_but_nothing_learned():
    vectors = WordVectors(np.ones((1, 4), np.float32), {"cats": 0})
    probe = WordsDistancesProbe(vectors, hidden=8, random_state=2)
    probe.shape_ = (1, 1)
    copy = clone(probe)
    assert type(copy) is WordsDistancesProbe
    assert copy.vectors is vectors
    assert (copy.hidden, copy.random_state) == (8, 2)
    assert not hasattr(copy, "shape_")
