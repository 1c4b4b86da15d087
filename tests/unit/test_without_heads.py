"""A model without some heads is the same as one whose output projection has zeros where it reads these heads."""

from __future__ import annotations

import copy

import pytest
import torch

from attentionology.extractors import ModelError, without_heads
from attentionology.extractors.replaceable.heads_off import output_projections
from tests import tiny

IDS = torch.tensor([[5, 9, 7, 11, 6]])


def states(model):
    with torch.inference_mode():
        return model(input_ids=IDS).last_hidden_state


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_heads_give_nothing_in_every_pass(family):
    model = tiny.model(family)
    silent = copy.deepcopy(model)
    size = model.config.hidden_size // model.config.num_attention_heads
    for layer, head in ((1, 2), (3, 1), (3, 4)):
        weight = output_projections(silent)[1][layer - 1].weight  # (out, in)
        weight.data[:, (head - 1) * size : head * size] = 0
    with without_heads(model, ["1-2", "3-1", "3-4"]):
        passes = [states(model), states(model)]
    torch.testing.assert_close(passes[0], states(silent))
    assert torch.equal(*passes)
    assert not torch.allclose(states(model), passes[0])
    assert torch.equal(states(model), states(tiny.model(family)))


def test_layers_that_share_their_weights_are_told_apart():
    model = tiny.model("albert")
    made = []
    for head in ("1-2", "2-2", "3-2"):
        with without_heads(model, head):
            made += [states(model), states(model)]
    assert torch.equal(made[2], made[3])
    assert not torch.allclose(made[0], made[2])
    assert not torch.allclose(made[2], made[4])


@pytest.mark.parametrize("wrong", ["9", "0-1", "1-0", "4-1", "1-5", "-1-1"])
def test_heads_that_are_none(wrong):
    with (
        pytest.raises(ValueError, match=r"there is no head|a head must be LAYER-HEAD"),
        without_heads(tiny.model("bert"), wrong),
    ):
        pass


def test_an_unknown_architecture_is_refused():
    model = copy.deepcopy(tiny.model("bert"))
    model.config.model_type = "unheard-of"
    with pytest.raises(ModelError, match="unheard-of"), without_heads(model, "1-1"):
        pass
