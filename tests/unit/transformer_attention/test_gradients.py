"""Gradients through replaced attention, and training."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from attentionology.extractors.replaceable.attention_patch import input_embeddings, model_logits
from tests import tiny
from tests.unit.transformer_attention.replaceable import TEXTS, patchable, random_rows


@pytest.mark.slow
@pytest.mark.parametrize("way", ["one position", "from the layer", "whole model"])
def test_gradients_are_those_of_finite_differences(way: str) -> None:
    attention = patchable(double=True, special="renormalise")
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
    fixed = torch.autograd.grad(attention.decode(state, state.alpha.detach()[:, None])[..., 0].sum(), embeddings)[0]
    assert (fixed - found).abs().max() > 1e-6


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
