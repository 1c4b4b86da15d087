"""Attention classifiers: what they read, how they are trained, and what they imitate."""

from __future__ import annotations

import itertools
import json
import math
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from attentionology.analyses.explanation.readings import Given, reading, uniform_rows
from attentionology.corpora_loaders import WordVectors
from attentionology.extractors.replaceable.attention_model import (
    AttentionModel,
    LinearAttentionModel,
    Special,
    TextState,
    probabilities,
)
from attentionology.probes.classifiers import (
    IMITATION,
    AttentionClassifier,
    ClassifierRecipe,
    CrossEntropy,
    Imitation,
    Vocabulary,
    cosine_to_mean,
    train,
)
from attentionology.probes.classifiers import attention_classifier as module
from attentionology.probes.classifiers.encoders import ENCODERS as ENCODERS_BY_NAME
from attentionology.probes.classifiers.encoders import Projection
from attentionology.probes.classifiers.training import mean_auc, shuffled_batches
from attentionology.probes.classifiers.vocabulary import END, MASK, PAD, SPECIAL, START, UNKNOWN
from attentionology.probes.training import TrainingError
from attentionology.storage.sealed import ANYWHERE, DamagedError
from attentionology.storage.tensors import read_tensors, write_tensors

ENCODERS = ("lstm", "cnn", "average", "none")
REGULARIZERS = (None, "concat", "residual", "tying", "mlm", "conicity")
KINDS = [*itertools.product(ENCODERS, ("additive", "dot"), REGULARIZERS)]
WORDS = "the a film plot was is not very good bad dull warm and but".split()


def some_texts(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(WORDS, size=n).tolist()) for n in lengths]


TEXTS = [*some_texts([7, 1, 0, 3, 12, 5]), ("unseen",), ("quite", "unseen", "words")]


def built(encoder="lstm", attention="additive", regularizer=None, classes=2, **options):
    model = AttentionClassifier(encoder, attention, regularizer, **{"dimensions": 8, "size": 8} | options)
    return model.build(Vocabulary(tuple(WORDS)), "abcd"[:classes])


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


# reading


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
            hidden, words = state.memory["hidden"], model.table(torch.tensor([model.vocabulary.ids(("good", "film"))]))
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
    attended = torch.cat([state.memory["hidden"], state.memory["words"]], -1)
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


def test_what_occurs_twice_is_read_once():
    seen: list[tuple[str, ...]] = []

    class Noted(AttentionClassifier):
        def encode(self, texts, *, gradient=False):
            seen.extend(texts)
            return super().encode(texts, gradient=gradient)

    model = Noted("none", dimensions=4).build(Vocabulary(tuple(WORDS)), "ab")
    found = probabilities(model, [("a",), ("the",), ("a",)])
    assert sorted(seen) == [("a",), ("the",)]
    assert torch.equal(found[0], found[2])


def test_every_place_is_in_one_batch_and_batches_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "_BATCH_CELLS", 60)
    texts = some_texts([0, 3, 100, 7, 7, 0, 20, 58, 59, 1])
    batches = list(built().batches(texts))
    assert sorted(itertools.chain(*batches)) == list(range(10))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * (max(len(texts[i]) for i in batch) + 2) <= 60
    assert [i for batch in batches for i in batch] == sorted(range(10), key=lambda i: -len(texts[i]))
    assert list(built().batches([])) == []


def test_gradients_begin_at_the_embeddings_if_asked():
    model = built()
    state = model.encode(TEXTS, gradient=True)
    assert state.embeddings.is_leaf
    assert state.embeddings.requires_grad
    assert not model.encode(TEXTS).embeddings.is_leaf
    with torch.no_grad():
        assert not model.encode(TEXTS).alpha.requires_grad
    assert model.embeddings(state) is state.embeddings
    assert model.special == "keep"


# vocabulary


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


# sizes and errors


@pytest.mark.parametrize(
    ("encoder", "regularizer", "size", "expected"),
    [
        ("lstm", None, None, 256),
        ("cnn", None, None, 128),
        ("average", None, None, 128),
        ("none", None, None, 12),
        ("none", None, 12, 12),
        ("lstm", "residual", None, 12),
        ("cnn", "tying", None, 12),
        ("average", "residual", 12, 12),
        ("lstm", "concat", None, 256),
        ("lstm", "mlm", 6, 6),
        ("cnn", "conicity", 8, 8),
    ],
)
def test_sizes(encoder, regularizer, size, expected):
    model = AttentionClassifier(encoder, regularizer=regularizer, dimensions=12, size=size)
    model.build(Vocabulary(tuple(WORDS)), "ab")
    assert model.config["size"] == expected
    state = model.encode([("good", "film")])
    assert state.memory["hidden"].shape == (1, 2, expected)
    assert model.decoder.in_features == expected + 12 * (regularizer == "concat")


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


@pytest.mark.parametrize("options", [{"encoder": "other"}, {"attention": "other"}, {"regularizer": "other"}])
def test_unknown_names(options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        AttentionClassifier(**options)


def test_errors():
    with pytest.raises(ValueError, match="at least two classes, not 1"):
        built(classes=1)
    model = AttentionClassifier("none", dimensions=4)
    with pytest.raises(ValueError, match="'c' is not in list"):
        model.fit([("a",), ("b",)], ["a", "b"], ([("a",)], ["c"]))


# penalties


def test_penalties_equal_the_naive_formulas():
    for regularizer, strength in itertools.product(("tying", "conicity"), (1.0, 0.3)):
        model = built("cnn", regularizer=regularizer, strength=strength)
        state = model.encode(TEXTS)
        expected = 0.0
        for text in TEXTS:
            own = model.encode([text]).memory
            h, e = (own[name][0].detach().double().numpy() for name in ("hidden", "words"))
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


# files


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


def test_a_model_with_vectors_and_odd_words_can_be_saved(tmp_path):
    vectors = WordVectors(np.ones((1, 6), dtype=np.float32), {"naïve": 0})
    model = AttentionClassifier("none").fit(
        [("naïve", "“"), ("\n", "雪")], ["a", "b"], vectors=vectors, recipe=ClassifierRecipe(epochs=1)
    )
    model.save(tmp_path / "m")
    read = AttentionClassifier.load(tmp_path / "m")
    assert read.vocabulary == model.vocabulary
    assert torch.equal(read.table.weight, model.table.weight)


def test_other_files_are_told_from_models(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        AttentionClassifier.load(tmp_path / "none")
    (tmp_path / "text").write_text("no tensors here")
    save_file({"a": torch.zeros(1)}, tmp_path / "bare")
    save_file({"a": torch.zeros(1)}, tmp_path / "other", {"format": "pt"})
    built().save(tmp_path / "model")
    tensors, facts = read_tensors(tmp_path / "model", ANYWHERE)
    with safe_open(tmp_path / "model", "pt") as file:
        save_file({"table.weight": torch.zeros(1)}, tmp_path / "damaged", file.metadata())
    with pytest.raises(DamagedError, match="does not match its SHA-256 digest"):
        AttentionClassifier.load(tmp_path / "damaged")
    write_tensors(tmp_path / "changed", {"table.weight": torch.zeros(1)}, facts, ANYWHERE)
    write_tensors(tmp_path / "untold", tensors, {"classes": facts["classes"]}, ANYWHERE)
    for name in ("text", "bare", "other", "changed", "untold"):
        with pytest.raises((OSError, SafetensorError, KeyError, ValueError)):
            AttentionClassifier.load(tmp_path / name)


def test_a_model_that_was_saved_without_a_digest_is_still_read(tmp_path):
    model = built(random_state=4)
    facts = {"config": model.config, "classes": model.classes, "words": model.vocabulary.words}
    save_file(model.state_dict(), tmp_path / "model", {"classifier": json.dumps(facts)})
    read = AttentionClassifier.load(tmp_path / "model")
    assert torch.equal(probabilities(read, TEXTS), probabilities(model, TEXTS))
    save_file({"table.weight": torch.zeros(1)}, tmp_path / "changed", {"classifier": json.dumps(facts)})
    with pytest.raises(ValueError, match="holds no classifier"):
        AttentionClassifier.load(tmp_path / "changed")


# training

SMALL = ClassifierRecipe(epochs=3, batch_size=4)


def labelled(count=40, seed=0):
    rng = np.random.default_rng(seed)
    texts = some_texts(rng.integers(1, 9, size=count), seed)
    return texts, ["yes" if "good" in text else "no" for text in texts]


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.state_dict().values()])


@pytest.mark.parametrize(("encoder", "regularizer"), [*zip(ENCODERS, ("mlm", "tying", "conicity", None), strict=True)])
def test_training_hangs_on_the_seed_alone(encoder, regularizer):
    texts, labels = labelled()

    def fitted(seed=1):
        model = AttentionClassifier(encoder, "additive", regularizer, dimensions=8, random_state=seed)
        return weights(model.fit(texts, labels, (texts, labels), recipe=SMALL))

    torch.manual_seed(1)
    before = torch.get_rng_state()
    expected = fitted()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    np.random.seed(5)  # noqa: NPY002
    numbers = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert torch.equal(fitted(), expected)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
    assert np.array_equal(np.random.get_state(legacy=False)["state"]["key"], numbers)  # noqa: NPY002
    assert not torch.equal(fitted(2), expected)


def test_cross_entropy_gives_both_classes_the_published_weights():
    labels = [0, 0, 0, 1, 0, 1, 0]
    objective = CrossEntropy(labels, 2)
    positive = len(labels) / sum(labels) - 1
    assert (objective.weights[1] / objective.weights[0]).item() == pytest.approx(positive)
    assert objective.weights[objective.labels].mean().item() == pytest.approx(1)
    z = torch.randn(4, generator=seeded())
    logits = torch.stack([torch.zeros(4), z], dim=1)
    places = [0, 3, 5, 6]
    found = objective(places, built().encode([("a",)] * 4), torch.ones(4, 1, 1), logits)
    published = torch.nn.functional.binary_cross_entropy_with_logits(
        z, torch.tensor([0.0, 1.0, 1.0, 0.0]), pos_weight=torch.tensor([positive]), reduction="sum"
    )
    torch.testing.assert_close(found / objective.weights[0], published)
    assert CrossEntropy([0, 1, 1, 2, 2, 2, 2], 3).weights.tolist() == pytest.approx([7 / 3, 7 / 6, 7 / 12])


class Scripted:
    """The loss of each epoch is given; the state says which epoch it is."""

    classes: tuple[str, ...] = ("a", "b")
    special: Special = "keep"

    def __init__(self, losses):
        self.losses, self.calls, self.weight = losses, 0, torch.nn.Parameter(torch.zeros(()))

    def batches(self, texts):
        yield list(range(len(texts)))

    def encode(self, texts, *, gradient=False):
        mask = torch.ones(len(texts), 1, dtype=torch.bool)
        return TextState(tuple(texts), torch.ones(len(texts), 1, 1), mask, mask[..., None].float(), mask.long() - 1)

    def attention(self, state):
        return state.alpha, state.mask

    def decode(self, state, alpha):
        return torch.zeros(len(state), alpha.shape[1], 2) + 0 * self.weight

    def embeddings(self, state):
        return state.embeddings

    def scores(self, state):
        return state.alpha[:, 0]

    def penalty(self, state, generator):
        self.calls += 1
        return 0 * self.weight + self.losses[self.calls - 1]

    def parameters(self):
        yield self.weight

    def parameter_groups(self, weight_decay):
        return [{"params": [self.weight], "weight_decay": weight_decay}]

    def state_dict(self):
        return {"calls": torch.tensor(self.calls)}

    def load_state_dict(self, state_dict):
        self.calls = int(state_dict["calls"])


def nothing(places, state, alpha, logits):
    return logits.sum() * 0


@pytest.mark.parametrize(
    ("losses", "patience", "epochs", "best"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], None, 5, 1),
        ([5.0, 4.0, 3.0, 3.0, 4.0], None, 5, 3),
        ([5.0, 4.0, 3.0, 2.0, 1.0], 0, 5, 5),
        ([5.0, 4.0, 6.0, 2.0, 1.0], 0, 3, 2),
        ([5.0, 6.0, 4.0, 5.0, 5.0], 1, 5, 3),
        ([5.0, 6.0, 6.0, 4.0, 5.0], 1, 3, 1),
        ([1.0, 1.0, 1.0, 1.0, 1.0], 2, 4, 1),
    ],
)
def test_the_best_epoch_is_kept_and_patience_has_an_end(losses, patience, epochs, best):
    model = Scripted(losses)
    told: list[int] = []
    recipe = ClassifierRecipe(epochs=5, batch_size=9, patience=patience)
    history = train(model, [("a",), ("b",)], nothing, recipe, report=lambda done, _: told.append(done))
    assert [row["loss"] for row in history] == [loss / 2 for loss in losses[:epochs]]
    assert [row["epoch"] for row in history] == list(range(1, epochs + 1))
    assert all(row["dev_auc"] is None for row in history)
    assert model.calls == best
    assert told == [2] * epochs


def test_the_best_epoch_is_that_of_the_dev_texts():
    texts, labels = labelled()
    model = AttentionClassifier("average", dimensions=8, size=8)
    model.fit(
        texts, labels, (texts[:20], labels[:20]), recipe=ClassifierRecipe(epochs=6, batch_size=8, learning_rate=0.05)
    )
    scores = [row["dev_auc"] for row in model.history_]
    y = np.array([label == "yes" for label in labels[:20]]).astype(int)
    assert len(scores) == 6
    assert mean_auc(probabilities(model, texts[:20]).numpy(), y) == max(scores)
    first = AttentionClassifier("average", dimensions=8, size=8)
    first.fit(texts, labels, (texts[:20], ["no"] * 20), recipe=ClassifierRecipe(epochs=4))
    once = AttentionClassifier("average", dimensions=8, size=8).fit(texts, labels, recipe=ClassifierRecipe(epochs=1))
    assert [row["dev_auc"] for row in first.history_] == [0.5] * 4
    assert torch.equal(weights(first), weights(once))


def test_auc_worked_by_hand():
    second = np.array([0.9, 0.4, 0.6, 0.7, 0.2])
    assert mean_auc(np.stack([1 - second, second], 1), np.array([1, 1, 1, 0, 0])) == pytest.approx(4 / 6)
    assert mean_auc(np.eye(3)[[0, 1, 2, 2]], np.array([0, 1, 2, 0])) == pytest.approx((0.75 + 1 + 5 / 6) / 3)
    assert mean_auc(np.ones((3, 2)) / 2, np.array([1, 1, 1])) == 0.5


def test_batches_are_of_similar_length_and_another_order_every_epoch():
    texts = some_texts(np.random.default_rng(0).integers(0, 50, size=103))
    batches = list(shuffled_batches(texts, 8, (0, 1)))
    assert sorted(itertools.chain(*batches)) == list(range(103))
    assert sorted(map(len, batches)) == [7] + [8] * 12
    spread = [max(len(texts[i]) for i in batch) - min(len(texts[i]) for i in batch) for batch in batches]
    assert np.mean(spread) < 10
    assert list(shuffled_batches(texts, 8, (0, 1))) == batches
    assert list(shuffled_batches(texts, 8, (0, 2))) != batches
    assert list(shuffled_batches(texts, 8, (1, 1))) != batches


def test_what_cannot_be_learned_from():
    with pytest.raises(TrainingError, match="no text"):
        train(built(), [], CrossEntropy([], 2))
    with pytest.raises(TrainingError, match="the loss of epoch 2 is nan"):
        train(Scripted([1.0, math.nan]), [("a",)], nothing)
    with pytest.raises(TrainingError, match="the loss of epoch 1 is inf"):
        train(Scripted([math.inf]), [("a",)], nothing)


def test_weights_that_are_no_numbers_are_not_kept():
    """The loss of the first epoch is that before its only step."""
    texts, labels = labelled()
    for dev in (None, (texts, labels)):
        model = AttentionClassifier("none", dimensions=8)
        with pytest.raises(TrainingError):
            model.fit(texts, labels, dev, recipe=ClassifierRecipe(epochs=1, batch_size=99, learning_rate=1e38))


def test_clipping_bounds_the_step_of_the_first_epoch():
    texts, labels = labelled(8)
    grown = []
    for clip in (None, 1e-12):
        model = built("average")
        before = weights(model)
        recipe = ClassifierRecipe(epochs=1, batch_size=8, clip=clip, weight_decay=0.0)
        train(model, texts, CrossEntropy([label == "yes" for label in labels], 2), recipe)
        grown.append((weights(model) - before).abs().max().item())
    assert grown[1] < 0.1 * grown[0]


def test_attention_and_embeddings_have_no_weight_decay():
    model = built(regularizer="mlm")
    rest, spared = model.parameter_groups(0.25)
    assert (rest["weight_decay"], spared["weight_decay"]) == (0.25, 0.0)
    assert {id(p) for p in spared["params"]} == {id(p) for p in (*model.attend.parameters(), model.table.weight)}
    assert sorted(id(p) for p in rest["params"] + spared["params"]) == sorted(id(p) for p in model.parameters())


@pytest.mark.parametrize("attend", ["uniform", "given"])
def test_attention_from_outside_is_that_of_training(attend):
    texts, labels = labelled(24)
    seen: list[tuple[tuple[str, ...], Any]] = []
    model = built("lstm")
    other = reading(built("lstm", random_state=9), texts)
    given = uniform_rows if attend == "uniform" else Given(texts, other.attention)
    decode = model.decode
    before = [parameter.detach().clone() for parameter in model.attend.parameters()]

    def noted(state, alpha):
        seen.extend((text, row) for text, row in zip(state.texts, alpha.detach()[:, 0, 0].numpy(), strict=True))
        return decode(state, alpha)

    model.decode = noted
    y = [int(label == "yes") for label in labels]
    train(model, texts, CrossEntropy(y, 2), SMALL, dev=(texts, y), attend=given)
    assert len(seen) == 3 * 24 + 3 * len(set(texts))
    for text, row in seen:
        of_text = next(own[0] for own, t in zip(other.attention, texts, strict=True) if t == text)
        expected = np.full(len(text), 1 / len(text)) if attend == "uniform" else of_text
        np.testing.assert_allclose(row[: len(text)], expected, atol=1e-6)
        assert (row[len(text) :] == 0).all()
    for parameter, was in zip(model.attend.parameters(), before, strict=True):
        assert parameter.grad is None
        assert torch.equal(parameter, was)


@pytest.mark.parametrize(("encoder", "attention"), [("average", "additive"), ("lstm", "additive"), ("cnn", "dot")])
def test_a_keyword_is_learned_and_attended_to(encoder, attention):
    rng = np.random.default_rng(0)
    fill = [word for word in WORDS if word not in ("good", "bad")]

    def sample(count):
        texts, labels = [], []
        for _ in range(count):
            words = rng.choice(fill, size=rng.integers(4, 10)).tolist()
            labels.append(str(rng.choice(["good", "bad"])))
            words[rng.integers(len(words))] = labels[-1]
            texts.append(tuple(words))
        return texts, labels

    (texts, labels), (unseen, gold) = sample(300), sample(100)
    model = AttentionClassifier(encoder, attention, dimensions=16, size=16)
    model.fit(texts, labels, recipe=ClassifierRecipe(epochs=10, batch_size=16, learning_rate=0.01))
    found = reading(model, unseen)
    assert np.mean([model.classes[c] == label for c, label in zip(found.predicted, gold, strict=True)]) > 0.95
    share = [
        alpha[0, text.index(label)] * len(text)
        for alpha, text, label in zip(found.attention, unseen, gold, strict=True)
    ]
    assert np.mean(share) > 1.3
    assert np.mean(np.array(share) > 1) > 0.7


# imitation


def naive_loss(places, base, attention, alpha, logits, strength, divergence):
    total = 0.0
    for row, place in enumerate(places):
        p = np.exp(logits[row] - logits[row].max())
        total += abs(p / p.sum() - base[place]).sum() / 2
        far = []
        for one, other in zip(alpha[row], attention[place], strict=True):
            one = one[: len(other)]
            middle = (one + other) / 2
            pairs = [(one, other)] if divergence == "kl" else [(one, middle), (other, middle)]
            far.append(
                np.mean(
                    [
                        sum(x * (math.log(max(x, 1e-10)) - math.log(max(y, 1e-10))) for x, y in zip(*pair, strict=True))
                        for pair in pairs
                    ]
                )
            )
        total -= strength * np.mean(far)
    return total


@pytest.mark.parametrize(
    ("divergence", "strength", "rows", "classes"), [*itertools.product(("kl", "jsd"), (0.0, 0.3), (1, 2), (2, 3))]
)
def test_the_loss_of_an_adversary_equals_the_naive_formula(divergence, strength, rows, classes):
    rng = np.random.default_rng(0)
    lengths = [5, 3, 1, 4]
    attention = [rng.dirichlet([0.5] * n, size=rows).astype(np.float32) for n in lengths]
    attention[0][:, 2] = 0  # weights may underflow
    base = rng.dirichlet([1.0] * classes, size=4)
    places = [3, 0, 2]
    alpha = torch.zeros(3, rows, 5)
    for row, place in enumerate(places):
        alpha[row, :, : lengths[place]] = torch.from_numpy(rng.dirichlet([0.5] * lengths[place], size=rows))
    alpha[1, :, 0] = 0
    alpha.requires_grad_()
    logits = torch.from_numpy(rng.normal(size=(3, classes))).float().requires_grad_()
    mask = torch.arange(5) < torch.tensor([[lengths[place]] for place in places])
    state = TextState((("a",),) * 3, alpha, mask, torch.zeros(3, 5, 1), torch.zeros(3, 5, dtype=torch.int64))
    loss = Imitation(base, attention, strength, divergence)(places, state, alpha, logits)
    expected = naive_loss(
        places, base, attention, alpha.detach().numpy(), logits.detach().numpy(), strength, divergence
    )
    assert loss.item() == pytest.approx(expected, abs=1e-5)
    for slope in torch.autograd.grad(loss, (alpha, logits)):
        assert slope.isfinite().all()
    if not strength:
        alone = (logits.detach().softmax(-1) - torch.from_numpy(base[places])).abs().sum() / 2
        assert loss.item() == pytest.approx(alone.item(), abs=1e-6)


def test_what_an_adversary_may_not_be():
    divergence: Any = "other"
    with pytest.raises((ValueError, TypeError), match="divergence"):
        Imitation(np.ones((1, 2)), [np.ones((1, 1))], 0.0, divergence)
    for strength in (-1e-9, math.nan):
        with pytest.raises(ValueError, match="λ must be at least 0"):
            Imitation(np.ones((1, 2)), [np.ones((1, 1))], strength)


def test_an_adversary_without_strength_imitates_and_one_with_much_attends_elsewhere():
    texts, labels = labelled(60)
    base = AttentionClassifier("average", dimensions=8, size=8).fit(
        texts, labels, recipe=ClassifierRecipe(epochs=8, learning_rate=0.02)
    )
    own = reading(base, texts)
    recipe = ClassifierRecipe(epochs=25, learning_rate=0.02, patience=IMITATION.patience)
    found = {}
    for strength in (0.0, 1.0):
        model = AttentionClassifier("average", dimensions=8, size=8, random_state=7).build(
            base.vocabulary, base.classes
        )
        train(model, texts, Imitation(own.probabilities, own.attention, strength, "jsd"), recipe)
        other = reading(model, texts)
        moved = [abs(a - b).sum() for a, b in zip(own.attention, other.attention, strict=True)]
        found[strength] = abs(own.probabilities - other.probabilities).sum(1).mean() / 2, np.mean(moved)
    assert found[0.0][0] < 0.1
    assert found[1.0][1] > found[0.0][1] + 0.2
