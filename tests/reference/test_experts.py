"""Maps of attention blocks with learned sinks and mixtures of experts (gpt-oss), against the modules of the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ModelError, extract
from attentionology.extractors.layers.contributions import contribution_blocks
from attentionology.extractors.layers.verification import Recorder
from attentionology.extractors.model.float64_copy import InFloat64
from tests import tiny

SENTENCE = Sentence("a", ("the", "unbelievable", "dog", "was", "in", "the", "garden", "."))


@pytest.fixture(scope="module")
def encoder():
    return tiny.randomize("gpt_oss")


def set_sinks(encoder: Any, value: float) -> None:
    for layer in encoder.model.layers:
        layer.self_attn.sinks.data.fill_(value)


def maps_of(encoder: Any, kind: str) -> torch.Tensor:
    (batch,) = extract(encoder, [SENTENCE], kind=kind, level="token")
    return batch.maps[0]


def test_contributions_and_the_bias_add_up_to_what_attention_gives(encoder):
    """In float64, Σ_j α_ij f(x_j) + b_O is the output of the module, although rows of α sum to less than 1."""
    double = encoder.double
    blocks = [layer.self_attn for layer in double.model.layers]
    pieces = [tiny.pieces(double, SENTENCE)]
    with torch.inference_mode(), InFloat64(double.model), Recorder(blocks) as recorded:
        layers = list(double.forward(pieces, hidden_states=True).layers())
    for layer, given in zip(layers, recorded.outputs[-len(layers) :], strict=True):
        added = torch.zeros_like(given[0])
        for block in contribution_blocks(layer, [layer.weights.w_o]):
            added[block.queries] += block.vectors[0][0].sum(0)
        assert float(layer.alpha[0].sum(-1).min()) < 0.9
        assert float((added + layer.weights.b_o - given[0]).abs().max()) < 1e-12 * float(given.abs().max())


@pytest.mark.parametrize("kind", ["norm", "attnres", "attnresln"])
def test_sinks_that_take_nothing_or_all(kind):
    encoder = tiny.randomize("gpt_oss")
    with_sinks = maps_of(encoder, kind)
    set_sinks(encoder, -1e9)
    without = maps_of(encoder, kind)
    weights = maps_of(encoder, "weight").clone()
    assert float((weights.sum(-1) - 1).abs().max()) < 1e-5
    assert float((without - with_sinks).abs().max()) > 0.01
    # The first layer reads the same vectors, and its first piece attends to itself alone.
    layer = encoder.model.layers[0]
    with torch.no_grad():
        x = encoder.model.embed_tokens(torch.tensor([tiny.pieces(encoder, SENTENCE).ids]))
        v = layer.self_attn.v_proj(layer.input_layernorm(x)).view(x.shape[1], 2, 8).repeat_interleave(2, 1)
        w_o = layer.self_attn.o_proj.weight.detach().T.view(4, 8, -1)
    by_head = torch.einsum("nhi,hid->nhd", v, w_o)  # piece, head, dim
    if kind == "norm":
        expected = weights[0] * by_head.norm(dim=-1).T[:, None]
    else:
        y = torch.einsum("hij,jhd->ijd", weights[0], by_head)
        y[range(len(y)), range(len(y))] += x[0]
        if kind == "attnresln":
            sums = y.sum(1) + layer.self_attn.o_proj.bias.detach()
            norm = layer.post_attention_layernorm
            deviation = (sums.square().mean(-1) + norm.variance_epsilon).sqrt()
            y = y * norm.weight.detach() / deviation[:, None, None]
        expected = y.norm(dim=-1)[None]
    torch.testing.assert_close(without[0], expected, rtol=1e-4, atol=1e-5)
    set_sinks(encoder, 1e9)
    nothing = maps_of(encoder, kind)
    off_diagonal = nothing - torch.diag_embed(nothing.diagonal(dim1=-2, dim2=-1))
    assert not off_diagonal.any()
    assert kind != "norm" or not nothing.any()


@pytest.mark.parametrize("kind", ["atbff", "value-zeroing"])
def test_what_passes_the_experts_is_refused_with_the_reason(encoder, kind):
    with pytest.raises(ModelError, match=r"mixture of experts, .*norm, attnres and attnresln"):
        maps_of(encoder, kind)


def test_a_row_that_is_wrong_is_noticed():
    """The sum after attention is compared, as the experts that follow may be others for other last bits."""
    encoder = tiny.randomize("gpt_oss")
    encoder.model.layers[1].self_attn.o_proj.register_forward_hook(lambda _m, _i, output: output * 1.1)
    with pytest.raises(ModelError, match="layer 2: the sum after attention recomputed from weights"):
        maps_of(encoder, "norm")
