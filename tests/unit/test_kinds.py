"""The registry of map kinds, merging, normalization, rollout, and the blocks that vectors are formed in."""

from __future__ import annotations

import math
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError
from transformers.activations import ACT2FN

from attentionology.analyses.shared.record import map_facts
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Layer, MapMaker, ModelError, extract, get_kind, list_kinds, register_kind
from attentionology.extractors.kinds import registry
from attentionology.extractors.kinds.rollout import AGGREGATIONS, Below, distributions
from attentionology.extractors.layers import contributions
from attentionology.extractors.layers.activations import gate_of, in_one_pass, slope
from tests import tiny
from tests.documentation import REPOSITORY
from tests.reference.test_norm_maps import SENTENCES, compare, encoder_of


@pytest.fixture
def own_kinds():
    """Kinds that a test registers are gone after it."""
    with mock.patch.dict(registry._KINDS):
        yield


def test_all_kinds_are_there():
    assert set(list_kinds()) == {
        "weight", "norm", "attn", "attnres", "attnresln", "atbff", "atbffres", "atbffresln", "globenc", "alti",
        "alti-l2", "value-zeroing", "rollout", "attention-x-gradient", "attention-x-gradient-signed",
        "attention-x-gradient-positive",
    }  # fmt: skip


@pytest.mark.parametrize("page", ["docs/reference/definitions/maps.md", "docs/how-to/norms.md"])
def test_all_kinds_are_on_the_pages_about_kinds(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    assert [name for name in list_kinds() if f"`{name}`" not in text] == []


def test_names():
    assert get_kind("rollout").description.startswith("attention rollout of weight")
    assert get_kind("rollout:attnresln").residual
    assert "½‖mean of the final hidden states‖²" in get_kind("relevance:attention-x-gradient-signed").description
    for name in ("rollout:nope", "rollout:rollout", "product", "product:rollout", "nope"):
        with pytest.raises(ValueError, match=r"choose from: alti, .*weight, rollout:KIND"):
            get_kind(name)
    with pytest.raises(ValueError, match="colon"):
        register_kind("a:b", "")
    with pytest.raises(ValueError, match="already"):
        register_kind("rollout", "")
    with pytest.raises(ValueError, match="already"):
        register_kind("relevance", "")


def test_vectors_can_only_be_merged_where_there_are_any():
    for kind in ("weight", "value-zeroing", "alti-l2", "rollout", "rollout:attnresln"):
        with pytest.raises(ValueError, match="not made of vectors"):
            MapMaker(get_kind(kind), merge="vector")
    with pytest.raises((ValueError, TypeCheckError), match="normalize"):
        MapMaker(get_kind("norm"), normalize="rows")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["norm", "attnresln", "atbff", "alti-l2", "rollout:globenc"])
def test_rows_divided_by_their_sums(kind):
    encoder = tiny.randomize("bert")
    (plain,) = extract(encoder, SENTENCES, kind=kind)
    (divided,) = extract(encoder, SENTENCES, kind=kind, normalize="row")
    for (_, a), (_, b) in zip(plain.unpadded(), divided.unpadded(), strict=True):
        np.testing.assert_allclose(b, a / a.sum(-1, keepdims=True), rtol=1e-5)
        np.testing.assert_allclose(b.sum(-1), 1, rtol=1e-5)
    short = int(divided.lengths.min())
    row = int(divided.lengths.argmin())
    assert divided.maps[row, :, :, short:].abs().max() == 0


@pytest.mark.parametrize("kind", ["weight", "norm", "attnresln", "globenc", "atbffresln"])
def test_rollout(kind):
    """The product of the layers' matrices, written out."""
    encoder = tiny.randomize("bert")
    (base,) = extract(encoder, SENTENCES, kind=kind, level="token")
    (rolled,) = extract(encoder, SENTENCES, kind=f"rollout:{kind}", level="token")
    for (_, maps), (_, found) in zip(base.unpadded(), rolled.unpadded(), strict=True):
        product = np.eye(maps.shape[-1])
        for layer, got in zip(maps.astype(float), found, strict=True):
            step = layer.mean(0)
            step = step / step.sum(-1, keepdims=True)
            if kind in ("weight", "norm"):
                step = (step + np.eye(len(step))) / 2
            product = step @ product
            np.testing.assert_allclose(got[0], product, atol=1e-5)


def aggregated(rule, *maps):
    """What a rule makes of the maps of layers, each (heads, n, n), of a sentence without padding."""
    product: Any = None
    for number, layer_map in enumerate(maps, start=1):
        heads = torch.tensor(layer_map, dtype=torch.float64)[None]
        below = Below(product, torch.ones(1, heads.shape[-1], dtype=torch.bool), residual=False, number=number)
        product = AGGREGATIONS[rule].layer(heads, below)
    return product[0, 0].tolist()


def test_a_product_divides_nothing_and_adds_nothing():
    assert aggregated("product", [[[2, 0], [1, 1]]], [[[1, 1], [0, 3]]]) == [[3, 1], [3, 3]]


def test_relevance_is_that_of_chefer():
    """R = I + A, then R + A R, with the mean over heads of the positive parts."""
    first = [[[2, -8], [1, 1]], [[0, 4], [-1, 3]]]  # positive parts: a mean of [[1, 2], [0.5, 2]]
    assert aggregated("relevance", first) == [[2, 2], [0.5, 3]]
    assert aggregated("relevance", first, [[[0, 1], [2, 0]]]) == [[2.5, 5], [4.5, 7]]


@pytest.mark.parametrize("rule", ["product", "relevance"])
def test_rules_for_all_layers_of_a_model(rule):
    """As `aggregated` computes them, in a padded batch."""
    encoder = tiny.randomize("bert")
    (base,) = extract(encoder, SENTENCES, kind="attention-x-gradient-signed", level="token")
    (found,) = extract(encoder, SENTENCES, kind=f"{rule}:attention-x-gradient-signed", level="token")
    for (_, maps), (_, together) in zip(base.unpadded(), found.unpadded(), strict=True):
        for layer in range(encoder.n_layers):
            expected = np.array(aggregated(rule, *maps[: layer + 1].tolist()))
            np.testing.assert_allclose(together[layer, 0], expected, atol=1e-5 * np.abs(expected).max())


def test_rollout_of_negative_maps_is_refused(own_kinds):
    register_kind("test-negative", "for this test")(lambda layer: layer.alpha - 0.5)
    register_kind("test-empty", "for this test")(lambda layer: layer.alpha * 0)
    with pytest.raises(ModelError, match="layer 1 has negative cells"):
        list(extract(tiny.encoder(), SENTENCES, kind="rollout:test-negative"))
    with pytest.raises(ModelError, match="row of layer 1 sums to 0"):
        list(extract(tiny.encoder(), SENTENCES, kind="rollout:test-empty"))


def test_a_kind_that_reads_weights_must_say_so(own_kinds):
    def layer_map(layer: Layer):
        return layer.alpha * layer.x.norm(dim=-1)[:, None, None]

    register_kind("test-forgot", "for this test")(layer_map)
    register_kind("test-said", "for this test", reads_weights=True)(layer_map)
    with pytest.raises(ModelError, match="reads_weights=True"):
        list(extract(tiny.encoder(), SENTENCES, kind="test-forgot"))
    assert len(list(extract(tiny.encoder(), SENTENCES, kind="test-said"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "pairs", "cells"), [(1, 1, 1), (3, 7, 20), (4, 80, 60)])
@pytest.mark.parametrize("merge", ["norm", "vector"])
def test_blocks_do_not_change_the_maps(monkeypatch, keys, pairs, cells, merge):
    monkeypatch.setattr(contributions, "BLOCK_KEYS", keys)
    monkeypatch.setattr(contributions, "BLOCK_PAIRS", pairs)
    monkeypatch.setattr(contributions, "_CELLS", cells)
    # Blocks of one cell take a long time for long sentences.
    sentences = SENTENCES if cells > 1 else [Sentence("middle", ("unbelievable", "dogs")), *SENTENCES[1:]]
    for kind in ("attnresln", "atbffresln", "alti"):
        compare(encoder_of("bert"), kind, "word", merge, sentences=sentences)
    compare(encoder_of("gpt2"), "atbffres", "token", sentences=sentences)


def test_value_zeroing_is_what_happens_when_a_value_is_zeroed():
    """With the model's own layers: the value of one token set to 0 by a hook."""
    encoder = tiny.randomize("bert").double
    sentence = Sentence("s", ("the", "dog", "barked"))
    (batch,) = extract(encoder, [sentence], kind="value-zeroing", level="token")
    (pieces,) = encoder.align([sentence])
    with torch.inference_mode():
        out = encoder.model(torch.tensor([pieces.ids]), output_hidden_states=True)  # type: ignore[union-attr]
        for number, layer in enumerate(encoder.model.encoder.layer):
            x, n = out.hidden_states[number], len(pieces)  # type: ignore[arg-type]
            distances = torch.zeros(n, n, dtype=torch.float64)
            for key in range(n):

                def zero(module, args, output, key=key):
                    output[:, key] = 0
                    return output

                hook = layer.attention.self.value.register_forward_hook(zero)
                changed = layer(x)
                hook.remove()
                changed = changed if isinstance(changed, torch.Tensor) else changed[0]
                cosine = torch.cosine_similarity(changed[0], out.hidden_states[number + 1][0], dim=-1)
                distances[:, key] = 1 - cosine
            torch.testing.assert_close(
                batch.maps[0, number, 0], distances / distances.sum(-1, keepdim=True), rtol=1e-6, atol=1e-9
            )


def test_rows_of_zeros_are_given_to_the_token_itself():
    maps = torch.tensor([[[[0.0, 0.0], [1.0, 3.0]]]])
    torch.testing.assert_close(distributions(maps)[0, 0], torch.tensor([[1.0, 0.0], [0.25, 0.75]]))
    encoder = tiny.randomize()
    with torch.no_grad():
        encoder.model.encoder.layer[1].attention.output.LayerNorm.bias.mul_(40)
    for kind in ("alti", "alti-l2"):
        (batch,) = extract(encoder, SENTENCES, kind=kind)
        for _, array in batch.unpadded():
            np.testing.assert_allclose(array.sum(-1), 1, rtol=1e-5)


def test_gates_and_slopes_by_hand():
    gelu, relu, tanh = torch.nn.functional.gelu, torch.relu, torch.tanh
    relu6 = torch.nn.functional.relu6
    assert [gate_of(activation) is None for activation in (tanh, relu6, relu)] == [True, True, False]
    clipped = slope(relu6, 0.0, torch.tensor([-3.0, 0.5, 60.0]))
    torch.testing.assert_close(clipped, torch.tensor([0.0, 1.0, 0.1]))
    u = torch.tensor([-3.0, -1e-9, 0.0, 0.5, 20.0], dtype=torch.float64)
    phi = torch.tensor([(1 + math.erf(x / math.sqrt(2))) / 2 for x in u.tolist()], dtype=torch.float64)
    torch.testing.assert_close(slope(gelu, 0.0, u), phi, rtol=1e-14, atol=1e-14)
    expected = torch.where(u == 0, 1.0, torch.tanh(u) / torch.where(u == 0, 1.0, u))
    torch.testing.assert_close(slope(tanh, 0.0, u), expected, rtol=1e-13, atol=0)
    # From −1 to 3 ReLU rises by 3 over 4.
    assert slope(relu, torch.tensor(-1.0), torch.tensor([3.0])).item() == 0.75
    # Where the path is a point, the slope is the derivative.
    assert slope(gelu, torch.tensor(0.7), torch.tensor([0.7])).item() == pytest.approx(0.7580 + 0.7 * 0.3123, abs=1e-4)


@pytest.mark.parametrize("name", ["gelu", "gelu_new", "gelu_fast", "gelu_python", "silu", "gelu_10", "mish", "relu6"])
def test_activations_in_one_pass_have_the_same_values(name):
    activation, u = ACT2FN[name], torch.linspace(-30, 30, 4001)
    replaced = in_one_pass(activation, u)
    assert (replaced is activation) == (name in ("gelu_10", "mish", "relu6"))
    torch.testing.assert_close(replaced(u), activation(u), rtol=1e-6, atol=2e-6)
    exact = in_one_pass(activation, u.double())
    torch.testing.assert_close(exact(u.double()), activation(u.double()), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("maker", "phrases"),
    [
        (MapMaker(get_kind("weight")), []),
        (MapMaker(get_kind("norm")), ["pieces merged into words by adding norms"]),
        (MapMaker(get_kind("norm"), "word", "vector", "row"), [
            "pieces merged into words by adding vectors", "rows divided by their sums",
        ]),
        (MapMaker(get_kind("norm"), "token"), []),
        (MapMaker(get_kind("atbff")), ["pieces merged into words by adding norms", "feed-forward bias: "]),
    ],
)  # fmt: skip
def test_phrases_say_what_is_not_usual_about_maps(maker, phrases):
    """That all heads of a layer share a map is said where there is one map of several heads."""
    described, *others = map_facts(maker, 12).phrases(12)
    assert described == f"map “{maker.kind}”: {maker.kind.description}"
    assert [phrase.removesuffix(maker.ff_bias) if ": " in phrase else phrase for phrase in others] == phrases
    shared = map_facts(maker, 12).phrases(1)
    assert shared == (described, "one map for all heads of a layer, shown as head 1", *others)
