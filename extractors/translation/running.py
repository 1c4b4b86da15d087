"""Running an encoder–decoder on given translations, without its language-model head where that is possible."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ModelError
from ..layers import CrossAttention
from ..model.first_layers import feed_forward, giving_zeros, layer_list, shortened


@dataclass(frozen=True, eq=False)
class CrossOutput:
    """The outputs of one forward pass of an encoder–decoder.

    Attributes:
        attentions: the cross-attention of each layer of the decoder that gave one.
        encoded: the output of the encoder.
    """

    attentions: list[Tensor]
    encoded: Tensor


def core(model: Any) -> Any:
    """Return the model without its language-model head, if it can be run without."""
    base = model.base_model
    return base if hasattr(base, "encoder") and hasattr(base, "decoder") else model


@contextmanager
def cross_attention_only(model: Any, names: CrossAttention | None, depth: int | None = None) -> Iterator[int | None]:
    """Let the decoder end after the cross-attention of some of its layers, which depends on nothing that follows."""
    layers = nn.ModuleList() if names is None else layer_list(core(model), names.layers)
    if names is None or not layers:
        yield None
        return
    head = {names.head: 0} if names.head else {}
    with (
        shortened(layers, depth or len(layers)),
        giving_zeros(layers[-1], feed_forward(names)),
        giving_zeros(core(model), head),
    ):
        yield depth


def decoder_inputs(model: Any, labels: list[int]) -> list[int]:
    """Make the decoder inputs of labels as the model does in training."""
    tensor = torch.tensor([labels])
    if hasattr(model, "prepare_decoder_input_ids_from_labels"):
        inputs = model.prepare_decoder_input_ids_from_labels(tensor)
    elif hasattr(model, "_shift_right"):
        inputs = model._shift_right(tensor)
    else:
        shift = getattr(sys.modules[type(model).__module__], "shift_tokens_right", None)
        if shift is None:
            raise ModelError(f"how {model.config.model_type!r} models make decoder inputs of labels is not known here")
        # Models that begin with the last label take no start token.
        arguments = (tensor, model.config.pad_token_id, model.config.decoder_start_token_id)
        inputs = shift(*arguments[: len(inspect.signature(shift).parameters)])
    ids: list[int] = inputs[0].tolist()
    return ids


def run(model: Any, inputs: Mapping[str, Tensor]) -> CrossOutput:
    """Run a model once."""
    options = {"output_attentions": True, "use_cache": False, "return_dict": True}
    if model.config.model_type == "fsmt":
        return _run_fsmt(core(model), inputs, options)
    output = core(model)(**inputs, **options)
    attentions = [alpha for alpha in output.cross_attentions or () if alpha is not None]
    return CrossOutput(attentions, output.encoder_last_hidden_state)


def _run_fsmt(model: Any, inputs: Mapping[str, Tensor], options: Mapping[str, bool]) -> CrossOutput:
    """Run encoder and decoder of an FSMT model with masks made here.

    The causal mask that the model makes by itself overflows in float64 (transformers 5.23), which exact decisions need.
    """
    encoded = model.encoder(
        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], output_attentions=True, return_dict=True
    ).last_hidden_state
    n = inputs["decoder_input_ids"].shape[1]
    later = torch.full((n, n), torch.finfo(encoded.dtype).min, dtype=encoded.dtype, device=encoded.device).triu(1)
    output = model.decoder(
        inputs["decoder_input_ids"],
        encoded,
        inputs["attention_mask"],
        inputs["decoder_attention_mask"].eq(0),
        decoder_causal_mask=later,
        **options,
    )
    return CrossOutput([alpha for alpha in output.cross_attentions if alpha is not None], encoded)
