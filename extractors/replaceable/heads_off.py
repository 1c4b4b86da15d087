"""Heads that are switched off: what they give is replaced before the output projection, where heads are side by side.

After the output projection every component is a sum over heads, so a slice of it belongs to no head. The place before
it is the input of one module, which the row of names of an architecture gives. That the row is right is not taken on
trust: what goes into the module must be the weighted sums of values that are recomputed from weights and attention.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, cycle
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..errors import ModelError
from ..layers.architectures import ARCHITECTURES
from ..layers.attention_weights import find_module
from ..layers.verification import Recorder, compare
from ..layers.weights import layer_modules
from ..model.encoder import Encoder
from ..model.forward_pass import resume_at
from ..tokens.pieces import Pieces

_STILL_WORKS = "analyses that switch no head off work"

Head = tuple[int, int]
"""The layer and the head, both from 0."""


class Positions:
    """Lets a model with a head for predictions compute the logits of some positions of each input alone.

    There are as many logits as the vocabulary has pieces, so that those of all positions can take more time than all
    of the layers. Models that do not call the module that they name as their output compute all logits.
    """

    def __init__(self, model: Any, at: Int[Tensor, "batch m"]) -> None:
        self._module, self._at = model.get_output_embeddings(), at
        self._hooks, self._are_chosen = ExitStack(), False

    def __enter__(self) -> Positions:
        if self._module is not None:
            self._hooks.callback(self._module.register_forward_pre_hook(self._choose).remove)
        return self

    def __exit__(self, *_: object) -> None:
        self._hooks.close()

    def of(self, logits: Float[Tensor, "batch any vocabulary"]) -> Float[Tensor, "batch m vocabulary"]:
        """Return the logits at the positions, given those that the model has computed."""
        return logits if self._are_chosen else self._select(logits)

    def _choose(self, _module: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self._are_chosen = True
        return (self._select(args[0]), *args[1:])

    def _select(self, vectors: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch m dim"]:
        return vectors[torch.arange(len(vectors), device=vectors.device)[:, None], self._at]


def output_projections(model: Any) -> tuple[list[nn.Module], list[nn.Module]]:
    """Return the layers of a model, and of each the module that reads what its heads give, side by side.

    Raises:
        ModelError: the architecture has no row of names, or the row does not fit.
    """
    family = str(model.config.model_type)
    modules = layer_modules(model) if family in ARCHITECTURES else []
    if not modules:
        raise ModelError(f"{family!r}: where its heads can be switched off is not known; {_STILL_WORKS}")
    path = ARCHITECTURES[family].output
    return modules, [find_module(module, path, f"{family!r}") for module in modules]


@contextmanager
def switch_off(model: Any, heads: Collection[Head], n_heads: int) -> Iterator[None]:
    """Let forward passes within the context be without some heads: each gives zeros at every position.

    Each pass must go through all layers.
    """
    calls = cycle(range(model.config.num_hidden_layers))  # of output projections, because layers may share them
    of_layers: dict[int, list[int]] = {}
    for layer, head in heads:
        of_layers.setdefault(layer, []).append(head)

    def silence(_module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        outputs: Tensor = args[0]
        off = of_layers.get(next(calls))
        if not off:
            return args
        by_head = outputs.clone().view(*outputs.shape[:-1], n_heads, -1)
        by_head[..., off, :] = 0
        return (by_head.view_as(outputs), *args[1:])

    with ExitStack() as stack:
        for projection in output_projections(model)[1] if heads else ():
            stack.callback(projection.register_forward_pre_hook(silence).remove)
        yield


class HeadSwitch:
    """Runs a model on one padded batch, from any layer on, with what some heads give replaced."""

    # `model` is the encoder's own model, or the same with a head for predictions on top, and `at` has the positions of
    # each input whose logits are needed, all by default. `outputs` are what the heads of each layer give without any
    # change, shape (batch, n, inner), and `plain` is what the model gives, at these positions alone.

    def __init__(
        self, encoder: Encoder, pieces: Sequence[Pieces], model: Any = None, at: Int[Tensor, "batch m"] | None = None
    ) -> None:
        self._model = encoder.model if model is None else model
        self._encoder, self._pieces = encoder, pieces
        self._label, self._n_heads = encoder.label, encoder.n_heads
        self._ids, self.mask = encoder.pad(pieces)
        self._segments = encoder.segment_ids(pieces)
        self._at = None if at is None else at.to(self._ids.device)
        self._modules, self._projections = output_projections(self._model)
        self._layers, projections = Recorder(self._modules), Recorder(self._projections)
        with torch.inference_mode(), self._layers, projections:
            self.plain = self._run_model(lambda _, outputs: outputs)  # without any change
        self.outputs: list[Float[Tensor, "batch n inner"]] = projections.inputs  # the projections read what heads give

    def run(
        self, layer: int, heads_off: Sequence[Collection[Head]], fill: Float[Tensor, "layers heads inner"] | None = None
    ) -> Float[Tensor, "runs batch n dim"]:
        """Return what the model gives in several runs, without other heads in each of them.

        A head gives the vector that ``fill`` has for it at every position, or zeros. As heads change nothing below
        their layer, the pass begins at a ``layer``, from 0, with the vectors that an earlier pass has left. No head
        that is off may be below it.
        """
        k, batch = len(heads_off), len(self._ids)
        of_layers: dict[int, list[tuple[int, int]]] = {}  # which run is without which head of a layer
        for repetition, heads in enumerate(heads_off):
            for of_layer, head in heads:
                of_layers.setdefault(of_layer, []).append((repetition, head))

        def change(call: int, outputs: Tensor) -> Tensor:
            if layer + call not in of_layers:
                return outputs
            by_head = outputs.clone().view(k, batch, outputs.shape[1], self._n_heads, -1)
            for repetition, head in of_layers[layer + call]:
                by_head[repetition, :, :, head] = 0 if fill is None else fill[layer + call, head].to(by_head)
            return by_head.view_as(outputs)

        hidden = self._layers.inputs[layer].repeat(k, 1, 1)
        with torch.inference_mode(), resume_at(self._modules, layer, hidden, self._layers.sizes):
            result = self._run_model(change, k)
        return result.view(k, batch, *result.shape[1:])

    def check_place(self) -> None:
        """Raise `ModelError` unless the outputs of heads are what is recomputed from weights and attention."""
        layers = list(self._encoder.forward(self._pieces, hidden_states=True).layers())
        if not len(layers) == len(self.outputs) == len(self._layers.inputs):
            calls = f"its output projections are called {len(self.outputs)} times"
            raise ModelError(f"{self._label}: {calls}; {_STILL_WORKS}")
        for number, (layer, outputs) in enumerate(zip(layers, self.outputs, strict=True), start=1):
            expected = layer.context.flatten(-2)
            where = f"{self._label}, layer {number}: what goes into the output projection"
            if outputs.shape != expected.shape:
                raise ModelError(f"{where} does not consist of what its heads give; {_STILL_WORKS}")
            compare(expected[self.mask], outputs[self.mask], where, _STILL_WORKS)

    def check_plain(self, unchanged: Float[Tensor, "batch n dim"], layer: int) -> None:
        """Raise `ModelError` unless a pass from a layer on without any change gave what the whole model gives."""
        where = f"{self._label}: what it gives from layer {layer + 1} on"
        given, expected = (
            outputs if self._at is not None else outputs[self.mask] for outputs in (unchanged, self.plain)
        )
        compare(given, expected, where, _STILL_WORKS)

    def products(
        self, losses: Callable[[Tensor], Float[Tensor, " batch"]], *, signed: bool = False
    ) -> Float[Tensor, "batch layers heads"]:
        """Return ``|z · ∂L/∂z|`` of each head, z being what it gives at all positions (Michel et al. 2019, §4.1).

        ``losses`` takes what the model gives, and returns the loss L of each sentence. With ``signed``, the products
        keep their sign.
        """
        kept: list[Tensor] = []

        def keep(_layer: int, outputs: Tensor) -> Tensor:
            kept.append(outputs if outputs.requires_grad else outputs.detach().requires_grad_())
            return kept[-1]

        with torch.enable_grad():
            # The sentences of a batch do not see one another, so that the gradient of the sum has that of each.
            gradients = torch.autograd.grad(losses(self._run_model(keep)).sum(), kept)
        inside = self.mask[..., None, None]
        by_head = [
            (z.detach() * gradient).view(*z.shape[:2], self._n_heads, -1).masked_fill(~inside, 0).sum((1, 3))
            for z, gradient in zip(kept, gradients, strict=True)
        ]
        products = torch.stack(by_head, dim=1)
        return products if signed else products.abs()

    def _run_model(self, change: Callable[[int, Tensor], Tensor], k: int = 1) -> Tensor:
        """Run the model on the batch k times, with ``change(call, outputs)`` in place of the outputs of heads.

        The calls of output projections are counted from 0, because layers may share their modules.
        """
        calls = count()
        segments = {} if self._segments is None else {"token_type_ids": self._segments.repeat(k, 1)}
        ids, mask = self._ids.repeat(k, 1), self.mask.repeat(k, 1).long()
        with ExitStack() as stack:
            at = None if self._at is None else stack.enter_context(Positions(self._model, self._at.repeat(k, 1)))
            for projection in self._projections:
                stack.enter_context(
                    projection.register_forward_pre_hook(lambda _, args: (change(next(calls), args[0]), *args[1:]))
                )
            result: Tensor = self._model(input_ids=ids, attention_mask=mask, return_dict=True, **segments)[0]
        return result if at is None else at.of(result)
