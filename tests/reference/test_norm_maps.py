"""Every norm-based kind against vectors formed one by one in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from corpora_loaders import Sentence
from extractors import Encoder, extract
from extractors.pieces import Pieces
from tests import tiny
from tests.reference import naive_layers
from tests.reference.naive_layers import Naive, merge_maps, merge_vectors

NORMS = ("norm", "attn", "attnres", "attnresln", "globenc", "atbff", "atbffres", "atbffresln")
OTHERS = ("alti", "alti-l2", "value-zeroing")
READERS = {
    "bert": (naive_layers.bert_layer, lambda model: model.encoder.layer),
    "gpt2": (naive_layers.gpt2_layer, lambda model: model.h),
    "modernbert": (naive_layers.modernbert_layer, lambda model: model.layers),
}
SENTENCES = [
    Sentence("long", ("The", "extraordinarily", "unbelievable", "dog", "barked", "at", "Mr.", "Szczepański", ".")),
    Sentence("short", ("Dogs", "bark")),
    Sentence("one", ("Yes",)),
]


def encoder_of(family: str, **changes) -> Encoder:
    """Every parameter random, biases and layer norms included."""
    encoder = tiny.encoder(family, **changes)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in encoder.model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return encoder


def naive_maps(encoder: Encoder, sentence: Sentence, kind: str, level: str, merge: str, ff_bias: str) -> np.ndarray:
    """Of all layers, from a forward pass of the sentence alone in float64."""
    reader, layers = READERS[encoder.family]
    twin = encoder.double
    (pieces,) = twin.align([sentence])
    assert isinstance(pieces, Pieces)
    with torch.inference_mode():
        out = twin.model(torch.tensor([pieces.ids]), output_attentions=True, output_hidden_states=True)
    found = []
    for number, alpha in enumerate(out.attentions):
        plain = reader(layers(twin.model)[number], twin.n_heads)
        one = Naive(plain, out.hidden_states[number][0].numpy(), alpha[0].numpy(), ff_bias)
        vector = level == "word" and merge == "vector"
        if kind in NORMS:
            vectors = one.vectors(kind)
            array = np.linalg.norm(merge_vectors(vectors, pieces.positions) if vector else vectors, axis=-1)
        elif kind == "value-zeroing":
            array = one.value_zeroing()
        else:
            array = one.alti(1 if kind == "alti" else 2, pieces.positions if vector else None)
        if level == "word" and not vector:
            array = merge_maps(array, pieces.positions)
        found.append(array if array.ndim == 3 else array[None])
    return np.stack(found)


def compare(encoder: Encoder, kind: str, level: str, merge: str = "norm", ff_bias: str = "input") -> None:
    """Padded batches in float32 within 1e-4 of the largest value, and unpadded in float64 to the last digits."""
    options: Any = {"kind": kind, "level": level, "merge": merge, "ff_bias": ff_bias}
    (batch,) = extract(encoder, SENTENCES, **options)
    for row, (sentence, array) in enumerate(batch.unpadded()):
        expected = naive_maps(encoder, sentence, kind, level, merge, ff_bias)
        (exact,) = batch.exact([row])
        np.testing.assert_allclose(exact.numpy(), expected, rtol=1e-9, atol=1e-12 * expected.max())
        np.testing.assert_allclose(array, expected, rtol=1e-3, atol=1e-4 * expected.max())


def cases(*kinds: str) -> list[tuple[str, str]]:
    """Families and kinds; globenc is for post-LN layers."""
    return [(family, kind) for family in READERS for kind in kinds if kind != "globenc" or family == "bert"]


@pytest.mark.parametrize(("family", "kind"), cases(*NORMS, *OTHERS))
def test_token_maps(family, kind):
    compare(encoder_of(family), kind, "token")


@pytest.mark.parametrize(("family", "kind"), cases(*NORMS, "alti"))
def test_word_maps_merged_as_vectors(family, kind):
    compare(encoder_of(family), kind, "word", "vector")


@pytest.mark.parametrize("kind", ["norm", "attnresln", "atbffresln", "value-zeroing"])
def test_word_maps_merged_as_norms(kind):
    compare(encoder_of("bert"), kind, "word")


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "silu", "quick_gelu", "tanh", "mish", "sigmoid"])
@pytest.mark.parametrize("ff_bias", ["input", "fixed"])
def test_feed_forward_kinds_with_other_activations(activation, ff_bias):
    compare(encoder_of("bert", hidden_act=activation), "atbffresln", "token", ff_bias=ff_bias)


@pytest.mark.parametrize("ff_bias", ["input", "fixed"])
def test_gated_feed_forward_with_biases(ff_bias):
    encoder = encoder_of("modernbert", mlp_bias=True, attention_bias=True, norm_bias=True)
    compare(encoder, "atbffres", "token", ff_bias=ff_bias)
