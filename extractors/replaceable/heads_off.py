"""Heads that are switched off: what they give is replaced before the output projection, where heads are side by side.

After the output projection every component is a sum over heads, so a slice of it belongs to no head. The place before
it is the input of one module, which the row of names of an architecture gives. That the row is right is not taken on
trust: what goes into the module must be the weighted sums of values that are recomputed from weights and attention.

A head of a layer changes nothing below it, so a pass with a head switched off begins at its layer, with the vectors
that an earlier pass has left there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..errors import ModelError
from ..layers.architectures import ARCHITECTURES
from ..layers.attention_weights import find_module
from ..layers.verification import compare
from ..layers.weights import layer_modules
from ..model.encoder import Encoder
from ..tokens.pieces import Pieces

Change = Callable[[Tensor], Tensor]
"""Takes what all heads of a layer give, side by side, shape (batch, n, inner), and returns what is put in its place."""

_LEFT = "analyses that switch no head off work"


class HeadSwitch:
    """Runs a model on one padded batch, from any layer on, with what the heads of this layer give replaced.

    Args:
        encoder: the model whose heads are switched off.
        pieces: the pieces of each sentence.
        model: what is run: the model itself, or the same model with a head for predictions on top; None for the former.

    Attributes:
        mask: True where there is a piece; shape (batch, n).
        outputs: what the heads of each layer give without any change, shape (batch, n, inner).
        plain: what the model gives without any change: final hidden states, or logits.

    Raises:
        ModelError: the architecture has no row of names, or the place before the output projection is elsewhere.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> encoder = load_encoder("demo")
        >>> switch = HeadSwitch(encoder, encoder.align([Sentence.from_text("A dog barks.")]))
        >>> without = switch.run(2, [None, 8])  # layer 3: no head is switched off, and head 9 is
        >>> without.shape
        torch.Size([2, 1, 7, 384])
        >>> bool((without[0] - switch.plain).abs().max() < 1e-5), bool((without[1] - switch.plain).abs().max() < 1e-5)
        (True, False)
    """

    def __init__(self, encoder: Encoder, pieces: Sequence[Pieces], model: Any = None) -> None:
        self._model = encoder.model if model is None else model
        self._label, self._n_heads = encoder.label, encoder.n_heads
        self._ids, self.mask = encoder.pad(pieces)
        self._segments = encoder.segment_ids(pieces)
        self._modules = layer_modules(self._model)
        family = str(self._model.config.model_type)
        if not self._modules:
            raise ModelError(f"{family!r}: where its heads can be switched off is not known; {_LEFT}")
        path = ARCHITECTURES[family].output
        self._projections = [find_module(module, path, f"{family!r}") for module in self._modules]
        self._tuples: list[int] = []  # how many values each call of a layer gives, 0 for a tensor alone
        self.outputs: list[Float[Tensor, "batch n inner"]] = []
        self._inputs: list[Float[Tensor, "batch n dim"]] = []
        self.plain = self._record()
        self._check(encoder, pieces)

    def run(
        self, layer: int, heads: Sequence[int | None], fill: Float[Tensor, "heads inner"] | None = None
    ) -> Float[Tensor, "heads_off batch n dim"]:
        """Return what the model gives without each of some heads of a layer, from 0; None stands for all heads.

        A head gives the vector that ``fill`` has for it at every position, or zeros.

        Raises:
            ModelError: the model cannot be continued from the layer.
        """
        k, batch = len(heads), len(self._ids)

        def change(given: Tensor) -> Tensor:
            each = given.clone().view(k, batch, given.shape[1], self._n_heads, -1)
            for number, head in enumerate(heads):
                if head is not None:
                    each[number, :, :, head] = 0 if fill is None else fill[head].to(each)
            return each.view_as(given)

        with torch.inference_mode(), self._from(layer, self._inputs[layer].repeat(k, 1, 1), change):
            given = self._call(k)
        return given.view(k, batch, *given.shape[1:])

    def without(
        self, heads: Collection[tuple[int, int]], fill: Float[Tensor, "layers heads inner"] | None = None
    ) -> Float[Tensor, "batch n dim"]:
        """Return what the model gives without all of these heads, given by layer and head from 0, at once."""
        calls = 0

        def change(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            nonlocal calls
            layer, calls = calls, calls + 1
            each = inputs[0].clone().view(*inputs[0].shape[:2], self._n_heads, -1)
            for head in (head for at, head in heads if at == layer):
                each[:, :, head] = 0 if fill is None else fill[layer, head].to(each)
            return each.view_as(inputs[0]), *inputs[1:]

        with torch.inference_mode(), ExitStack() as stack:
            for projection in self._projections:
                stack.enter_context(projection.register_forward_pre_hook(change))
            return self._call()

    def check_plain(self, given: Float[Tensor, "batch n dim"], layer: int) -> None:
        """Raise `ModelError` unless a pass from a layer on without any change gives what the whole model gives."""
        where = f"{self._label}: what it gives from layer {layer + 1} on"
        compare(given[self.mask], self.plain[self.mask], where, _LEFT)

    def products(self, losses: Callable[[Tensor], Float[Tensor, " batch"]]) -> Float[Tensor, "batch layers heads"]:
        """Return ``|z · ∂L/∂z|`` of each head, z being what it gives at all positions (Michel et al. 2019, §4.1).

        ``losses`` takes what the model gives, and returns the loss L of each sentence.
        """
        given: list[Tensor] = []

        def keep(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            given.append(inputs[0] if inputs[0].requires_grad else inputs[0].detach().requires_grad_())
            return given[-1], *inputs[1:]

        with torch.enable_grad(), ExitStack() as stack:
            for projection in self._projections:
                stack.enter_context(projection.register_forward_pre_hook(keep))
            # The sentences of a batch do not see one another, so that the gradient of the sum has that of each.
            gradients = torch.autograd.grad(losses(self._call()).sum(), given)
        inside = self.mask[..., None, None]
        by_head = [
            (z.detach() * gradient).view(*z.shape[:2], self._n_heads, -1).masked_fill(~inside, 0).sum((1, 3))
            for z, gradient in zip(given, gradients, strict=True)
        ]
        return torch.stack(by_head, dim=1).abs()

    def _call(self, k: int = 1) -> Tensor:
        segments = {} if self._segments is None else {"token_type_ids": self._segments.repeat(k, 1)}
        ids, mask = self._ids.repeat(k, 1), self.mask.repeat(k, 1).long()
        given: Tensor = self._model(input_ids=ids, attention_mask=mask, return_dict=True, **segments)[0]
        return given

    def _record(self) -> Tensor:
        """Run the model without any change, and keep what each layer takes and its heads give."""

        def keep_outputs(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            self.outputs.append(inputs[0])

        def keep_inputs(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any) -> None:
            self._inputs.append(args[0] if args else kwargs["hidden_states"])
            self._tuples.append(0 if isinstance(given, Tensor) else len(given))

        with torch.inference_mode(), ExitStack() as stack:
            for module, projection in zip(self._modules, self._projections, strict=True):
                stack.enter_context(projection.register_forward_pre_hook(keep_outputs))
                stack.enter_context(module.register_forward_hook(keep_inputs, with_kwargs=True))
            return self._call()

    def _check(self, encoder: Encoder, pieces: Sequence[Pieces]) -> None:
        layers = list(encoder.forward(pieces, hidden_states=True).layers())
        if not len(layers) == len(self.outputs) == len(self._inputs):
            raise ModelError(f"{self._label}: its output projections are called {len(self.outputs)} times; {_LEFT}")
        for number, (layer, given) in enumerate(zip(layers, self.outputs, strict=True), start=1):
            expected = layer.context.flatten(-2)
            where = f"{self._label}, layer {number}: what goes into the output projection"
            if given.shape != expected.shape:
                raise ModelError(f"{where} does not consist of what its heads give; {_LEFT}")
            compare(expected[self.mask], given[self.mask], where, _LEFT)

    @contextmanager
    def _from(self, layer: int, hidden: Tensor, change: Change) -> Iterator[None]:
        """Let a pass begin at a layer, which takes ``hidden``, and change what its heads give."""
        calls = 0

        def begun(original: Callable[..., Any], projection: nn.Module) -> Callable[..., Any]:
            def forward(hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
                nonlocal calls
                number, calls = calls, calls + 1
                if number < layer:
                    # What a layer below gives is not read, because this one takes `hidden`.
                    size = self._tuples[number]
                    return (hidden_states, *[None] * (size - 1)) if size else hidden_states
                if number > layer:
                    return original(hidden_states, *args, **kwargs)
                # The hook is there in this call alone, because layers may share their modules.
                with projection.register_forward_pre_hook(lambda _, inputs: (change(inputs[0]), *inputs[1:])):
                    return original(hidden, *args, **kwargs)

            return forward

        for module, projection in zip(self._modules, self._projections, strict=True):
            module.forward = begun(module.forward, projection)
        try:
            yield
        finally:
            for module in self._modules:
                del module.forward
