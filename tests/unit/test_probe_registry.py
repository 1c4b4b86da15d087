"""Probes by name, also those of other people, and their parameters, as scikit-learn has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from attentionology.corpora_loaders import WordVectors
from attentionology.probes import (
    TUNED,
    AttentionProbe,
    FixedOffset,
    Probe,
    ProbeRegistryError,
    WordProbe,
    WordsDistancesProbe,
    list_probes,
    load_probe,
    make_probe,
    register_probe,
    registered_probes,
    unregister_probe,
)
from tests.maps import batch_of, random_corpus


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
    assert list_probes() == ["attention", "attention+words", "words+distances", "mine"]
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
    with pytest.raises(ValueError, match="AttentionProbe has no parameter 'seed'; choose from: recipe, random_state"):
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
