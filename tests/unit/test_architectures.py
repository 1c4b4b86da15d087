"""Every row of the table of architectures: contributions and biases add up to what the layer really gives."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from torch import nn

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Architecture, ModelError, extract, register_architecture
from attentionology.extractors.kinds.feed_forward import feed_forward_projections, feed_forward_vectors
from attentionology.extractors.layers import ARCHITECTURES
from attentionology.extractors.layers.activations import FFBias
from attentionology.extractors.layers.contributions import contribution_blocks
from attentionology.extractors.layers.verification import Recorder
from attentionology.extractors.layers.weights import layer_modules
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny

VARIANTS: dict[str, dict[str, Any]] = {
    **{family: {} for family in tiny.FAMILIES},
    "albert in two groups": {"num_hidden_layers": 4, "num_hidden_groups": 2},
    "albert in uneven groups": {"num_hidden_layers": 5, "num_hidden_groups": 2},
    "deberta-v2 with a convolution": {"conv_kernel_size": 3},
    "modernbert with biases": {"mlp_bias": True, "attention_bias": True, "norm_bias": True},
    "bert in chunks": {"chunk_size_feed_forward": 1},
    "bert with relu": {"hidden_act": "relu"},
    "bert with relu6": {"hidden_act": "relu6"},
    "bert with clipped gelu": {"hidden_act": "gelu_10"},
}
SENTENCES = [Sentence("a", ("an", "unbelievably", "long", "sentence", "."), ()), Sentence("b", ("hi",), ())]


@pytest.mark.parametrize("variant", VARIANTS)
def test_contributions_and_biases_add_up_to_the_output(variant):
    family = variant.split(" ")[0]
    encoder = tiny.randomize(family, **VARIANTS[variant])
    encoder.model.double()  # not encoder.double, whose modules cannot be replaced
    if family == "deberta":  # its own layer norm computes in float32
        for name, module in list(encoder.model.named_modules()):
            if type(module).__name__ == "DebertaLayerNorm":
                exact = nn.LayerNorm(len(module.weight), eps=module.variance_epsilon, dtype=torch.float64)
                exact.load_state_dict(module.state_dict())
                parent, _, child = name.rpartition(".")
                setattr(encoder.model.get_submodule(parent), child, exact)
    pieces = [p for p in encoder.align(SENTENCES) if isinstance(p, Pieces)]
    with torch.inference_mode(), Recorder(layer_modules(encoder.model)) as recorded:
        forward = encoder.forward(pieces, hidden_states=True)
        both = {ff_bias: list(forward.layers(ff_bias=ff_bias)) for ff_bias in get_args(FFBias)}
    for ff_bias, layers in both.items():
        for layer, output in zip(layers, recorded.outputs[-len(layers) :], strict=True):
            check_sum(layer, output, ff_bias)


def check_sum(layer: Any, output: torch.Tensor, ff_bias: FFBias) -> None:
    """Add up the contributions and the biases of a layer."""
    for b, one in enumerate(layer.sentences()):
        weights, n = one.weights, one.mask.shape[1]
        norm: Any = weights.norm
        attended = torch.zeros(n, weights.w_o.shape[1], dtype=torch.float64)
        for block in contribution_blocks(one, [weights.w_o]):
            attended[block.queries] += block.vectors[0][0].sum(0)
        p = attended + one.x[0] + weights.b_o
        whole = torch.zeros_like(attended)
        for block, vectors in feed_forward_vectors(one, feed_forward_projections(weights)):
            whole[block.queries] += vectors["atbffresln"][0].sum(0)
        # The biases' own way through the layer.
        bias_t = norm.linear(weights.b_o) / norm.deviation(p) + norm.beta
        parts = [
            slope[0] * (bias_t @ w + (bias if ff_bias == "input" else 0))
            for slope, (w, bias) in zip(one.slopes, weights.ff_in, strict=True)
        ]
        hidden = torch.stack(parts).sum(0)
        start = tuple(torch.zeros_like(bias) if ff_bias == "input" else bias for _, bias in weights.ff_in)
        bias_z = hidden @ weights.w_2 + weights.feed_forward(start)
        bias_q = bias_z + (weights.b_o if weights.pre_norm else bias_t)
        if weights.norm_out is not None:
            bias_q = weights.norm_out.linear(bias_q) * one.scale_out[0] + weights.norm_out.beta
        off = (whole + bias_q - output[b, :n]).abs().max()
        assert off <= 1e-10 * output.abs().max()


def test_all_rows_are_tested():
    """Those of encoders here, of decoders and experts in tests/reference, of cross-attention in test_cross_maps.py."""
    assert {family for family, row in ARCHITECTURES.items() if row.layers} == {
        *tiny.FAMILIES,
        *tiny.DECODERS,
        "gpt_oss",
    }


def test_kinds_made_of_attention_work_without_a_row_and_others_with_one_that_is_added(monkeypatch):
    monkeypatch.delitem(ARCHITECTURES, "bert")
    encoder = tiny.encoder()
    for kind in ("weight", "rollout", "attention-x-gradient"):
        assert len(list(extract(encoder, SENTENCES, kind=kind))) == 1
    with pytest.raises(
        ModelError, match=r"'bert' models keep .* only kinds of maps that do not read weights.*register_architecture"
    ):
        list(extract(encoder, SENTENCES, kind="attnresln"))
    register_architecture("bert", Architecture())
    assert len(list(extract(encoder, SENTENCES, kind="norm"))) == 1
    with pytest.raises(ValueError, match="already"):
        register_architecture("bert", Architecture())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"value": "attention.self.key"}, r"'bert' layer 1: the output recomputed"),
        ({"value": "attention.self.values"}, r"'bert' layer 1 has no 'attention.self.values'"),
        ({"value": "attention.self.dropout"}, r"Dropout is not a linear map"),
        ({"layers": "decoder.layer"}, r"0 layers at 'decoder.layer'"),
        ({"fused": "last third"}, r"'bert'"),  # whose shapes do not fit
        ({"gated": True}, r"'bert'"),
        ({"activation": "output.dense"}, r"'bert'"),
    ],
)
def test_a_row_that_is_wrong_is_found_out(monkeypatch, wrong, message):
    monkeypatch.setitem(ARCHITECTURES, "bert", Architecture(**wrong))
    with pytest.raises(ModelError, match=message):
        list(extract(tiny.encoder(), SENTENCES, kind="atbff"))


class Adapted(nn.Module):
    """A value projection with something added, as low-rank adapters do."""

    def __init__(self, projection: nn.Linear) -> None:
        super().__init__()
        self.projection = projection
        self.weight, self.bias = projection.weight, projection.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 1.01 * torch.as_tensor(self.projection(x))


def test_adapters_are_noticed_before_and_after_the_weights_were_read():
    for read_before in (False, True):
        encoder = tiny.encoder()
        if read_before:
            list(extract(encoder, SENTENCES, kind="norm"))
        attention = encoder.model.encoder.layer[1].attention.self
        attention.value = Adapted(attention.value)
        with pytest.raises(ModelError, match=r"'bert' layer 2: the output .*adapters"):
            list(extract(encoder, SENTENCES, kind="norm"))
        assert len(list(extract(encoder, SENTENCES))) == 1


@pytest.mark.parametrize(
    "kind",
    [
        "norm", "attnresln", "globenc", "alti", "atbffresln",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("attn", "alti-l2")),
    ],
)  # fmt: skip
def test_heads_set_to_zero_behind_the_back_of_autograd_count(kind):
    """The usual way to ablate a head changes no version counter."""
    encoder, fresh = tiny.randomize(), tiny.randomize()
    (before,) = extract(encoder, SENTENCES, kind=kind)
    (exact_before,) = before.exact([0])
    for one in (encoder, fresh):
        one.model.encoder.layer[0].attention.output.dense.weight.data[:, :12] = 0
    (after,) = extract(encoder, SENTENCES, kind=kind)
    (expected,) = extract(fresh, SENTENCES, kind=kind)
    torch.testing.assert_close(after.maps, expected.maps, rtol=0, atol=0)
    torch.testing.assert_close(after.exact([0])[0], expected.exact([0])[0], rtol=1e-9, atol=1e-12)
    assert (exact_before - after.exact([0])[0]).abs().max() > 1e-3


def test_a_model_moved_to_another_precision_is_read_again():
    encoder = tiny.randomize()
    list(extract(encoder, SENTENCES, kind="attnresln"))
    encoder.model.double()
    (batch,) = extract(encoder, SENTENCES, kind="attnresln")
    assert batch.maps.dtype == torch.float64
