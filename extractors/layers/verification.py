"""Is what is recomputed what the model computes? Checked before anything is believed, and for every batch."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentionology.extractors.errors import ModelError
from attentionology.extractors.layers.layer import Layer
from attentionology.extractors.layers.weights import LayerWeights, layer_modules

TOLERANCE = 1e-3
"""Largest relative difference of a recomputed layer output from the model's own."""


class LayerRecorder:
    """Records what goes into and comes out of the layer modules, in the order of the calls (layers may be shared)."""

    def __init__(self, model: Any) -> None:
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self._modules = layer_modules(model)
        self._handles: list[Any] = []

    def __enter__(self) -> LayerRecorder:
        for module in self._modules:
            self._handles.append(module.register_forward_hook(self._record, with_kwargs=True))
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _record(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        self.inputs.append(args[0] if args else kwargs["hidden_states"])
        self.outputs.append(output if isinstance(output, Tensor) else output[0])


def verify_model(layers: list[Layer], recorded: LayerRecorder, hidden: tuple[Tensor, ...], family: str) -> list[bool]:
    """Compare all layers of a forward pass in full.

    Args:
        layers: as recomputed from ``hidden``.
        recorded: what the layer modules took and gave in the same pass.
        hidden: the model's hidden states, one more than layers.
        family: for the message.

    Returns:
        for each layer, whether the next hidden state is its output as it stands (a final layer norm, or the
        convolution of some DeBERTa-v2, may come between).

    Raises:
        ModelError: an input or output differs by more than `TOLERANCE`; the message names layer and family.
    """
    if len(recorded.outputs) != len(layers):
        raise ModelError(f"{family!r}: its layers were called {len(recorded.outputs)} times for {len(layers)} layers")
    comparable = []
    for number, layer in enumerate(layers, start=1):
        given, made = recorded.inputs[number - 1], recorded.outputs[number - 1]
        _compare(layer.x[layer.mask], given[layer.mask], f"{family!r} layer {number}: the input")
        _compare(layer.output[layer.mask], made[layer.mask], f"{family!r} layer {number}: the output")
        comparable.append(bool(_difference(hidden[number][layer.mask], made[layer.mask]) <= TOLERANCE))
    return comparable


def verify_batch(layer: Layer, expected: Float[Tensor, "batch n dim"], where: str) -> None:
    """Compare one position of each sentence, spread over the batch from first to last, with the model's output.

    Costs about 1/n of the layer and notices weights that were changed or wrapped since they were read.
    """
    lengths = layer.mask.sum(1)
    rows = torch.arange(len(lengths), device=lengths.device)
    at = (lengths - 1) * rows // max(1, len(lengths) - 1)
    weights: LayerWeights = layer.weights
    context = torch.einsum("bhn,bnhi->bhi", layer.alpha[rows, :, at], layer.v).flatten(1)
    p = weights.attended(context, layer.x[rows, at])
    a = weights.norm(p)
    q = weights.finish(p, a, weights.preactivations(a))
    _compare(weights.norm_out(q) if weights.norm_out else q, expected[rows, at], f"{where}: the output")


def _difference(one: Tensor, other: Tensor) -> Tensor:
    off: Tensor = (one - other).norm(dim=-1) / other.norm(dim=-1).clamp(min=1e-12)
    return off.max()


def _compare(found: Tensor, expected: Tensor, what: str) -> None:
    off = float(_difference(found, expected))
    if not off <= TOLERANCE:
        raise ModelError(
            f"{what} recomputed from weights and attention differs from the model's own by {off:.1%}; this model does "
            "more than its architecture says (adapters, other projections), so only the map kind 'weight' and its "
            "rollout work"
        )
