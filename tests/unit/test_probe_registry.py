"""Probes of other people, and the examples in the documentation of all probes."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

from attentionology.corpora_loaders import WordVectors
from attentionology.probes import (
    AttentionProbe,
    Probe,
    ProbeRegistryError,
    WordProbe,
    list_probes,
    load_probe,
    make_probe,
    register_probe,
    registered_probes,
    registry,
    unregister_probe,
)
from attentionology.storage import plugins
from tests.maps import batch_of, random_corpus


class Mine(AttentionProbe):
    name = "mine"


class WithWords(WordProbe):
    name = "mine+words"


@pytest.fixture
def packages(monkeypatch):
    """A function that makes entry points those of installed packages."""

    def install(**values: str) -> None:
        points = [EntryPoint(name, value, registry.ENTRY_POINTS) for name, value in values.items()]
        monkeypatch.setattr(plugins, "entry_points", lambda group: [p for p in points if p.group == group])
        plugins.points_of.cache_clear()
        registry._from_packages.cache_clear()

    yield install
    monkeypatch.undo()
    plugins.points_of.cache_clear()
    registry._from_packages.cache_clear()


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


def test_packages_name_probes_as_entry_points(packages):
    packages(b=f"{__name__}:WithWords", a=f"{__name__}:Mine")
    assert list_probes()[3:] == ["mine", "mine+words"]
    assert isinstance(make_probe("mine"), Probe)
