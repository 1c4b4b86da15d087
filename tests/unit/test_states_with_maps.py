"""Probes that read word maps beside hidden states: whose maps they are, and where they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attentionology.corpora_loaders import Treebank
from attentionology.extractors import StateMaker, extract_many
from attentionology.probes import ArcAttentionProbe, ArcProbe
from attentionology.testing.models import small_encoder
from tests.unit.test_state_probes import SENTENCES, SHORT, module_of


@pytest.fixture(scope="module")
def read():
    """States and maps of the same forward passes, each a batch of its own."""
    makers: list[Any] = ["weight", StateMaker((1,))]
    made = list(extract_many(small_encoder(), Treebank(tuple(SENTENCES[:8])), makers, batch_cells=1))
    return [states for _, states in made], [maps for maps, _ in made]


def test_maps_of_the_same_forward_pass_are_learned_from(read):
    states, maps = read
    both = ArcAttentionProbe(recipe=SHORT).fit(states, maps=maps)
    assert module_of(both).attention.weight.detach().abs().max() > 0
    assert both.heads_ == 6
    alone = ArcProbe(recipe=SHORT).fit(states)
    np.testing.assert_array_equal(alone.predict(states, maps)[0], alone.predict(states)[0])


def test_maps_of_other_sentences_are_refused(read):
    states, maps = read
    others = [maps[1], maps[0], *maps[2:]]
    with pytest.raises(ValueError, match=r"not of the same sentences in the same order: '.*' and '.*'"):
        ArcAttentionProbe(recipe=SHORT).fit(states, maps=others)
    fitted = ArcAttentionProbe(recipe=SHORT).fit(states, maps=maps)
    with pytest.raises(ValueError, match="not of the same sentences"):
        fitted.predict(states, others)
    with pytest.raises(ValueError, match="trained on maps of 6 heads beside the states, these are of 0"):
        fitted.predict(states)
    few = extract_many(small_encoder(layers=1, heads=1), Treebank(tuple(SENTENCES[:8])), ["weight"], batch_cells=1)
    with pytest.raises(ValueError, match="these are of 1"):
        fitted.predict(states, [batch for (batch,) in few])
