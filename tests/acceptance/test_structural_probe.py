"""The probes of distances and depths against the published code of Hewitt & Manning (2019), which has no seed here.

The unchanged modules of that code (probe, loss, data and reporter) gave these numbers for the demo model: 300 sentences
of the training part of the English Web Treebank, the first 300 of the dev part, batches of 20 in the order of the file,
and a projection that is a formula. Layers are counted from the embeddings; punctuation is told by the tags of the Penn
Treebank, as there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attentionology import load_encoder, load_treebank, store_states
from attentionology.probes import DepthProbe, DistanceProbe, StateRecipe
from attentionology.probes.states.annotation import kept_words
from attentionology.probes.states.examples import Reading
from attentionology.probes.states.tree_scores import mean_by_length

RANK = 64
GOLDEN = {  # losses after 0, 1 and 5 epochs; then the score and the correlation after 0 and after 5 epochs
    (DistanceProbe, 0): ((10.48035, 4.98713, 1.99689), (10.555, 12.468), (0.14579, 0.19680)),
    (DistanceProbe, 2): ((14.69834, 5.90778, 1.84312), (12.111, 17.494), (0.17608, 0.25816)),
    (DistanceProbe, 6): ((5.18346, 3.84073, 2.60844), (12.216, 13.352), (0.12411, 0.13824)),
    (DepthProbe, 0): ((6.04037, 3.09640, 1.35549), (10.333, 21.667), (-0.11571, 0.30897)),
    (DepthProbe, 2): ((9.20149, 4.32390, 1.44460), (12.667, 19.000), (-0.00066, 0.32041)),
    (DepthProbe, 6): ((4.28801, 3.20785, 2.13569), (12.667, 15.667), (-0.10979, 0.01976)),
}


@pytest.fixture(scope="module")
def states(data_file, tmp_path_factory):
    """The stored states of the training and of the tested sentences."""
    folder = tmp_path_factory.mktemp("states")
    encoder = load_encoder("demo")
    parts = ("ud/en_ewt-train.conllu", "ud/en_ewt-dev.conllu")
    sentences = [load_treebank(data_file(name), limit=300).sentences for name in parts]
    return [store_states(encoder, each, folder, layers=[0, 2, 6], progress=False) for each in sentences]


def published(base: Any) -> Any:
    """Return the probe with the projection and the punctuation of the comparison."""

    class Published(base):  # type: ignore[misc]
        def make_module(self, dim: int) -> Any:
            module = super().make_module(dim)
            row, column = np.meshgrid(np.arange(dim), np.arange(RANK), indexing="ij")
            module.weight.data = torch.from_numpy(0.05 * np.sin(RANK * row + column + 1)).float()
            return module

        def kept(self, sentence: Any) -> Any:
            return kept_words(sentence, by_xpos=True)

    return Published


QUICK = ((DepthProbe, 2, 1), (DistanceProbe, 2, 1))
"""The probe, the layer and the number of epochs, of which there are five with the slow tests."""


@pytest.mark.parametrize(
    ("base", "layer", "epochs"),
    [*QUICK, *(pytest.param(*case, 5, marks=pytest.mark.slow) for case in GOLDEN if (*case, 5) not in QUICK)],
)
def test_losses_and_scores_are_those_of_the_published_code(base, layer, epochs, states):
    train, test = (stored.layer(layer) for stored in states)
    assert sum(map(len, train.sentences)) == 7027
    assert sum(map(len, test.sentences)) == 5708
    losses, scores, correlations = GOLDEN[base, layer]
    lengths = [len(sentence) for sentence in test.sentences]
    found = []
    trainings = [(number, rate) for number, rate in ((1, 1e-30), (1, 0.001), (5, 0.001)) if number <= epochs]
    for number, rate in trainings:  # the first stays where it begins
        recipe = StateRecipe(epochs=number, learning_rate=rate, shuffle=False)
        probe = published(base)(rank=RANK, recipe=recipe).fit(train)
        reading = Reading(test, (), probe.gold)
        with torch.inference_mode():
            loss = sum(float(probe.losses(probe.module_(each), each)) for each in reading.in_order()) / len(test)
        score, correlation = ([outcome[m.name] for outcome in probe.outcomes(test)] for m in probe.metrics)
        share = 100 * sum(fraction.found for fraction in score) / sum(fraction.of for fraction in score)
        found.append((loss, share, mean_by_length(correlation, lengths)))
    scored = found[::2]  # the published code was not asked for scores after one epoch
    assert [loss for loss, _, _ in found] == pytest.approx(losses[: len(found)], rel=1e-3)
    assert [share for _, share, _ in scored] == pytest.approx(scores[: len(scored)], abs=0.1)
    assert [value for _, _, value in scored] == pytest.approx(correlations[: len(scored)], abs=1e-3)
