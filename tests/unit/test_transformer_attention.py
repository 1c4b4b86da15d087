"""A transformer whose attention can be replaced: against the model itself, against formulas, and at its limits."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import erf
from torch import Tensor
from torch.nn import functional

from attentionology.extractors import (
    AttentionModel,
    Encoder,
    ExtractionError,
    MapMaker,
    ModelError,
    TransformerAttention,
    Words,
    get_kind,
    load_classifier,
)
from attentionology.extractors.layers.architectures import ARCHITECTURES
from attentionology.extractors.model.loading import load_tokenizer
from attentionology.extractors.replaceable.attention_patch import InputEmbeddings, difference, implementation
from tests import tiny

READ_FIRST = ("bert", "electra", "distilbert", "roberta", "xlm-roberta", "camembert", "albert", "modernbert")
TEXTS: list[Words] = [
    ("the", "dog", "unbelievably", "chased", "the", "cat"),
    ("☃☃", "ლ"),
    (),
    ("dogs",),
    ("it", "was", "a", "wonderfully", "strange", "film", ",", "though", "long"),
]
SCOPES: list[dict[str, Any]] = [
    {},
    {"special": "renormalise"},
    {"level": "piece", "heads": [1, 3]},
    {"layer": 0, "heads": [2]},
    {"layer": 1, "level": "piece", "special": "renormalise"},
    {"query": "all"},
    {"query": "all", "layer": 0, "heads": [0, 2], "special": "renormalise"},
    {"query": "all", "layer": -2, "level": "piece"},
]


def patchable(family: str = "bert", *, double: bool = False, model: Any = None, **options: Any) -> TransformerAttention:
    model = tiny.classifier(family) if model is None else model
    tokenizer = tiny.fresh_tokenizer(tiny.FAMILIES[family][0])
    return TransformerAttention(model.double() if double else model, tokenizer, **options)


def own_logits(model: Any, ids: Tensor, mask: Tensor) -> Tensor:
    model.set_attn_implementation("eager")
    with torch.no_grad():
        logits: Tensor = model(input_ids=ids, attention_mask=mask.long()).logits
    model.set_attn_implementation(implementation())
    return logits


def random_rows(state: Any, k: int, seed: int = 0) -> Tensor:
    """Distributions over the words of each text."""
    generator = torch.Generator().manual_seed(seed)
    shape = (len(state), k, *state.alpha.shape[1:])
    raw: Tensor = torch.rand(shape, generator=generator, dtype=state.alpha.dtype) * state.mask[:, None, None]
    return raw / raw.sum(-1, keepdim=True).clamp(min=1e-9)


@pytest.mark.parametrize("family", READ_FIRST)
@pytest.mark.parametrize("scope", SCOPES, ids=str)
@torch.no_grad()
def test_own_attention_put_back_gives_the_models_own_logits(family: str, scope: dict[str, Any]) -> None:
    attention = patchable(family, **scope)
    for places in attention.batches(TEXTS):
        state = attention.encode([TEXTS[i] for i in places])
        alpha, mask = attention.attention(state)
        own = own_logits(attention.model, state.memory["ids"], state.memory["mask"])
        assert difference(attention.decode(state, alpha[:, None])[:, 0], own) <= 1e-5
        assert torch.allclose(alpha.sum(-1), mask.any(-1, keepdim=True).to(alpha).expand(alpha.shape[:2]), atol=1e-5)
        assert not alpha[~mask[:, None].expand_as(alpha)].any()


@torch.no_grad()
def test_gpt2_reads_its_last_token_so_all_queries_are_its_scope() -> None:
    for options in ({}, {"layer": 0, "heads": [1]}, {"level": "piece", "special": "renormalise"}):
        attention = patchable("gpt2", query="all", **options)
        texts = [text for text in TEXTS if text]
        for places in attention.batches(texts):
            state = attention.encode([texts[i] for i in places])
            own = own_logits(attention.model, state.memory["ids"], state.memory["mask"])
            assert difference(attention.decode(state, state.alpha[:, None])[:, 0], own) <= 1e-5
    with pytest.raises(ModelError, match="query='all'"):
        patchable("gpt2")
    assert "no words" in (patchable("gpt2", query="all").readable([()])[0] or "")


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


@pytest.mark.parametrize("family", READ_FIRST)
@pytest.mark.parametrize("scope", [{}, {"special": "renormalise", "heads": [0, 3]}, {"level": "piece"}], ids=str)
@torch.no_grad()
def test_the_first_position_alone_gives_what_the_whole_model_gives(family: str, scope: dict[str, Any]) -> None:
    attention = patchable(family, **scope)
    assert attention.way == "first position"
    assert attention.describe()["fast"]
    state = attention.encode(TEXTS)
    alpha = random_rows(state, 5)
    found: dict[str, Tensor] = {}
    for attention.way in ("first position", "from the layer", "whole model"):
        found[attention.way] = attention.decode(state, alpha)
    assert (found["whole model"][0, 0] - found["whole model"][0, 1]).abs().max() > 1e-3
    assert difference(found["first position"], found["whole model"]) <= 1e-5
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
    for small.way in ("first position", "from the layer"):
        assert difference(small.decode(small.encode(TEXTS), alpha), expected) <= 1e-5


def naive_bert(attention: TransformerAttention, text: Words, alpha: Any, *, renormalise: bool) -> Any:
    """Logits of a BERT in which [CLS] pays ``alpha[head][word]`` in the last layer, from the formulas."""
    weights = {name: value.double().numpy() for name, value in attention.model.state_dict().items()}
    pieces = attention._reader.pieces([text])[0]
    n, heads = len(pieces), attention._encoder.n_heads

    def linear(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
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
                rows[0] = naive_row(rows[0], pieces, alpha[head], renormalise)
            context[:, part] = rows @ v
        a = norm(x + linear(context, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        u = linear(a, f"{at}.intermediate.dense")
        x = norm(a + linear(u * (1 + erf(u / math.sqrt(2))) / 2, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    return linear(np.tanh(linear(x[0], "bert.pooler.dense")), "classifier")


def naive_row(row: Any, pieces: Any, alpha: Any, renormalise: bool) -> Any:
    word_positions = [p for p, special in enumerate(pieces.special) if not special]
    total = sum(row[i] for i, p in enumerate(pieces.positions) if not pieces.special[p])
    new = row.copy()
    for word, position in enumerate(word_positions):
        of_word = [i for i, p in enumerate(pieces.positions) if p == position]
        for i in of_word:
            new[i] = total * alpha[word] * row[i] / sum(row[j] for j in of_word)
    return new / new.sum() if renormalise else new


@pytest.mark.parametrize("special", ["keep", "renormalise"])
@torch.no_grad()
def test_against_the_formulas(special: str) -> None:
    attention = patchable(double=True, special=special)
    state = attention.encode(TEXTS)
    alpha = random_rows(state, 3) * torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64)[:, None, None]
    logits = attention.decode(state, alpha)
    assert logits.isfinite().all()
    for text, words in enumerate(TEXTS):
        for k in range(3):
            naive = naive_bert(attention, words, alpha[text, k].numpy(), renormalise=special == "renormalise")
            assert np.abs(logits[text, k].numpy() - naive).max() <= 1e-10


def test_weights_of_words_are_taken_apart_and_put_together() -> None:
    attention = patchable(double=True)
    state = attention.encode(TEXTS)
    pieces = state.memory["pieces"][0]
    assert max(pieces.positions.count(p) for p in pieces.positions) > 1, "a word of several pieces is wanted"
    rows, first = state.memory["rows"], state.memory["first"]
    for word in range(6):
        of_word = first[0][:, [i for i, p in enumerate(pieces.positions) if p == word + 1]].sum(-1)
        assert torch.allclose(state.alpha[0, :, word] * rows.total[0], of_word)
    assert state.word_of[0].tolist()[: len(pieces)] == [-1, *(p - 1 for p in pieces.positions[1:-1]), -1]
    assert torch.allclose(rows.join(state.alpha[:, None], False)[:, 0], first)
    moved = rows.join(random_rows(state, 2), False)
    assert torch.allclose(moved.sum(-1)[[0, 1, 3, 4]], torch.ones(1, dtype=torch.float64))
    assert torch.equal(moved[:, 0][:, :, 0], first[:, :, 0])
    empty = rows.join(torch.zeros_like(state.alpha)[:, None], True)
    assert torch.allclose(empty.sum(-1), torch.ones(1, dtype=torch.float64))
    assert not empty[0, 0][:, state.word_of[0] >= 0].any()


def test_a_word_without_attention_shares_what_it_gets_evenly() -> None:
    """The first token of GPT-2 cannot see what follows, other attention can."""
    attention = patchable("gpt2", query="all", double=True)
    state = attention.encode([TEXTS[0]])
    rows = state.memory["rows"]
    assert not state.alpha[0, 0, 1:].any()
    alpha = torch.zeros_like(state.alpha)[:, None]
    alpha[..., 2] = 1
    given = rows.join(alpha, False)[0, 0, 0]
    of_word = state.word_of[0] == 2
    assert of_word.sum() > 1
    assert torch.allclose(given, of_word / of_word.sum().double())
    assert attention.decode(state, alpha).isfinite().all()


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


@pytest.mark.parametrize("way", ["first position", "from the layer", "whole model"])
def test_gradients_are_those_of_finite_differences(way: str) -> None:
    attention = patchable(double=True, special="renormalise")
    attention.way = way  # type: ignore[assignment]
    with torch.no_grad():
        state = attention.encode(TEXTS[:3])
    alpha = random_rows(state, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda rows: attention.decode(state, rows), (alpha,))


@pytest.mark.parametrize("way", ["first position", "from the layer", "whole model"])
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
    ids, mask = state.memory["ids"], state.memory["mask"]

    def directly(given: Tensor) -> Tensor:
        with InputEmbeddings(attention.model, given):
            return attention._logits(ids, mask)[:, 0].sum()

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
        with torch.no_grad(), InputEmbeddings(attention.model, state.embeddings + size * step):
            other = attention.encode([TEXTS[0]])
            for part in ("rows", "first"):
                other.memory[part] = state.memory[part]
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
    functional.cross_entropy(attention._logits(state.memory["ids"], state.memory["mask"]), targets).backward()
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


@torch.no_grad()
def test_scores_are_attention_or_another_map_of_the_layer() -> None:
    attention = patchable(heads=[1, 2])
    state = attention.encode(TEXTS)
    maker = MapMaker(get_kind("weight"))
    maps, _ = maker(Encoder(attention.model.base_model, attention.tokenizer), state.memory["pieces"])
    for text, words in enumerate(TEXTS):
        expected = maps[text, -1, [1, 2], 0].mean(0)[1 : len(words) + 1]
        assert torch.allclose(attention.scores(state)[text, : len(words)], expected, atol=1e-6)
    for score in ("norm", "rollout", "value-zeroing", "attnresln"):
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
    pieces = [len(p) for p in state.memory["pieces"]]
    assert max(pieces) > 6 > min(pieces)
    assert attention.value_rank(state).tolist() == [[min(n, 6)] * 2 for n in pieces]


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
        ("bart", {}, {}, "no encoder"),
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
