"""The weights of a model's layers, read by the row of names of its architecture and verified by a forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ..errors import ModelError, cause
from ..layers import read_weights
from ..layers.verification import Recorder, verify_model
from ..layers.weights import layer_modules
from .forward_pass import Forward, ModelLayers

Run = Callable[[Tensor, Tensor], tuple[tuple[Tensor, ...], tuple[Tensor, ...] | None]]
"""A forward pass over ids and a mask, which returns the attention of all layers and all hidden states."""


def read_layers(
    model: Any,
    shape: tuple[int, int],
    long: Int[Tensor, "1 long"],
    short: Int[Tensor, "1 short"] | None,
    run: Run,
) -> ModelLayers:
    """Read the weights of all layers, and verify them on a padded batch of two inputs.

    Args:
        model: the model.
        shape: the numbers of its layers and heads.
        long, short: the ids of the two inputs; no short one for a model that does not read padded batches. ModernBERT
            in float64 is one: its rows of padding outside the sliding window are NaN, which spreads.
        run: the forward pass.

    Raises:
        ModelError: the architecture has no row of names, or what is recomputed is not what the model computes.
    """
    family = str(model.config.model_type)
    try:
        return _verified_layers(model, family, shape, *_padded(long, short), run)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{family!r}: the row of this architecture does not fit: {cause(error)}") from error


def parameters_key(model: Any) -> tuple[Any, ...]:
    """Return a key that changes when a parameter is replaced, moved or written to, other than through ``.data``."""
    return tuple(
        (id(p), p.data_ptr(), p.dtype, p.device, None if p.is_inference() else p._version) for p in model.parameters()
    )


def _padded(
    long: Int[Tensor, "1 n"], short: Int[Tensor, "1 m"] | None
) -> tuple[Int[Tensor, "inputs n"], Bool[Tensor, "inputs n"]]:
    """Return a batch of both inputs, if there are two, and its mask. The ids on the padding have no effect."""
    if short is None:
        return long, torch.ones_like(long, dtype=torch.bool)
    ids, mask = long.expand(2, -1).clone(), torch.ones(2, long.shape[1], dtype=torch.bool, device=long.device)
    ids[1, : short.shape[1]] = short
    mask[1, short.shape[1] :] = False
    return ids, mask


@torch.inference_mode()
def _verified_layers(
    model: Any,
    family: str,
    shape: tuple[int, int],
    ids: Int[Tensor, "inputs n"],
    mask: Bool[Tensor, "inputs n"],
    run: Run,
) -> ModelLayers:
    weights = read_weights(model, *shape)
    with Recorder(layer_modules(model)) as recorded:
        attentions, hidden = run(ids, mask)
    unchecked = ModelLayers(weights, [False] * shape[0], family)
    layers = list(Forward(list(attentions), mask, hidden, unchecked).layers())
    comparable = verify_model(layers, recorded, hidden or (), family)
    return ModelLayers(weights, comparable, family)
