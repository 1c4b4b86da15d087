"""Tiny classifiers with replaceable attention, and texts for them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attentionology.extractors import TransformerAttention, Words
from attentionology.extractors.replaceable.attention_patch import difference, implementation
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
    {"special": "renormalize"},
    {"level": "piece", "heads": [1, 3]},
    {"layer": 0, "heads": [2]},
    {"layer": 1, "level": "piece", "special": "renormalize"},
    {"query": "all"},
    {"query": "all", "layer": 0, "heads": [0, 2], "special": "renormalize"},
    {"query": "all", "layer": -2, "level": "piece"},
]


def patchable(family: str = "bert", *, double: bool = False, model: Any = None, **options: Any) -> TransformerAttention:
    model = tiny.classifier(family) if model is None else model
    tokenizer = tiny.fresh_tokenizer(tiny.style(family))
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


def check_own_attention(attention: TransformerAttention, texts: list[Words]) -> None:
    """Put the attention of a model back, which gives the logits of the model alone."""
    with torch.no_grad():
        state = attention.encode(texts)
        alpha, mask = attention.attention(state)
        own = own_logits(attention.model, state.ids, state.inside)
        assert difference(attention.decode(state, alpha[:, None])[:, 0], own) <= 1e-5
    assert torch.allclose(alpha.sum(-1), mask.any(-1, keepdim=True).to(alpha).expand(alpha.shape[:2]), atol=1e-5)
    assert not alpha[~mask[:, None].expand_as(alpha)].any()
