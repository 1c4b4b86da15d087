"""Models whose attention can and cannot be replaced, how they are saved, and classifiers of decoders."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attentionology.extractors import ExtractionError, ModelError, TransformerAttention, Words, extract, load_classifier
from attentionology.extractors.model.loading import load_tokenizer
from attentionology.extractors.replaceable.attention_patch import difference, implementation
from tests import tiny
from tests.unit.transformer_attention.replaceable import TEXTS, check_own_attention, patchable, random_rows


def test_a_copy_has_its_own_weights_and_nothing_is_left_in_the_model() -> None:
    attention = patchable()
    twin = copy.deepcopy(attention)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
        state = twin.encode(TEXTS)
        assert not twin.decode(state, state.alpha[:, None]).any()
        state = attention.encode(TEXTS)
        assert attention.decode(state, state.alpha[:, None]).any()
    assert twin._encoder.model is twin.model.base_model
    assert not any("forward" in vars(module) for module in attention.modules())
    assert set(attention.state_dict()) == {f"model.{name}" for name in attention.model.state_dict()}


def test_unknown_options() -> None:
    unknown: dict[str, tuple[Any, str]] = {
        "query": ("mean", "query must be 'cls' or 'all'"),
        "special": ("drop", "special must be 'keep' or 'renormalize'"),
        "level": ("token", "level must be 'word' or 'piece'"),
        "score": ("nothing", "choose from: .*weight"),
        "heads": ("some", "heads must be 'all'"),
        "batch_cells": (0, "batch_cells"),
    }
    for option, (value, message) in unknown.items():
        with pytest.raises(ValueError, match=message):
            patchable(**{option: value})


@pytest.mark.parametrize(
    ("family", "options", "changes", "message"),
    [
        ("bert", {"layer": 3}, {}, "layers 0 to 2"),
        ("bert", {"layer": -4}, {}, "layers 0 to 2"),
        ("bert", {"heads": [0, 4]}, {}, "heads 0 to 3"),
        ("bert", {"heads": [-1]}, {}, "heads 0 to 3"),
        ("bert", {"heads": []}, {}, "at least one"),
        ("bert", {}, {"id2label": {0: "score"}, "label2id": {"score": 0}}, "two or more classes"),
        ("bart", {}, {}, "not an encoder"),
        ("mpnet", {}, {}, "cannot be replaced"),
        ("deberta", {}, {}, "cannot be replaced"),
        ("deberta-v2", {}, {}, "cannot be replaced"),
        ("modernbert", {}, {"classifier_pooling": "mean"}, "neither the first .* alone nor the last .*query='all'"),
    ],
)
def test_models_and_scopes_that_do_not_fit(
    family: str, options: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        patchable(family, model=tiny.classifier(family, **changes), **options)


def test_mean_pooling_takes_all_queries() -> None:
    attention = patchable("modernbert", model=tiny.classifier("modernbert", classifier_pooling="mean"), query="all")
    assert not attention.describe()["fast"]


def test_a_model_that_changes_its_attention_afterwards_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.classifier("bert")
    inside = model.bert.encoder.layer[-1].attention.self
    own = inside.forward
    calls = []

    def drifting(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        output, weights = own(*args, **kwargs)
        return output * (1 + 0.1 * (len(calls) > 9)), weights

    monkeypatch.setattr(inside, "forward", drifting)
    with pytest.raises(ModelError, match="logits change"):
        patchable(model=model)


def test_what_cannot_be_read_is_told_beforehand() -> None:
    attention = patchable()
    long = ("dogs",) * 70
    first, second = attention.readable([("dogs",), long])
    assert first is None
    assert "limit is 64" in (second or "")
    for read in (attention.encode, lambda texts: list(attention.batches(texts))):
        with pytest.raises(ExtractionError, match=r"'dogs dogs dogs dogs dogs dogs …' cannot be read: .*limit is 64"):
            read([long])
    assert attention.readable([]) == []


def test_saved_and_loaded(tmp_path: Any) -> None:
    attention = patchable(name="mine")
    attention.save(tmp_path)
    assert implementation() not in (tmp_path / "config.json").read_text()
    model, files = load_classifier(tmp_path)
    assert list(files.sha256) == ["model.safetensors"]
    again = TransformerAttention(model, load_tokenizer(tmp_path), name="mine", files=files)
    assert again.classes == attention.classes
    assert again.describe() == attention.describe() == {
        "layer": 3, "heads": "all", "query": "cls", "special": "keep", "level": "word", "score": "weight", "fast": True,
    }  # fmt: skip
    with torch.no_grad():
        one, other = (
            model.decode((state := model.encode(TEXTS)), state.alpha[:, None]) for model in (attention, again)
        )
    assert torch.equal(one, other)


def test_a_head_must_be_trained_or_asked_for(tmp_path: Any) -> None:
    tiny.save(tmp_path)
    with pytest.raises(ModelError, match="--finetune"):
        load_classifier(tmp_path)
    for labels in (["one"], ["one", "one"]):
        with pytest.raises(ValueError, match="two or more different"):
            load_classifier(tmp_path, labels=labels)
    torch.manual_seed(3)
    model, _ = load_classifier(tmp_path, labels=["bad", "good"])
    assert model.config.id2label == {0: "bad", 1: "good"}
    assert TransformerAttention(model, load_tokenizer(tmp_path)).classes == ("bad", "good")
    torch.manual_seed(3)
    again, _ = load_classifier(tmp_path, labels=["bad", "good"])
    assert torch.equal(model.classifier.weight, again.classifier.weight)


def test_another_number_of_classes_is_a_new_head_but_another_body_is_none(tmp_path: Any) -> None:
    tiny.classifier("bert").save_pretrained(tmp_path)
    model, _ = load_classifier(tmp_path, labels=["bad", "good"])
    assert model.classifier.weight.shape[0] == 2
    kept, _ = load_classifier(tmp_path, labels=["a", "b", "c"])
    assert torch.equal(kept.classifier.weight, tiny.classifier("bert").classifier.weight)
    config = tiny.classifier("bert", num_hidden_layers=4).config
    config.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="lacks 16 weights"):
        load_classifier(tmp_path, labels=["bad", "good"])


READ_LAST = ("gpt2", "llama", "mistral", "qwen2", "gemma2", "phi3", "gpt_neox")
FULL = [text for text in TEXTS if text]


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
    model.set_attn_implementation(implementation())
    return logits


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@torch.no_grad()
def test_the_row_of_the_last_piece_is_replaced(family: str) -> None:
    """Llama's norms go through float32, also in the loop, so that it agrees to fewer digits."""
    attention = patchable(family, double=True)
    assert attention.describe()["query"] == "last"
    assert attention.way == "one position"
    state = attention.encode(FULL)
    alpha = random_rows(state, 2)
    found: dict[str, Tensor] = {}
    for attention.way in ("one position", "from the layer", "whole model"):
        found[attention.way] = attention.decode(state, alpha)
    for logits in found.values():
        assert difference(logits, found["whole model"]) <= 1e-6
    assert (found["whole model"][0, 0] - found["whole model"][0, 1]).abs().max() > 1e-3
    other = patchable(family, double=True)
    for row, text in enumerate(FULL):
        for k in range(2):
            expected = naive(other, text, alpha[row, k, :, : len(text)].numpy())
            tolerance = 1e-10 if family == "gpt2" else 1e-5
            assert np.abs(found["whole model"][row, k].numpy() - expected).max() <= tolerance


@pytest.mark.parametrize(
    ("family", "scope"),
    [
        *((family, scope) for family in READ_LAST for scope in ({}, {"layer": 0})),
        *((family, {"level": "piece", "heads": [1, 3]}) for family in ("gpt2", "llama")),
        *(
            pytest.param(family, {"level": "piece", "heads": [1, 3]}, marks=pytest.mark.slow)
            for family in READ_LAST
            if family not in ("gpt2", "llama")
        ),
    ],
    ids=str,
)
@torch.no_grad()
def test_own_attention_put_back_gives_the_models_own_logits(family: str, scope: dict[str, Any]) -> None:
    attention = patchable(family, **scope)
    check_own_attention(attention, FULL)
    state = attention.encode(FULL)
    for row, text in enumerate(FULL):
        alone = attention.encode([text]).alpha[0]
        n = len(text) if attention.level == "word" else alone.shape[-1]
        assert torch.allclose(state.alpha[row, :, :n], alone, atol=1e-5)


@pytest.mark.parametrize("score", ["weight", "norm", "attnresln"])
@torch.no_grad()
def test_words_are_ranked_by_the_row_of_the_last_piece(score: str) -> None:
    attention = patchable("llama", score=score)
    state = attention.encode(FULL)
    scores = attention.scores(state)
    for row, text in enumerate(FULL):
        (batch,) = extract(attention._encoder, [list(text)], score, "token")
        last = batch.maps[0, -1, :, -1].mean(0)
        expected = [float(last[state.word_of[row, : len(last)] == word].sum()) for word in range(len(text))]
        assert scores[row, : len(text)].tolist() == pytest.approx(expected, rel=1e-4)
