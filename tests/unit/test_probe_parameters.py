"""Probes have the protocol of scikit-learn's estimators."""

import numpy as np
import pytest
from sklearn.base import clone

from attentionology.corpora_loaders import WordVectors
from attentionology.probes import TUNED, AttentionProbe, FixedOffset, WordsDistancesProbe


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
