"""A transformer whose attention can be replaced gives what the model gives, by every way of computing it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from attentionology.extractors import AttentionModel
from attentionology.extractors.layers.architectures import ARCHITECTURES
from attentionology.extractors.replaceable.attention_patch import difference
from tests.unit.transformer_attention.replaceable import (
    READ_FIRST,
    SCOPES,
    TEXTS,
    check_own_attention,
    patchable,
    random_rows,
)


@pytest.mark.slow
@pytest.mark.parametrize("family", READ_FIRST)
@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_own_attention_put_back_gives_the_models_own_logits(family: str, scope: dict[str, Any]) -> None:
    attention = patchable(family, **scope)
    for places in attention.batches(TEXTS):
        check_own_attention(attention, [TEXTS[i] for i in places])


@pytest.mark.parametrize("family", READ_FIRST)
@torch.no_grad()
def test_without_a_patch_attention_is_eager_bit_for_bit(family: str) -> None:
    attention = patchable(family)
    ids, mask = attention._encoder.pad(attention._reader.pieces(TEXTS))
    inputs = {"input_ids": ids, "attention_mask": mask.long(), "output_attentions": True, "output_hidden_states": True}
    ours = attention.model(**inputs)
    attention.model.set_attn_implementation("eager")
    eager = attention.model(**inputs)
    assert torch.equal(ours.logits, eager.logits)
    for one, other in zip(ours.attentions + ours.hidden_states, eager.attentions + eager.hidden_states, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("family", "scope"),
    [
        *((family, scope) for family in READ_FIRST for scope in ({}, {"special": "renormalize", "heads": [0, 3]})),
        ("bert", {"level": "piece"}),
        *(
            pytest.param(family, {"level": "piece"}, marks=pytest.mark.slow)
            for family in READ_FIRST
            if family != "bert"
        ),
    ],
    ids=str,
)
@torch.no_grad()
def test_the_first_position_alone_gives_what_the_whole_model_gives(family: str, scope: dict[str, Any]) -> None:
    attention = patchable(family, **scope)
    assert attention.way == "one position"
    assert attention.describe()["fast"]
    state = attention.encode(TEXTS)
    alpha = random_rows(state, 5)
    found: dict[str, Tensor] = {}
    for attention.way in ("one position", "from the layer", "whole model"):
        found[attention.way] = attention.decode(state, alpha)
    assert (found["whole model"][0, 0] - found["whole model"][0, 1]).abs().max() > 1e-3
    assert difference(found["one position"], found["whole model"]) <= 1e-5
    assert difference(found["from the layer"], found["whole model"]) <= 1e-5


@torch.no_grad()
def test_other_scopes_begin_at_their_layer_and_unknown_architectures_at_the_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = patchable(layer=1, query="all")
    assert known.way == "from the layer"
    monkeypatch.delitem(ARCHITECTURES, "bert")
    unknown = patchable(layer=1, query="all")
    assert unknown.way == "whole model"
    text = [TEXTS[0]]
    found = unknown.decode(state := unknown.encode(text), random_rows(state, 3))
    monkeypatch.undo()
    assert difference(known.decode(known.encode(text), random_rows(state, 3)), found) <= 1e-5


@torch.no_grad()
def test_many_alternatives_are_computed_in_parts() -> None:
    state = (attention := patchable()).encode(TEXTS)
    alpha = random_rows(state, 7)
    expected = attention.decode(state, alpha)
    small = patchable(batch_cells=6)
    for small.way in ("one position", "from the layer"):
        assert difference(small.decode(small.encode(TEXTS), alpha), expected) <= 1e-5


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "modernbert"])
@torch.no_grad()
def test_padding_changes_nothing(family: str) -> None:
    attention = patchable(family, double=True)
    state = attention.encode(TEXTS)
    alpha = random_rows(state, 2)
    together = attention.decode(state, alpha)
    for text, words in enumerate(TEXTS):
        alone = attention.encode([words])
        n = alone.alpha.shape[-1]
        assert torch.allclose(alone.alpha[0], state.alpha[text, :, :n], atol=1e-10)
        assert torch.allclose(attention.decode(alone, alpha[text : text + 1, ..., :n])[0], together[text], atol=1e-10)
        assert torch.equal(attention.value_rank(alone)[0], attention.value_rank(state)[text])
        assert torch.allclose(attention.scores(alone)[0], attention.scores(state)[text, :n], atol=1e-10)


@torch.no_grad()
def test_a_text_without_words_and_one_of_unknown_words() -> None:
    attention = patchable()
    assert isinstance(attention, AttentionModel)
    assert attention.classes == ("no", "maybe", "yes")
    state = attention.encode([()])
    assert state.alpha.shape == (1, 4, 1)
    assert not state.alpha.any()
    assert not state.mask.any()
    assert attention.decode(state, state.alpha[:, None]).isfinite().all()
    assert not attention.scores(state).any()
    unknown = attention.encode([("☃☃", "ლ")])
    assert unknown.mask.tolist() == [[True, True]]
    assert torch.allclose(unknown.alpha.sum(-1), torch.ones(1))


@torch.no_grad()
def test_all_queries_want_texts_of_the_same_number_of_pieces() -> None:
    attention = patchable(query="all")
    texts = [*TEXTS, *TEXTS]
    batches = list(attention.batches(texts))
    assert sorted(i for batch in batches for i in batch) == list(range(10))
    lengths = [len(pieces) for pieces in attention._reader.pieces(texts)]
    assert all(len({lengths[i] for i in batch}) == 1 for batch in batches)
    assert max(map(len, batches)) > 1
    state = attention.encode([TEXTS[0]])
    assert state.alpha.shape == (1, 4 * lengths[0], 6)
    with pytest.raises(ValueError, match="same number of pieces"):
        attention.encode(TEXTS)
