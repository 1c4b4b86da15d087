"""Gradients of attention in layers: against autograd on plain models, differences of losses, and what can go wrong."""

from __future__ import annotations

import copy
import sys
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
import transformers
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import (
    Encoder,
    MapMaker,
    ModelError,
    extract,
    extract_many,
    get_kind,
    register_kind,
    shared_cells,
)
from attentionology.extractors.kinds import registry
from attentionology.extractors.kinds.attention_gradient import text_vector
from attentionology.extractors.maps.map_maker import map_batches
from attentionology.extractors.maps.shared_pass import needs_of, shared_batches
from attentionology.extractors.model.float64_copy import InFloat64, float32_view
from tests import tiny
from tests.reference.naive_layers import merge_maps

KIND = "attention-x-gradient"
SENTENCES = [
    Sentence("long", ("The", "extraordinarily", "unbelievable", "dog", "barked", "at", "Mr.", "Szczepański", ".")),
    Sentence("two", ("Yes", "sir")),
]
SHORT = [Sentence("a", ("the", "and", ",", "was")), Sentence("b", ("the", "garden", "was", "the", "sea", "."))]
FEW = ("bert", "albert", "deberta", "modernbert", "gpt2", "llama")


@pytest.fixture
def own_kinds():
    """Kinds that a test registers are gone after it."""
    with mock.patch.dict(registry._KINDS):
        yield


def double_of(encoder: Encoder) -> Any:
    """The model of an encoder in float64, without anything of the toolkit."""
    return copy.deepcopy(encoder.model).double()


def loss_of(model: Any, pieces: Any) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Half the squared norm of the mean final state of one input, and the attention of its layers."""
    with InFloat64(model):
        output = model(input_ids=torch.tensor([pieces.ids]), output_attentions=True)
    mean = sum(output.last_hidden_state[0]) / len(pieces)
    return (mean @ mean) / 2, output.attentions


def naive(encoder: Encoder, sentence: Sentence, level: str = "token") -> np.ndarray:
    """The maps of all layers, from the sentence alone in float64."""
    pieces = tiny.pieces(encoder, sentence)
    loss, attentions = loss_of(double_of(encoder), pieces)
    gradients = torch.autograd.grad(loss, attentions)
    maps = [abs(alpha * g)[0].detach().numpy() for alpha, g in zip(attentions, gradients, strict=True)]
    return np.stack([merge_maps(layer, pieces.positions) if level == "word" else layer for layer in maps])


@pytest.mark.parametrize("name", ["signed", "positive"])
def test_the_sign_of_attention_times_gradient(name):
    """Values of one sign, or both, against differences of the loss in which one weight is larger."""
    encoder = tiny.randomize("bert")
    (batch,) = extract(encoder, SENTENCES[1:], kind=f"{KIND}-{name}", level="token")
    pieces = tiny.pieces(encoder, SENTENCES[1])
    loss, attentions = loss_of(double_of(encoder), pieces)
    gradients = torch.autograd.grad(loss, attentions)
    both = np.stack([(alpha * g)[0].detach().numpy() for alpha, g in zip(attentions, gradients, strict=True)])
    assert both.min() < 0 < both.max()
    expected = both if name == "signed" else np.where(both > 0, both, 0)
    np.testing.assert_allclose(batch.maps[0].numpy(), expected, atol=1e-4 * np.abs(both).max())


def compare(encoder: Encoder, level: str, sentences: list[Sentence]) -> None:
    (batch,) = extract(encoder, sentences, kind=KIND, level=level)  # type: ignore[arg-type]
    exact = batch.exact(range(len(batch)))
    for row, (sentence, found) in enumerate(batch.unpadded()):
        expected = naive(encoder, sentence, level)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-4 * expected.max(), rtol=0)
        np.testing.assert_allclose(exact[row].numpy(), expected, atol=1e-9 * expected.max(), rtol=0)
        n = found.shape[-1]
        assert not batch.maps[row, ..., n:].any()
        assert not batch.maps[row, ..., n:, :].any()


@pytest.mark.parametrize("level", ["token", "word"])
@pytest.mark.parametrize("family", FEW)
def test_against_autograd_on_a_plain_model(family, level):
    size = {} if family == "gpt2" else {"max_position_embeddings": 128}
    compare(tiny.randomize(family, **size), level, SENTENCES)


@pytest.mark.slow
@pytest.mark.parametrize("family", [f for f in [*tiny.FAMILIES, *tiny.DECODERS] if f not in FEW])
def test_every_family_against_autograd_on_a_plain_model(family):
    encoder = tiny.randomize(family)
    for sentence in SHORT:
        compare(encoder, "word", [sentence])
    if encoder.batching == "padded":
        compare(encoder, "token", SHORT)


@pytest.mark.parametrize("family", ["bert", "albert", "gpt2"])
def test_against_differences_of_losses(family):
    """One attention weight at a time is a little larger or smaller than it is. The layers of ALBERT share a module."""
    encoder = tiny.randomize(family)
    model = double_of(encoder)
    nudge: dict[str, Any] = {"layer": -1}
    calls = {"seen": 0}

    def nudged(module, query, key, value, attention_mask, **options):
        eager = sys.modules[type(module).__module__].eager_attention_forward
        alpha = eager(module, query, key, value, attention_mask, **options)[1].clone()
        if calls["seen"] == nudge["layer"]:
            alpha[0, nudge["head"], nudge["i"], nudge["j"]] += nudge["by"]
        calls["seen"] += 1
        return torch.matmul(alpha, value).transpose(1, 2).contiguous(), alpha

    AttentionInterface.register("nudged map", nudged)
    AttentionMaskInterface.register("nudged map", eager_mask)
    model.set_attn_implementation("nudged map")
    rng = np.random.default_rng(0)
    (batch,) = extract(encoder, SHORT, kind=KIND, level="token")
    (weights,) = extract(encoder, SHORT, level="token")
    for row, sentence in enumerate(batch.sentences):
        pieces = tiny.pieces(encoder, sentence)
        exact, alpha = (b.exact([row])[0].numpy() for b in (batch, weights))
        for _ in range(12):
            nudge["layer"], nudge["head"], nudge["i"] = rng.integers([3, 4, len(pieces)]).tolist()
            nudge["j"] = int(rng.integers(nudge["i"] + 1 if encoder.causal else len(pieces)))
            cell = (nudge["layer"], nudge["head"], nudge["i"], nudge["j"])
            losses = []
            for nudge["by"] in (1e-5, -1e-5):
                calls["seen"] = 0
                with torch.no_grad():
                    losses.append(float(loss_of(model, pieces)[0]))
            expected = abs(losses[0] - losses[1]) / 2e-5 * alpha[cell]
            assert exact[cell] == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_nothing_above_the_diagonal_of_a_causal_model(own_kinds):
    register_kind("test-gradient", "", gradient_of=text_vector)(lambda layer: layer.gradient)
    for kind in (KIND, "test-gradient"):
        for batch in extract(tiny.randomize("gpt2"), SENTENCES, kind=kind, level="token"):
            assert not batch.maps.triu(1).any()
            below = batch.maps.tril()[0].flatten(0, 1)
            assert (below != 0).any(-1).any(-1).all()


def test_one_layer_and_one_head():
    compare(tiny.randomize("bert", num_hidden_layers=1, num_attention_heads=1), "token", SENTENCES)


def test_batches_frozen_parameters_and_modes_of_the_caller_do_not_matter():
    encoder = tiny.randomize("bert")
    (together,) = extract(encoder, SENTENCES, kind=KIND)
    for parameter in encoder.model.parameters():
        parameter.requires_grad_(False)
    with torch.inference_mode():
        alone = {b.sentences[0].id: b.maps[0] for b in extract(encoder, SENTENCES, kind=KIND, batch_cells=1)}
    with torch.no_grad():
        (without,) = extract(encoder, SENTENCES, kind=KIND)
    assert torch.equal(without.maps, together.maps)
    for sentence, maps in together.unpadded():
        mine = alone[sentence.id].numpy()
        np.testing.assert_allclose(mine, maps, atol=together.noise * maps.max(), rtol=0)
    assert not torch.is_inference_mode_enabled()
    assert torch.is_grad_enabled()


def test_held_in_bfloat16_and_in_float64():
    encoder = tiny.randomize("bert")
    compare(Encoder(double_of(encoder), encoder.tokenizer), "word", SENTENCES)
    held = copy.deepcopy(encoder.model).bfloat16()
    (viewed,) = extract(Encoder(float32_view(held), encoder.tokenizer), SENTENCES, kind=KIND)
    (plain,) = extract(Encoder(held.float(), encoder.tokenizer), SENTENCES, kind=KIND)
    torch.testing.assert_close(viewed.maps, plain.maps)


def test_only_kinds_that_ask_for_a_gradient_cost_a_backward_pass(monkeypatch):
    encoder = tiny.randomize("bert")
    calls = {"backward": 0, "forward": 0}
    grad, run = torch.autograd.grad, encoder._run

    def counted(*given, **options):
        calls["backward"] += 1
        return grad(*given, **options)

    def counted_run(*given, **options):
        calls["forward"] += 1
        return run(*given, **options)

    list(extract_many(encoder, SENTENCES, ["norm"]))  # verifies the layers
    monkeypatch.setattr(torch.autograd, "grad", counted)
    monkeypatch.setattr(encoder, "_run", counted_run)
    for (weights,) in extract_many(encoder, SENTENCES, ["weight"]):
        assert not weights.maps.requires_grad
    [(norms, rollouts)] = extract_many(encoder, SENTENCES, ["norm", "rollout"])
    assert calls == {"backward": 0, "forward": 2}
    [(gradients, shared_norms, rolled)] = extract_many(encoder, SENTENCES, [KIND, "norm", f"rollout:{KIND}"])
    assert calls == {"backward": 1, "forward": 3}
    torch.testing.assert_close(shared_norms.maps, norms.maps)
    assert rolled.maps.shape == rollouts.maps.shape
    (alone,) = extract(encoder, SENTENCES, kind=KIND)
    torch.testing.assert_close(gradients.maps, alone.maps)


def test_gradients_count_as_maps_in_the_bound_on_batches():
    maker = MapMaker(get_kind(KIND))
    assert shared_cells([maker], 100) == 50
    assert shared_cells([maker, MapMaker(get_kind(KIND), "token"), MapMaker(get_kind("weight"))], 99) == 33


def test_gradients_are_released_with_the_attention_of_their_layer():
    makers = [MapMaker(get_kind(kind), "token") for kind in (KIND, "weight")]
    [batch] = shared_batches(tiny.encoder(), SENTENCES, **needs_of(makers))
    map_batches(makers, batch)
    assert [alpha.numel() for alpha in batch.forward.attentions] == [0, 0, 0]
    assert [gradient.numel() for gradient in batch.forward.gradients[text_vector]] == [0, 0, 0]


def first_state(states, mask):
    """A loss of the first position alone, whose gradient in the last layer is 0 in all other rows."""
    return states[:, 0].sum(-1)


def test_kinds_with_different_losses_share_a_pass(own_kinds):
    register_kind("test-first", "", gradient_of=first_state)(lambda layer: layer.gradient)
    encoder = tiny.randomize("bert")
    [(mean, first)] = extract_many(encoder, SENTENCES, [MapMaker(get_kind(k), "token") for k in (KIND, "test-first")])
    assert not first.maps[:, -1, :, 1:].any()
    assert first.maps[:, -1, :, 0].any()
    assert (first.maps < 0).any()  # signs are kept
    (alone,) = extract(encoder, SENTENCES, kind=KIND, level="token")
    torch.testing.assert_close(mean.maps, alone.maps)
    pieces = tiny.pieces(encoder, SENTENCES[0])
    output = double_of(encoder)(input_ids=torch.tensor([pieces.ids]), output_attentions=True)
    expected = torch.autograd.grad(output.last_hidden_state[0, 0].sum(), output.attentions)
    [row] = [i for i, sentence in enumerate(first.sentences) if sentence.id == "long"]
    torch.testing.assert_close(first.exact([row])[0], torch.cat(expected))


def test_a_kind_that_reads_gradients_must_say_so(own_kinds):
    register_kind("test-forgot", "")(lambda layer: layer.gradient)
    encoder = tiny.encoder()
    for kinds in (["test-forgot"], [KIND, "test-forgot"]):
        with pytest.raises(ModelError, match="gradient_of="):
            list(extract_many(encoder, SENTENCES, kinds))


def test_sentences_of_a_layer_have_their_gradients(own_kinds):
    def by_sentence(layer):
        whole = torch.zeros_like(layer.gradient)
        for index, sentence in enumerate(layer.sentences()):
            n = sentence.mask.shape[1]
            whole[index, :, :n, :n] = sentence.gradient[0]
        return whole

    register_kind("test-whole", "", gradient_of=text_vector)(lambda layer: layer.gradient)
    register_kind("test-parts", "", gradient_of=text_vector, reads_weights=True)(by_sentence)
    [(whole, parts)] = extract_many(tiny.randomize(), SENTENCES, ["test-whole", "test-parts"])
    assert torch.equal(whole.maps, parts.maps)


def attending(encoder: Encoder, name: str, change: Any) -> None:
    """Let an encoder sum up values by the first, and give the second, of what a function makes of its attention."""

    def attend(module, query, key, value, attention_mask, **options):
        eager = sys.modules[type(module).__module__].eager_attention_forward
        alpha = eager(module, query, key, value, attention_mask, **options)[1]
        used, given = change(alpha)
        return torch.matmul(used, value).transpose(1, 2).contiguous(), given

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, eager_mask)
    encoder.model.set_attn_implementation(name)


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_weights_that_are_changed_before_values_are_summed_up_are_noticed(family):
    """They are in the graph, and their rows sum to 1, so that nothing else is wrong with them."""
    encoder = tiny.randomize(family, max_position_embeddings=128)
    attending(encoder, "smoothed", lambda alpha: (0.9 * alpha + 0.1 / alpha.shape[-1], alpha))
    list(extract(encoder, SENTENCES[:1]))
    with pytest.raises(ModelError, match=r"layer 1: the attention weights that the model gives are not those"):
        list(extract(encoder, SENTENCES[:1], kind=KIND))


def test_weights_that_nothing_depends_on_have_no_gradient():
    encoder = tiny.randomize("bert")
    attending(encoder, "copied", lambda alpha: (alpha, alpha.clone()))
    with pytest.raises(ModelError, match="its output does not depend on the attention weights"):
        list(extract(encoder, SENTENCES, kind=KIND))


def test_a_family_without_a_row_of_names_has_gradients():
    config = transformers.IBertConfig(**{**tiny.SIZE, "max_position_embeddings": 128}, vocab_size=400, pad_token_id=0)
    encoder = Encoder(tiny.build(config), tiny.fresh_tokenizer("bytes"))
    for batch in extract(encoder, SENTENCES, kind=KIND):
        assert (batch.maps.amax((2, 3, 4)) > 0).all()


def test_values_that_are_not_numbers_are_an_error(own_kinds):
    register_kind("test-root", "", gradient_of=lambda states, mask: (0 * states.sum((1, 2))).sqrt())(
        lambda layer: layer.gradient
    )
    with pytest.raises(ModelError, match="NaN or infinite"):  # 0 times the infinite slope of a root
        list(extract(tiny.encoder(), SENTENCES, kind="test-root"))
    encoder = tiny.encoder()
    encoder.model.encoder.layer[2].output.dense.bias.data[3] = float("nan")
    with pytest.raises(ModelError, match="NaN or infinite"):
        list(extract(encoder, SENTENCES, kind=KIND))
