"""Penalties of attention classifiers, and what they leave on disk."""

from __future__ import annotations

import itertools
import json
import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from attentionology.extractors.replaceable.attention_model import probabilities
from attentionology.probes.classifiers import AttentionClassifier, cosine_to_mean
from attentionology.probes.classifiers.encoders import ENCODERS as ENCODERS_BY_NAME
from attentionology.probes.classifiers.encoders import Projection
from attentionology.probes.classifiers.vocabulary import END, MASK, PAD, START
from tests.unit.classified import KINDS, REGULARIZERS, TEXTS, WORDS, built, seeded, some_texts, weights


def test_penalties_equal_the_naive_formulas():
    for regularizer, strength in itertools.product(("tying", "conicity"), (1.0, 0.3)):
        model = built("cnn", regularizer=regularizer, strength=strength)
        state = model.encode(TEXTS)
        expected = 0.0
        for text in TEXTS:
            alone = model.encode([text])
            h, e = (tensor[0].detach().double().numpy() for tensor in (alone.hidden, alone.words))
            per_word = [float(np.linalg.norm(h[t] - e[t])) for t in range(len(text))]
            if regularizer == "conicity":
                mean = np.mean(h, axis=0) if len(text) else 0.0
                lengths = [np.linalg.norm(x) * np.linalg.norm(mean) for x in h]
                per_word = [float(x @ mean / n) if n else 0.0 for x, n in zip(h, lengths, strict=True)]
            expected += strength * float(np.mean(per_word)) if len(text) else 0.0
        assert model.penalty(state, seeded()).item() == pytest.approx(expected, rel=1e-5)
    assert built().penalty(built().encode(TEXTS), seeded()).item() == 0
    assert [built(regularizer=r).config["strength"] for r in REGULARIZERS] == [0, 0, 0, 0.1, 1, 0.1]


def test_the_conicity_of_states_on_one_line_is_one():
    h = torch.tensor([[[1.0, 2.0], [2.0, 4.0], [9.0, -9.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    found = cosine_to_mean(h, torch.tensor([[True, True, False], [True, True, True]]))
    torch.testing.assert_close(found, torch.tensor([[1, 1, 0], [math.sqrt(0.5), math.sqrt(0.5), 1.0]]))


def test_the_masked_words_are_told_from_the_states():
    model = built("lstm", regularizer="mlm", strength=0.5)
    texts = some_texts([30, 12, 0, 5], seed=2)
    found = model.penalty(model.encode(texts), seeded(3))
    hit = torch.rand(4, 30, generator=seeded(3)) < 0.15
    expected = 0.0
    with torch.no_grad():
        for row, text in enumerate(texts):
            masked = [t for t in range(len(text)) if hit[row, t]]
            ids = model.vocabulary.ids(text)
            shown = [START, *(MASK if t in masked else ids[t] for t in range(len(text))), END]
            states = model.encoder(model.table(torch.tensor([shown])), torch.tensor([len(shown)]))[0]
            errors = [-model.tell(states[t + 1]).log_softmax(-1)[ids[t]].item() for t in masked]
            expected += 0.5 * float(np.mean(errors)) if errors else 0.0
    assert expected > 0
    assert found.item() == pytest.approx(expected, rel=1e-5)
    assert model.penalty(model.encode(texts), seeded(3)).item() == found.item()
    assert model.penalty(model.encode(texts), seeded(4)).item() != found.item()
    nothing = model.penalty(model.encode([(), ()]), seeded())
    assert nothing.item() == 0
    (slope,) = torch.autograd.grad(nothing, model.tell.weight)
    assert (slope == 0).all()


@pytest.mark.parametrize(("encoder", "attention", "regularizer"), KINDS)
def test_a_step_of_every_kind_has_finite_gradients(encoder, attention, regularizer):
    model = built(encoder, attention, regularizer)
    with torch.no_grad():
        if encoder == "cnn":
            for convolution in model.encoder.convolutions:
                convolution.bias.fill_(-99.0)  # all states are zeros
    state = model.encode(TEXTS)
    loss = model.decode(state, state.alpha[:, None]).square().sum() + model.penalty(state, seeded())
    torch.autograd.backward(loss)
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
    assert (model.table.weight.grad[PAD] == 0).all()


def test_models_built_side_by_side_are_those_built_one_after_the_other(monkeypatch):
    class Slow(Projection):
        def __init__(self, dimensions, size):
            time.sleep(0.01)
            super().__init__(dimensions, size)

    monkeypatch.setitem(ENCODERS_BY_NAME, "average", Slow)

    def made(seed):
        return weights(built("average", random_state=seed))

    expected = [made(seed) for seed in range(8)]
    before = torch.get_rng_state()
    with ThreadPoolExecutor(4) as pool:
        assert all(map(torch.equal, pool.map(made, range(8)), expected))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("encoder", "attention", "regularizer"), KINDS[::5])
def test_what_was_saved_gives_the_same_to_the_last_bit(encoder, attention, regularizer, tmp_path):
    model = built(encoder, attention, regularizer, classes=3, random_state=4)
    path = tmp_path / "deep" / "model.safetensors"
    model.save(path)
    read = AttentionClassifier.load(path)
    assert torch.equal(probabilities(read, TEXTS), probabilities(model, TEXTS))
    assert (read.classes, read.vocabulary, read.config) == (model.classes, model.vocabulary, model.config)
    again = tmp_path / "again"
    read.save(again)
    assert again.read_bytes() == path.read_bytes()
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert json.loads(header["__metadata__"]["attentionology"])["words"] == WORDS
    assert b"\x80\x04" not in raw[:64]


def test_a_model_that_was_saved_without_a_digest_is_still_read(tmp_path):
    model = built(random_state=4)
    facts = {"config": model.config, "classes": model.classes, "words": model.vocabulary.words}
    save_file(model.state_dict(), tmp_path / "model", {"classifier": json.dumps(facts)})
    read = AttentionClassifier.load(tmp_path / "model")
    assert torch.equal(probabilities(read, TEXTS), probabilities(model, TEXTS))
    save_file({"table.weight": torch.zeros(1)}, tmp_path / "changed", {"classifier": json.dumps(facts)})
    with pytest.raises(ValueError, match="holds no classifier"):
        AttentionClassifier.load(tmp_path / "changed")
