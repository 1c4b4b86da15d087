"""Models whose attention can and cannot be replaced, and how they are saved and loaded."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from attentionology.extractors import ExtractionError, ModelError, TransformerAttention, load_classifier
from attentionology.extractors.model.loading import load_tokenizer
from attentionology.extractors.replaceable.attention_patch import implementation
from tests import tiny
from tests.unit.transformer_attention.replaceable import TEXTS, patchable


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": "mean"}, "query must be 'cls' or 'all'"),
        ({"special": "drop"}, "special must be 'keep' or 'renormalise'"),
        ({"level": "token"}, "level must be 'word' or 'piece'"),
        ({"score": "nothing"}, "choose from: .*weight"),
        ({"heads": "some"}, "heads must be 'all'"),
        ({"batch_cells": 0}, "batch_cells"),
    ],
)
def test_unknown_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        patchable(**options)


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
        ("modernbert", {}, {"classifier_pooling": "mean"}, "query='all'"),
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
    tiny.model("bert").save_pretrained(tmp_path)
    tiny.fresh_tokenizer("wordpiece").save_pretrained(tmp_path)
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
