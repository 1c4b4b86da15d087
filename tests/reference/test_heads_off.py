"""A head that is switched off is a head whose value vectors are zero, in every family whose layers are known."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from attentionology.corpora_loaders import load_treebank
from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
from attentionology.extractors import ModelError
from attentionology.extractors.layers import architectures
from attentionology.extractors.replaceable.heads_off import HeadSwitch
from attentionology.extractors.tokens.pieces import Pieces
from tests import tiny

SENTENCES = [sentence for sentence in load_treebank(SAMPLE_TREEBANK) if len(sentence.words) <= 8][:3]
VALUES = {
    "bert": "encoder.layer.{}.attention.self.value",
    "electra": "encoder.layer.{}.attention.self.value",
    "roberta": "encoder.layer.{}.attention.self.value",
    "distilbert": "transformer.layer.{}.attention.v_lin",
    "mpnet": "encoder.layer.{}.attention.attn.v",
    "deberta-v2": "encoder.layer.{}.attention.self.value_proj",
    "gpt2": "h.{}.attn.c_attn",
    "modernbert": "layers.{}.attn.Wqkv",
    "bart": "layers.{}.self_attn.v_proj",
}


def pieces_of(encoder):
    return [pieces for pieces in encoder.align(SENTENCES) if isinstance(pieces, Pieces)]


def without_values(model, family, layer, head, size):
    """A copy of a model in which a head's rows of the value projection, and its biases, are zero."""
    edited = copy.deepcopy(model)
    projection = edited.get_submodule(VALUES[family].format(layer))
    width = sum(projection.weight.shape) - 24 if family in ("gpt2", "modernbert") else 24
    rows = slice(width - 24 + head * size, width - 24 + (head + 1) * size)
    with torch.no_grad():
        (projection.weight.T if family == "gpt2" else projection.weight)[rows] = 0
        if projection.bias is not None:
            projection.bias[rows] = 0
    return edited


@pytest.mark.parametrize("family", VALUES)
def test_switching_off_is_zeroing_the_values(family):
    encoder = tiny.randomize(family).double
    pieces = pieces_of(encoder)
    switch = HeadSwitch(encoder, pieces)
    ids, mask = encoder.pad(pieces)
    whole = tiny.randomize(family).model.double()
    for layer in range(encoder.n_layers):
        given = switch.run(layer, [[], *([(layer, head)] for head in range(encoder.n_heads))])
        switch.check_plain(given[0], layer)
        for head in range(encoder.n_heads):
            model = without_values(whole, family, layer, head, 6)
            with torch.inference_mode():
                expected = model(input_ids=ids, attention_mask=mask.long())[0]
            torch.testing.assert_close(given[1 + head][mask], expected[mask], atol=1e-6, rtol=0)
            assert (given[1 + head] - given[0])[mask].abs().max() > 1e-3


def test_a_head_without_values_changes_nothing():
    encoder = tiny.randomize("bert")
    encoder.model.load_state_dict(without_values(encoder.model, "bert", 1, 2, 6).state_dict())
    given = HeadSwitch(encoder, pieces_of(encoder)).run(1, [[], [(1, 2)], [(1, 3)]])
    torch.testing.assert_close(given[1], given[0])  # which lie in other rows of the products
    assert (given[2] - given[0]).abs().max() > 1e-3


def test_a_place_after_the_output_projection_is_refused(monkeypatch):
    encoder = tiny.randomize("bert")
    pieces = pieces_of(encoder)
    assert encoder.layers  # read and verified with the right row
    after = replace(architectures.ARCHITECTURES["bert"], output="attention.output.dropout")
    monkeypatch.setitem(architectures.ARCHITECTURES, "bert", after)
    with pytest.raises(ModelError, match="what goes into the output projection"):
        HeadSwitch(encoder, pieces).check_place()


@pytest.mark.parametrize(
    ("family", "head"),
    [
        *((family, "MaskedLM") for family in ("bert", "electra", "roberta", "distilbert", "albert", "mpnet")),
        *((family, "MaskedLM") for family in ("deberta", "deberta-v2", "modernbert", "camembert", "xlm-roberta")),
        *((family, "CausalLM") for family in ("gpt2", *sorted(set(tiny.DECODERS) - {"bloom", "falcon"}))),
    ],
)
def test_logits_of_some_positions_are_those_of_all(family, head):
    """No position is taken for another one, and the module that makes logits is given no other positions."""
    encoder = tiny.randomize(family)
    lm = tiny.language_model(encoder, head)
    pieces = pieces_of(encoder)
    at = torch.tensor([[len(of_input) - 2, 1, 1, 0] for of_input in pieces])
    every, some = HeadSwitch(encoder, pieces, lm), HeadSwitch(encoder, pieces, lm, at)
    heads_off = [[], [(1, 2)]]
    for all_logits, logits in (
        (every.plain[None], some.plain[None]),
        (every.run(1, heads_off), some.run(1, heads_off)),
    ):
        expected = all_logits[:, torch.arange(len(pieces))[:, None], at]
        torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    some.check_plain(some.run(1, [[]])[0], 1)
    seen = []
    with lm.get_output_embeddings().register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape)):
        HeadSwitch(encoder, pieces, lm, at)
    assert [shape[:2] for shape in seen] == [at.shape]


def test_a_model_that_does_not_name_its_output_computes_all_logits(monkeypatch):
    encoder = tiny.randomize("bert")
    lm, pieces = tiny.language_model(encoder, "MaskedLM"), pieces_of(encoder)
    at = torch.tensor([[2, 0]] * len(pieces))
    expected = HeadSwitch(encoder, pieces, lm, at).plain
    monkeypatch.setattr(lm, "get_output_embeddings", lambda: None)
    torch.testing.assert_close(HeadSwitch(encoder, pieces, lm, at).plain, expected)
