"""Replaced attention, weights of words, scores and gradients against the formulas."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import erf
from torch import Tensor
from torch.nn import functional

from attentionology.extractors import Encoder, MapMaker, TransformerAttention, Words, get_kind
from attentionology.extractors.replaceable.attention_patch import input_embeddings, model_logits
from tests import tiny
from tests.unit.transformer_attention.replaceable import TEXTS, patchable, random_rows


def naive_bert(attention: TransformerAttention, text: Words, alpha: Any, *, renormalize: bool) -> Any:
    """Logits of a BERT in which [CLS] pays ``alpha[head][word]`` in the last layer, from the formulas."""
    weights = {name: value.double().numpy() for name, value in attention.model.state_dict().items()}
    pieces = attention._reader.pieces([text])[0]
    n, heads = len(pieces), attention._encoder.n_heads

    def linear(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    e = "bert.embeddings"
    words = weights[f"{e}.word_embeddings.weight"][pieces.ids]
    x = words + weights[f"{e}.position_embeddings.weight"][:n] + weights[f"{e}.token_type_embeddings.weight"][0]
    x = norm(x, f"{e}.LayerNorm")
    for layer in range(attention._encoder.n_layers):
        at = f"bert.encoder.layer.{layer}"
        context = np.zeros_like(x)
        for head in range(heads):
            size = x.shape[1] // heads
            part = slice(head * size, (head + 1) * size)
            q, k, v = (linear(x, f"{at}.attention.self.{name}")[:, part] for name in ("query", "key", "value"))
            raw = np.exp(q @ k.T / math.sqrt(size))
            rows = raw / raw.sum(1, keepdims=True)
            if layer == attention._encoder.n_layers - 1:
                rows[0] = naive_row(rows[0], pieces, alpha[head], renormalize)
            context[:, part] = rows @ v
        a = norm(x + linear(context, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        u = linear(a, f"{at}.intermediate.dense")
        x = norm(a + linear(u * (1 + erf(u / math.sqrt(2))) / 2, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    return linear(np.tanh(linear(x[0], "bert.pooler.dense")), "classifier")


def naive_row(row: Any, pieces: Any, alpha: Any, renormalize: bool) -> Any:
    word_positions = [p for p, special in enumerate(pieces.special) if not special]
    total = sum(row[i] for i, p in enumerate(pieces.positions) if not pieces.special[p])
    new = row.copy()
    for word, position in enumerate(word_positions):
        of_word = [i for i, p in enumerate(pieces.positions) if p == position]
        for i in of_word:
            new[i] = total * alpha[word] * row[i] / sum(row[j] for j in of_word)
    return new / new.sum() if renormalize else new


@pytest.mark.parametrize("special", ["keep", "renormalize"])
@torch.no_grad()
def test_against_the_formulas(special: str) -> None:
    attention = patchable(double=True, special=special)
    state = attention.encode(TEXTS)
    alpha = random_rows(state, 3) * torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64)[:, None, None]
    logits = attention.decode(state, alpha)
    assert logits.isfinite().all()
    for text, words in enumerate(TEXTS):
        for k in range(3):
            naive = naive_bert(attention, words, alpha[text, k].numpy(), renormalize=special == "renormalize")
            assert np.abs(logits[text, k].numpy() - naive).max() <= 1e-10


def test_a_word_without_attention_shares_what_it_gets_evenly() -> None:
    """The first token of GPT-2 cannot see what follows, other attention can."""
    attention = patchable("gpt2", query="all", double=True)
    state = attention.encode([TEXTS[0]])
    rows = state.rows
    assert not state.alpha[0, 0, 1:].any()
    alpha = torch.zeros_like(state.alpha)[:, None]
    alpha[..., 2] = 1
    given = rows.join(alpha, False)[0, 0, 0]
    of_word = state.word_of[0] == 2
    assert of_word.sum() > 1
    assert torch.allclose(given, of_word / of_word.sum().double())
    assert attention.decode(state, alpha).isfinite().all()


@pytest.mark.slow
@torch.no_grad()
def test_scores_are_attention_or_another_map_of_the_layer() -> None:
    attention = patchable(heads=[1, 2])
    state = attention.encode(TEXTS)
    maker = MapMaker(get_kind("weight"))
    maps, _ = maker(Encoder(attention.model.base_model, attention.tokenizer), state.pieces)
    for text, words in enumerate(TEXTS):
        expected = maps[text, -1, [1, 2], 0].mean(0)[1 : len(words) + 1]
        assert torch.allclose(attention.scores(state)[text, : len(words)], expected, atol=1e-6)
    for score in ("norm", "rollout", "value-zeroing", "attnresln", "attention-x-gradient"):
        for level in ("word", "piece"):
            other = patchable(model=attention.model, score=score, layer=1, level=level)
            state = other.encode(TEXTS)
            scores = other.scores(state)
            assert scores.shape == state.mask.shape
            assert not scores.is_inference()
            assert (scores[state.mask] > 0).all()
            assert not scores[~state.mask].any()
    both = patchable(score="norm", query="all")
    assert (both.scores(both.encode([TEXTS[0]])) > 0).all()


@torch.no_grad()
def test_rank_of_values() -> None:
    attention = patchable(double=True, heads=[0, 3])
    state = attention.encode(TEXTS)
    pieces = [len(p) for p in state.pieces]
    assert max(pieces) > 6 > min(pieces)
    assert attention.value_rank(state).tolist() == [[min(n, 6)] * 2 for n in pieces]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["one position", "from the layer", "whole model"])
def test_gradients_are_those_of_finite_differences(way: str) -> None:
    attention = patchable(double=True, special="renormalize")
    attention.way = way  # type: ignore[assignment]
    with torch.no_grad():
        state = attention.encode(TEXTS[:3])
    alpha = random_rows(state, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda rows: attention.decode(state, rows), (alpha,))


@pytest.mark.parametrize("way", ["one position", "from the layer", "whole model"])
def test_gradients_of_embeddings(way: str) -> None:
    attention = patchable(double=True, heads=[0, 2])
    attention.way = way  # type: ignore[assignment]
    with torch.no_grad():
        state = attention.encode(TEXTS[:2], gradient=True)
    embeddings = attention.embeddings(state)
    assert embeddings.is_leaf
    assert embeddings.requires_grad
    logits = attention.decode(state, attention.attention(state)[0][:, None])
    found = torch.autograd.grad(logits[..., 0].sum(), embeddings, retain_graph=True)[0]
    ids, mask = state.ids, state.inside

    def directly(given: Tensor) -> Tensor:
        with input_embeddings(attention.model, given):
            return model_logits(attention.model, ids, mask)[:, 0].sum()

    given = embeddings.detach().clone().requires_grad_()
    assert torch.allclose(found, torch.autograd.grad(directly(given), given)[0], atol=1e-10)
    assert not found[~mask].any()


def test_attention_without_gradient_is_disconnected_as_a_whole() -> None:
    """Of attention to words, to pieces within words and to special tokens, nothing changes with the embeddings."""
    attention = patchable(double=True)
    state = attention.encode([TEXTS[0]], gradient=True)
    fixed = attention.decode(state, state.alpha.detach()[:, None])[..., 0].sum()
    found = torch.autograd.grad(fixed, state.embeddings)[0]
    step = torch.randn(state.embeddings.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def moved(size: float) -> Tensor:
        with torch.no_grad(), input_embeddings(attention.model, state.embeddings + size * step):
            other = replace(attention.encode([TEXTS[0]]), rows=state.rows, read=state.read)
            return attention.decode(other, state.alpha[:, None])[..., 0].sum()

    expected = (moved(1e-5) - moved(-1e-5)) / 2e-5
    assert float((found * step).sum()) == pytest.approx(float(expected), rel=1e-6)


def test_the_model_is_trained_through_it_as_by_itself() -> None:
    attention = patchable(double=True)
    targets = torch.tensor([0, 1, 2, 0, 1])
    state = attention.encode(TEXTS)
    functional.cross_entropy(attention.decode(state, state.alpha[:, None])[:, 0], targets).backward()
    found = {name: parameter.grad for name, parameter in attention.model.named_parameters()}
    attention.model.zero_grad(set_to_none=True)
    functional.cross_entropy(model_logits(attention.model, state.ids, state.inside), targets).backward()
    for name, parameter in attention.model.named_parameters():
        assert torch.allclose(found[name], parameter.grad, atol=1e-10), name


def test_what_dropout_left_is_what_is_decoded() -> None:
    """In training, everything before the attention is drawn once, when the texts are read."""
    model = tiny.classifier("bert")
    attention = patchable(model=model)
    attention.train()
    for module in model.bert.encoder.layer[-1].modules():
        module.eval()
    model.dropout.eval()
    state = attention.encode(TEXTS)
    one, other = (attention.decode(state, state.alpha[:, None]) for _ in range(2))
    assert torch.equal(one, other)
    again = attention.encode(TEXTS)
    assert not torch.allclose(one, attention.decode(again, again.alpha[:, None]), atol=1e-3)
