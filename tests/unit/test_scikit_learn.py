"""Probes are estimators of scikit-learn: its folds, grids and pipelines take their maps and states."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline

from attentionology import load_treebank, store_maps, store_states
from attentionology.probes import AttentionProbe, DistanceProbe, FixedOffset, LabelProbe, Recipe, StateRecipe
from tests import tiny

QUICK = Recipe(epochs=1)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder, encoder, corpus = tmp_path_factory.mktemp("stores"), tiny.encoder("bert"), load_treebank("sample", limit=9)
    return store_maps(encoder, corpus, folder), store_states(encoder, corpus, folder, layers=[1]).layer(1)


@pytest.mark.parametrize("probe", [AttentionProbe(recipe=QUICK), FixedOffset()])
def test_cross_validation_trains_and_tests_on_the_folds(stored, probe):
    maps, _ = stored
    expected = []
    for train, test in KFold(3).split(range(len(maps))):
        expected.append(clone(probe).fit([maps[i] for i in train]).score([maps[i] for i in test]))
    assert cross_val_score(probe, list(maps), cv=3).tolist() == expected
    with pytest.raises(TypeError, match=r"give scikit-learn list\(maps\)"):  # not folds of their layers
        cross_val_score(probe, maps, cv=3)


def test_a_grid_chooses_the_recipe_with_the_best_score(stored):
    maps, _ = stored
    slow = Recipe(epochs=1, learning_rate=1e-9)
    grid = GridSearchCV(AttentionProbe(), {"recipe": [slow, QUICK]}, cv=2).fit(list(maps))
    scores = [cross_val_score(AttentionProbe(recipe=recipe), list(maps), cv=2).mean() for recipe in (slow, QUICK)]
    assert grid.cv_results_["mean_test_score"].tolist() == pytest.approx(scores)
    assert grid.best_params_["recipe"] == (slow if scores[0] >= scores[1] else QUICK)


def test_pipelines_fit_predict_and_score(stored):
    maps, _ = stored
    pipeline = Pipeline([("probe", AttentionProbe(recipe=QUICK))]).fit(maps)
    alone = AttentionProbe(recipe=QUICK).fit(maps)
    assert pipeline.score(maps) == alone.score(maps)
    assert all(map(np.array_equal, pipeline.predict(maps), alone.predict(maps)))
    assert pipeline.set_params(probe__random_state=5)["probe"].random_state == 5


def test_probes_of_states_are_scored_by_their_first_metric(stored):
    _, states = stored
    probe = LabelProbe(recipe=StateRecipe(epochs=2))
    expected = []
    for train, test in KFold(3).split(range(len(states))):
        fitted = clone(probe).fit([states[i] for i in train])
        right = total = 0
        for batch, predicted in zip((states[i] for i in test), fitted.predict([states[i] for i in test]), strict=True):
            tags = batch.sentences[0].tags
            right += sum(fitted.classes_[guess] == tag for guess, tag in zip(predicted.argmax(1), tags, strict=True))
            total += len(tags)
        expected.append(right / total)
    assert cross_val_score(probe, states, cv=3).tolist() == pytest.approx(expected)
    assert probe.get_params()["key"] == "upos"
    assert clone(probe).get_params() == probe.get_params()


@pytest.mark.parametrize("base", [AttentionProbe, LabelProbe, DistanceProbe])
def test_a_copy_keeps_what_a_constructor_passes_on(base):
    class Scaled(base):
        def __init__(self, scale=1.0, **others):
            super().__init__(**others)
            self.scale = scale

    probe = Scaled(scale=2.0, random_state=5)
    assert set(probe.get_params()) == {"scale", *base().get_params()}
    assert clone(probe).get_params() == probe.get_params()
    assert clone(probe).set_params(random_state=6).random_state == 6
    assert "random_state=5" in repr(probe)
