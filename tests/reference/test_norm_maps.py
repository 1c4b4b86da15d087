"""Every norm-based kind against vectors formed one by one in float64."""

from __future__ import annotations

import functools
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Encoder, extract
from attentionology.extractors.layers import AttentionBlock, Layer, contributions
from attentionology.extractors.layers.contributions import contribution_blocks, contribution_norms
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny
from tests.reference.naive_layers import READERS, Naive, merge_maps, merge_vectors, naive_layers

NORMS = ("norm", "attn", "attnres", "attnresln", "globenc", "atbff", "atbffres", "atbffresln")
OTHERS = ("alti", "alti-l2", "value-zeroing")
SENTENCES = [
    Sentence("long", ("The", "extraordinarily", "unbelievable", "dog", "barked", "at", "Mr.", "Szczepański", ".")),
    Sentence("one", ("Yes",)),
]


encoder_of = functools.cache(tiny.randomize)


@functools.cache
def layers_of(encoder: Encoder, words: tuple[str, ...], ff_bias: str) -> tuple[Pieces, list[Naive]]:
    return naive_layers(encoder, Sentence("", words), ff_bias)


def naive_maps(encoder: Encoder, sentence: Sentence, kind: str, level: str, merge: str, ff_bias: str) -> np.ndarray:
    """The maps of all layers, from a forward pass of the sentence alone in float64."""
    pieces, layers = layers_of(encoder, tuple(sentence.words), ff_bias)
    vector = level == "word" and merge == "vector"
    found = []
    for one in layers:
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


def compare(
    encoder: Encoder, kind: str, level: str, merge: str = "norm", ff_bias: str = "input", sentences: Any = SENTENCES
) -> None:
    """Padded batches in float32 within 1e-4 of the largest value, and unpadded in float64 to the last digits."""
    options: Any = {"kind": kind, "level": level, "merge": merge, "ff_bias": ff_bias}
    (batch,) = extract(encoder, sentences, **options)
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


@pytest.mark.slow
@pytest.mark.parametrize(("family", "kind"), cases(*NORMS, "alti"))
def test_word_maps_merged_as_vectors(family, kind):
    compare(encoder_of(family), kind, "word", "vector")


@pytest.mark.parametrize("kind", ["norm", "attnresln", "atbffresln", "value-zeroing"])
def test_word_maps_merged_as_norms(kind):
    compare(encoder_of("bert"), kind, "word")


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "silu", "quick_gelu", "tanh", "mish", "sigmoid"])
@pytest.mark.parametrize("ff_bias", ["input", "fixed"])
def test_feed_forward_kinds_with_other_activations(activation, ff_bias):
    compare(encoder_of("bert", hidden_act=activation), "atbffresln", "token", ff_bias=ff_bias)


@pytest.mark.parametrize("ff_bias", ["input", "fixed"])
def test_gated_feed_forward_with_biases(ff_bias):
    encoder = tiny.randomize("modernbert", mlp_bias=True, attention_bias=True, norm_bias=True)
    compare(encoder, "atbffres", "token", ff_bias=ff_bias)


@pytest.mark.parametrize("seen", ["all before", "all", "all but the first row"])
def test_norms_of_long_inputs_are_sums_over_heads(seen):
    """Rows of causal maps are computed in blocks, without what no row of a block sees."""
    rng = np.random.default_rng(0)
    alpha = rng.random((2, 3, 75, 75))
    if seen == "all before":
        alpha *= np.tril(np.ones((75, 75)))
    elif seen == "all but the first row":
        alpha[:, :, 0, 1:] = 0
    v, projection = rng.normal(size=(2, 75, 3, 4)), rng.normal(size=(12, 5))
    block = AttentionBlock(torch.tensor(alpha), torch.ones(2, 75, dtype=torch.bool))
    block.v = torch.tensor(v)
    norms = contribution_norms(block, torch.tensor(projection @ projection.T))
    vectors = np.einsum("bhij,bjhs,hsd->bijd", alpha, v, projection.reshape(3, 4, 5))
    np.testing.assert_allclose(norms[:, 0], np.linalg.norm(vectors, axis=-1), rtol=1e-9, atol=1e-12)


def attending(pattern: str, n: int) -> np.ndarray:
    """Which of n queries attends to which key."""
    i, j = np.indices((n, n))
    return {"all": i >= 0, "causal": i >= j, "window": abs(i - j) < 9, "none": i < 0, "last key": j == n - 1}[pattern]


@pytest.mark.parametrize(
    ("pattern", "most"), [("all", 1), ("causal", 0.62), ("window", 0.4), ("none", 0.25), ("last key", 0.4)]
)
def test_vectors_are_computed_only_where_something_is_attended_to(pattern, most):
    """They add up to those of all pairs, and no more than a share of the pairs is computed."""
    rng, n = np.random.default_rng(0), 75
    alpha = rng.random((2, 2, n, n)) * attending(pattern, n)
    v, projection, residual = rng.normal(size=(2, n, 2, 4)), rng.normal(size=(8, 5)), rng.normal(size=(2, n, 5))
    layer = Layer(torch.tensor(alpha), torch.ones(2, n, dtype=torch.bool))
    layer.v, layer.factors = torch.tensor(v), layer.alpha
    found, times = np.zeros((2, n, n, 5)), np.zeros((n, n))
    for block in contribution_blocks(layer, [torch.tensor(projection)], residuals=[torch.tensor(residual)]):
        found[:, block.queries, block.keys] += block.vectors[0].transpose(1, 2).numpy()
        times[block.queries, block.keys] += 1
    expected = np.einsum("bhij,bjhs,hsd->bijd", alpha, v, projection.reshape(2, 4, 5))
    expected[:, range(n), range(n)] += residual
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert times.max() == 1
    assert times.mean() <= most


@pytest.mark.parametrize(
    ("family", "kind", "merge"),
    [
        ("gpt2", "value-zeroing", "norm"),
        ("gpt2", "alti", "vector"),
        ("gpt2", "atbffres", "vector"),
        ("modernbert", "atbff", "norm"),
    ],
)
def test_maps_of_small_blocks(monkeypatch, family, kind, merge):
    """Blocks of which a causal model computes only a part."""
    monkeypatch.setattr(contributions, "BLOCK_KEYS", 3)
    monkeypatch.setattr(contributions, "BLOCK_PAIRS", 12)
    compare(encoder_of(family), kind, "word", merge)


OF_SEVERAL_LENGTHS = [
    Sentence("two", ("No", "way")),
    *SENTENCES,
    Sentence("other", ("Of", "it")),
    Sentence("s", ("Oh",)),
]


def test_sentences_are_read_together():
    """On a CPU without padding, and on another device with it; pieces are merged in one sentence at a time."""
    mask = torch.arange(6) < torch.tensor([[6], [4], [4], [4], [3]])
    layer = Layer(torch.zeros(5, 1, 6, 6), mask, weights=mock.Mock(), x=torch.zeros(5, 6, 2))

    def parts() -> list[tuple[int, int, int]]:
        return [(part.start, part.stop, cut.alpha.shape[-1]) for part, cut in contributions.parts_of(layer)]

    assert parts() == [(0, 1, 6), (1, 4, 4), (4, 5, 3)]
    with mock.patch.object(contributions, "BLOCK_PAIRS", 80):
        assert parts() == [(0, 1, 6), (1, 3, 4), (3, 4, 4), (4, 5, 3)]
    with mock.patch.object(contributions, "_is_on_cpu", return_value=False):
        assert parts() == [(0, 5, 6)]
        with mock.patch.object(contributions, "_PAIRS_ELSEWHERE", 75):
            assert parts() == [(0, 2, 6), (2, 5, 4)]
    layer.groups = mock.MagicMock()
    assert [stop - start for start, stop, _ in parts()] == [1] * 5


@pytest.mark.parametrize("family", ["bert", "gpt2"])
@pytest.mark.parametrize("kind", [*OTHERS, "atbffresln"])
def test_maps_of_sentences_that_are_padded(monkeypatch, family, kind):
    """As on another device."""
    monkeypatch.setattr(contributions, "_is_on_cpu", lambda layer: False)
    compare(encoder_of(family), kind, "token", sentences=OF_SEVERAL_LENGTHS)


@pytest.mark.parametrize(("kind", "merge"), [("value-zeroing", "norm"), ("alti", "vector"), ("atbff", "vector")])
def test_maps_of_sentences_of_one_length(kind, merge):
    sentences = [SENTENCES[1], *(Sentence(word, (word,)) for word in ("Oh", "Well")), SENTENCES[0]]
    compare(encoder_of("bert"), kind, "word", merge, sentences=sentences)
