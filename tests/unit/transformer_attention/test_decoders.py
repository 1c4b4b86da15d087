"""Classifiers of decoders, whose last piece is classified: its row is the one that is tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attentionology.extractors import ModelError, TransformerAttention, Words, extract
from attentionology.extractors.replaceable.attention_patch import difference
from tests import tiny
from tests.unit.transformer_attention.replaceable import TEXTS, own_logits, random_rows

READ_LAST = ("gpt2", "llama", "mistral", "qwen2", "gemma2", "phi3", "gpt_neox")
FULL = [text for text in TEXTS if text]


def patched(family: str, *, double: bool = False, **options: Any) -> TransformerAttention:
    model = tiny.classifier(family)
    tokenizer = tiny.fresh_tokenizer("bytes without specials")
    return TransformerAttention(model.double() if double else model, tokenizer, **options)


def naive(attention: TransformerAttention, text: Words, alpha: np.ndarray) -> np.ndarray:
    """The logits with other weights of the words in the row of the last piece, computed module by module."""
    model = attention.model
    state = attention.encode([text])
    model.set_attn_implementation("eager")
    output = model(input_ids=state.ids, output_attentions=True, output_hidden_states=True)
    llama = model.config.model_type == "llama"
    layer = model.model.layers[-1] if llama else model.transformer.h[-1]
    seen: list[Tensor] = []
    with layer.register_forward_pre_hook(lambda _, args, kwargs: seen.append(args[0]), with_kwargs=True):
        model(input_ids=state.ids)
    (x,) = seen[0]
    h = (layer.input_layernorm if llama else layer.ln_1)(x)
    v = layer.self_attn.v_proj(h) if llama else layer.attn.c_attn(h)[:, -x.shape[1] :]
    heads, n = model.config.num_attention_heads, len(x)
    size = x.shape[1] // heads
    v = v.view(n, -1, size).repeat_interleave(heads // (v.shape[1] // size), dim=1)
    last = output.attentions[-1][0, :, -1].clone()
    for head in range(heads):
        total = last[head].sum()
        for word in range(len(text)):
            pieces = [i for i in range(n) if state.word_of[0, i] == word]
            of_word = last[head, pieces].sum()
            last[head, pieces] = last[head, pieces] / of_word * total * alpha[head, word]
    context = torch.stack([last[head] @ v[:, head] for head in range(heads)]).flatten()
    p = x[-1] + (layer.self_attn.o_proj if llama else layer.attn.c_proj)(context[None])[0]
    q = p + layer.mlp((layer.post_attention_layernorm if llama else layer.ln_2)(p[None]))[0]
    logits: np.ndarray = model.score((model.model.norm if llama else model.transformer.ln_f)(q[None]))[0].numpy()
    return logits


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@torch.no_grad()
def test_the_row_of_the_last_piece_is_replaced(family: str) -> None:
    """Llama's norms go through float32, also in the loop, so that it agrees to fewer digits."""
    attention = patched(family, double=True)
    assert attention.describe()["query"] == "last"
    assert attention.way == "one position"
    state = attention.encode(FULL)
    alpha = random_rows(state, 3)
    found: dict[str, Tensor] = {}
    for attention.way in ("one position", "from the layer", "whole model"):
        found[attention.way] = attention.decode(state, alpha)
    for logits in found.values():
        assert difference(logits, found["whole model"]) <= 1e-6
    assert (found["whole model"][0, 0] - found["whole model"][0, 1]).abs().max() > 1e-3
    for row, text in enumerate(FULL):
        for k in range(3):
            expected = naive(patched(family, double=True), text, alpha[row, k, :, : len(text)].numpy())
            tolerance = 1e-10 if family == "gpt2" else 1e-5
            assert np.abs(found["whole model"][row, k].numpy() - expected).max() <= tolerance


@pytest.mark.parametrize("family", READ_LAST)
@pytest.mark.parametrize("scope", [{}, {"level": "piece", "heads": [1, 3]}, {"layer": 0}], ids=str)
@torch.no_grad()
def test_own_attention_put_back_gives_the_models_own_logits(family: str, scope: dict[str, Any]) -> None:
    attention = patched(family, **scope)
    state = attention.encode(FULL)
    own = own_logits(attention.model, state.ids, state.inside)
    assert difference(attention.decode(state, state.alpha[:, None])[:, 0], own) <= 1e-5
    alone = [attention.encode([text]) for text in FULL]
    for row, (text, one) in enumerate(zip(FULL, alone, strict=True)):
        n = len(text) if attention.level == "word" else one.alpha.shape[-1]
        assert torch.allclose(state.alpha[row, :, :n], one.alpha[0], atol=1e-5)


@pytest.mark.parametrize("score", ["weight", "norm", "attnresln"])
@torch.no_grad()
def test_words_are_ranked_by_the_row_of_the_last_piece(score: str) -> None:
    attention = patched("llama", score=score)
    state = attention.encode(FULL)
    scores = attention.scores(state)
    for row, text in enumerate(FULL):
        (batch,) = extract(attention._encoder, [list(text)], score, "token")
        last = batch.maps[0, -1, :, -1].mean(0)
        expected = [float(last[state.word_of[row, : len(last)] == word].sum()) for word in range(len(text))]
        assert scores[row, : len(text)].tolist() == pytest.approx(expected, rel=1e-4)


def test_a_classifier_of_the_mean_has_no_single_row() -> None:
    model = tiny.classifier("modernbert", classifier_pooling="mean")
    with pytest.raises(ModelError, match="neither the first position alone nor the last one"):
        TransformerAttention(model, tiny.fresh_tokenizer("bytes"))
