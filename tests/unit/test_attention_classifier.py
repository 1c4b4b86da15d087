"""Classifiers whose attention can be replaced: what they read, their sizes and penalties, and what they save."""

from __future__ import annotations

import itertools
import json
import math
import re
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from attentionology.analyses import examine
from attentionology.corpora_loaders import WordVectors
from attentionology.extractors.replaceable.attention_model import AttentionModel, LinearAttentionModel, probabilities
from attentionology.probes.classifiers import AttentionClassifier, Vocabulary, cosine_to_mean
from attentionology.probes.classifiers import attention_classifier as module
from attentionology.probes.classifiers.encoders import ENCODERS as ENCODERS_BY_NAME
from attentionology.probes.classifiers.encoders import Projection
from attentionology.probes.classifiers.vocabulary import END, MASK, PAD, SPECIAL, START, UNKNOWN
from tests.unit.classified import ENCODERS, KINDS, REGULARIZERS, TEXTS, WORDS, built, seeded, some_texts, weights


@pytest.mark.parametrize(("encoder", "attention", "regularizer"), KINDS)
def test_a_text_is_read_the_same_in_any_company(encoder, attention, regularizer):
    model = built(encoder, attention, regularizer, classes=3)
    together = model.encode(TEXTS, gradient=True)
    logits = model.decode(together, together.alpha[:, None])[:, 0]
    (gradients,) = torch.autograd.grad(logits.logsumexp(-1).sum(), together.embeddings, retain_graph=True)
    total = 0.0
    for i, text in enumerate(TEXTS):
        state = model.encode([text], gradient=True)
        n = len(text)
        torch.testing.assert_close(state.alpha[0, :, :n], together.alpha[i, :, :n])
        assert (together.alpha[i, :, n:] == 0).all()
        assert together.mask[i].tolist() == [True] * n + [False] * (12 - n)
        assert together.word_of[i].tolist() == [-1, *range(n), -1] + [-1] * (12 - n)
        alone = model.decode(state, state.alpha[:, None])[0, 0]
        torch.testing.assert_close(alone, logits[i], rtol=1e-4, atol=1e-6)
        (gradient,) = torch.autograd.grad(alone.logsumexp(-1), state.embeddings, retain_graph=True)
        torch.testing.assert_close(gradient[0], gradients[i, : n + 2], rtol=1e-4, atol=1e-6)
        if regularizer != "mlm":
            total += model.penalty(state, seeded()).item()
    if regularizer != "mlm":
        assert model.penalty(together, seeded()).item() == pytest.approx(total, rel=1e-5, abs=1e-6)
        assert (total > 0) == (regularizer == "conicity" or (regularizer == "tying" and encoder != "none"))
    np.testing.assert_allclose(
        together.alpha.sum(-1)[:, 0].detach(), [float(len(text) > 0) for text in TEXTS], atol=1e-6
    )


@pytest.mark.parametrize(("encoder", "classes"), [*itertools.product(ENCODERS, (2, 3, 4))])
def test_logits_are_linear_in_attention(encoder, classes):
    model = built(encoder, "dot", "concat", classes)
    assert isinstance(model, AttentionModel)
    assert isinstance(model, LinearAttentionModel)
    with torch.no_grad():
        state = model.encode(TEXTS)
        many = torch.rand(len(TEXTS), 5, 1, 12) * state.mask[:, None, None]
        many[:, 0] = state.alpha
        many[:, 1] = 0
        logits = model.decode(state, many)
        evidence, bias = model.evidence(state)
        assert logits.shape == (len(TEXTS), 5, classes)
        assert evidence.shape == (len(TEXTS), 12, classes)
        torch.testing.assert_close(logits, bias + torch.einsum("bkn,bnc->bkc", many[:, :, 0], evidence))
        torch.testing.assert_close(logits[:, 1], bias.expand(len(TEXTS), -1))
        for k in range(5):
            torch.testing.assert_close(model.decode(state, many[:, k : k + 1])[:, 0], logits[:, k])
        identity, mask = model.attention(state)
        torch.testing.assert_close(model.decode(state, identity[:, None])[:, 0], logits[:, 0])
        assert torch.equal(mask, state.mask)
        assert torch.equal(model.scores(state), identity[:, 0])
        if classes == 2:
            assert (logits[..., 0] == 0).all()
            assert (evidence[..., 0] == 0).all()
            assert bias[0] == 0
        torch.testing.assert_close(probabilities(model, TEXTS), logits[:, 0].double().softmax(-1), rtol=0, atol=1e-6)


def test_the_states_attended_to():
    for regularizer in REGULARIZERS:
        model = built("lstm", regularizer=regularizer)
        with torch.no_grad():
            state = model.encode([("good", "film")])
            hidden, words = state.hidden, model.table(torch.tensor([model.vocabulary.ids(("good", "film"))]))
            attended = {"concat": torch.cat([hidden, words], -1), "residual": hidden + words}.get(
                regularizer or "", hidden
            )
            scores = model.attend(attended)[..., 0]
            torch.testing.assert_close(state.alpha[:, 0], scores.softmax(-1))
            context = (state.alpha @ attended)[:, 0]
            torch.testing.assert_close(model.decode(state, state.alpha[:, None])[:, 0, 1:], model.decoder(context))


def test_dot_attention_is_scaled_and_additive_attention_has_half_the_width():
    model = built("average", "dot", "concat", size=4)
    state = model.encode([("good", "film", "bad")])
    attended = torch.cat([state.hidden, state.words], -1)
    expected = (attended @ model.attend.weight[0] / math.sqrt(12)).softmax(-1)
    torch.testing.assert_close(state.alpha[:, 0], expected)
    additive = built("average").attend
    assert [tuple(parameter.shape) for parameter in additive.parameters()] == [(4, 8), (4,), (1, 4)]
    v, (weight, bias) = additive[2].weight[0], (additive[0].weight, additive[0].bias)
    h = torch.randn(8, generator=seeded())
    torch.testing.assert_close(additive(h)[0], v @ torch.tanh(weight @ h + bias))


def test_texts_of_one_word_of_none_and_of_unknown_words_only():
    for encoder in ENCODERS:
        model = built(encoder)
        found = probabilities(model, [(), ("good",), ("unseen",), ("other",)])
        assert found.isfinite().all()
        torch.testing.assert_close(found[2], found[3])
        bias = torch.cat([torch.zeros(1), model.decoder.bias.detach()]).double().softmax(-1)
        torch.testing.assert_close(found[0], bias)
        torch.testing.assert_close(probabilities(model, [(), ()]), bias.expand(2, -1))


def test_every_place_is_in_one_batch_and_batches_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "_BATCH_CELLS", 60)
    texts = some_texts([0, 3, 100, 7, 7, 0, 20, 58, 59, 1])
    batches = list(built().batches(texts))
    assert sorted(itertools.chain(*batches)) == list(range(10))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * (max(len(texts[i]) for i in batch) + 2) <= 60
    assert [i for batch in batches for i in batch] == sorted(range(10), key=lambda i: -len(texts[i]))
    assert list(built().batches([])) == []


def test_words_that_are_known():
    texts = [("b", "a", "b"), ("c", "b", "a", "Good")]
    assert Vocabulary.of(texts).words == ("Good", "a", "b", "c")
    assert Vocabulary.of(texts, min_count=2).words == ("a", "b")
    assert Vocabulary.of(texts, min_count=9).words == ()
    vectors = WordVectors(np.ones((2, 3), dtype=np.float32), {"z": 0, "a": 1})
    assert Vocabulary.of(texts, min_count=3, vectors=vectors).words == ("b", "z", "a")


def test_words_are_looked_up_as_written_then_in_lower_case():
    vocabulary = Vocabulary(("Good", "good", "film"))
    assert len(vocabulary) == 8
    assert vocabulary.ids(("Good", "good", "GOOD", "Film", "[PAD]", "")) == [5, 6, 6, 7, UNKNOWN, UNKNOWN]
    assert vocabulary.unknown([("Good", "x"), (), ("y", "FILM", "z")]) == 3
    assert [SPECIAL[i] for i in (PAD, UNKNOWN, START, END, MASK)] == ["[PAD]", "[UNK]", "[SOS]", "[EOS]", "[MASK]"]


def test_embeddings_begin_with_the_vectors():
    vectors = WordVectors(np.arange(6, dtype=np.float32).reshape(2, 3), {"good": 0, "other": 1})
    model = AttentionClassifier("none").build(Vocabulary(("Good", "bad", "other")), "ab", vectors)
    assert (model.config["dimensions"], model.config["size"]) == (3, 3)
    weight = model.table.weight.detach()
    assert weight[[5, 7]].tolist() == [[0, 1, 2], [3, 4, 5]]
    plain = AttentionClassifier("none", dimensions=3).build(Vocabulary(("Good", "bad", "other")), "ab")
    assert torch.equal(weight[[0, 1, 2, 3, 4, 6]], plain.table.weight[[0, 1, 2, 3, 4, 6]])
    assert (weight[PAD] == 0).all()
    assert model.table.weight.requires_grad


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "none", "size": 10}, "must have the 12 dimensions of the embeddings here, not 10"),
        ({"regularizer": "residual", "size": 10}, "must have the 12 dimensions of the embeddings here, not 10"),
        ({"regularizer": "tying", "size": 10}, "must have the 12 dimensions of the embeddings here, not 10"),
        ({"encoder": "lstm", "size": 7}, "'lstm' must be a multiple of 2, not 7"),
        ({"encoder": "cnn", "size": 6}, "'cnn' must be a multiple of 4, not 6"),
        ({"encoder": "cnn", "size": 0}, "multiple of 4, not 0"),
        ({"encoder": "average", "size": -8}, "multiple of 1, not -8"),
    ],
)
def test_sizes_that_are_not_possible(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        AttentionClassifier(**{"dimensions": 12} | options).build(Vocabulary(tuple(WORDS)), "ab")


@pytest.mark.parametrize("workers", [1, 2])
def test_an_explanation_test_may_take_gradients_of_decoded_outputs(workers):
    """Gradients with respect to attention are those of finite differences, in whatever thread the test runs."""
    model = built("lstm", classes=3).double()
    texts = some_texts([7, 1, 3, 12])

    def slopes(batch):
        alpha = batch.alpha[:, None].clone().requires_grad_()
        batch.decoded(alpha)[..., 0].sum().backward()
        expected = torch.zeros_like(batch.weights)
        for word in range(batch.weights.shape[1]):
            step = torch.zeros_like(alpha)
            step[..., word] = 1e-6
            with torch.no_grad():
                there, back = (batch.decoded(alpha + sign * step)[:, 0, 0] for sign in (1, -1))
            expected[:, word] = (there - back) / 2e-6
        of_words = alpha.grad[:, 0, 0] * batch.mask
        torch.testing.assert_close(of_words, expected * batch.mask, rtol=1e-5, atol=1e-8)
        return {"slope": of_words.abs().amax(-1).numpy()}

    table = examine(model, list("abcd"), texts, {"slopes": slopes}, workers=workers)
    assert (table["slope"] > 0).all()


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
    other = json.dumps({**facts, "reads": "pictures"})
    save_file(model.state_dict(), tmp_path / "other", {"classifier": other})
    with pytest.raises(KeyError, match="pictures"):
        AttentionClassifier.load(tmp_path / "other")
