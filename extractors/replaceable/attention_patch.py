"""Attention of a Hugging Face model, read and replaced while the model runs, whatever its architecture.

Transformers 5 looks up the function of softmax(QKᵀ)·V by name. The one registered here calls the architecture's own
eager function, so that scaling, biases and masks stay what the model was trained with, and an active `AttentionPatch`
sees the result and may change it. Some architectures (DeBERTa, MPNet, XLNet, RoFormer and others) accept the name and
go on with their own code, so the calls are counted.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any, Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ..errors import ModelError

TOLERANCE = 1e-5
"""How far the logits may be from the model's own when its own attention is put back; see `difference`."""

# Some architectures hand no arguments through to the attention function, so it finds the patch here.
_active: ContextVar[AttentionPatch | None] = ContextVar("active attention patch", default=None)


class AttentionPatch:
    """A context manager that sees the attention of one layer in a forward pass, and may put other weights in its place.

    Layers are distinguished by counting the calls from 0, because some share modules. The weights of all queries of
    some ``heads`` are replaced by ``rows``, or those of one query of each input, ``at``. For an input of one position,
    the weighted sums of values of all heads may be given as ``context``, instead of computing them.
    """

    def __init__(
        self,
        call: int,
        rows: Float[Tensor, "batch chosen q n"] | None = None,
        heads: Sequence[int] = (),
        context: Float[Tensor, "batch 1 heads d"] | None = None,
        at: Int[Tensor, " batch"] | None = None,
    ) -> None:
        self._call, self._rows, self._heads, self._context, self._at = call, rows, list(heads), context, at
        self._token: Token[AttentionPatch | None] | None = None
        self.calls = 0  # all calls so far; the following are of the one that is looked at
        self.weights: Float[Tensor, "batch heads n n"] = torch.empty(0, 0, 0, 0)
        self.values: Float[Tensor, "batch heads n d"] = torch.empty(0, 0, 0, 0)

    def __enter__(self) -> AttentionPatch:
        self._token = _active.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _active.reset(self._token)

    def attend(self, eager: Callable[[], tuple[Tensor, Tensor]], value: Tensor) -> tuple[Tensor, Tensor | None]:
        """Handle one call, given a function for the model's own weighted sums and weights, and the value vectors."""
        call, self.calls = self.calls, self.calls + 1
        if call != self._call:
            return eager()
        if self._context is not None:
            return self._context, None
        context, self.weights = eager()
        # In some architectures several heads share their keys and values.
        self.values = value.repeat_interleave(self.weights.shape[1] // value.shape[1], dim=1)
        if self._rows is None:
            return context, self.weights
        weights = self.weights.clone()
        if self._at is None:
            weights[:, self._heads] = self._rows
        else:  # one row of each input and head: the indices have the shape (batch, heads)
            inputs = torch.arange(len(weights), device=weights.device)[:, None]
            heads = torch.tensor(self._heads, device=weights.device)
            weights[inputs, heads, self._at[:, None]] = self._rows[:, :, 0]
        return (weights @ self.values).transpose(1, 2).contiguous(), weights


def replaceable_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    """Compute the architecture's eager attention, through the active patch if there is one."""

    def eager() -> tuple[Tensor, Tensor]:
        context, weights = _eager(type(module))(module, query, key, value, *args, **kwargs)
        return context, weights

    patch = _active.get()
    return eager() if patch is None else patch.attend(eager, value)


def _eager(attention: type) -> Callable[..., tuple[Tensor, Tensor]]:
    """Return the eager function of the Python module that defines a class of attention, or else one of its bases."""
    for base in attention.__mro__:
        function: Any = getattr(sys.modules[base.__module__], "eager_attention_forward", None)
        if function is not None:
            return function  # type: ignore[no-any-return]
    raise ModelError(f"{attention.__name__} has no eager attention function, so its attention cannot be replaced")


@functools.cache
def implementation() -> str:
    """Return the name for ``model.set_attn_implementation``, and register it with transformers at the first call."""
    from transformers import AttentionInterface  # takes seconds
    from transformers.masking_utils import AttentionMaskInterface, eager_mask

    name = "attentionology_eager"
    AttentionInterface.register(name, replaceable_attention)
    # Without a mask function of the same name, the attention function is given no mask, and padding is attended to.
    AttentionMaskInterface.register(name, eager_mask)
    return name


def make_replaceable(model: Any, run: Callable[[], Tensor], n_layers: int, label: str) -> AttentionPatch:
    """Let a model compute attention by `replaceable_attention`, and return what a pass shows of its last layer."""
    model.set_attn_implementation(implementation())
    with AttentionPatch(n_layers - 1) as patch:  # which replaces nothing
        run()
    if patch.calls != n_layers:
        raise ModelError(
            f"{label}: attention of this architecture cannot be replaced, because it is not computed by the function "
            f"that transformers allows to be replaced ({patch.calls} calls for {n_layers} layers)"
        )
    return patch


@contextmanager
def input_embeddings(
    model: Any, replacement: Float[Tensor, "batch n dim"] | None = None, *, leaf: bool = False
) -> Iterator[list[Tensor]]:
    """Collect the input embeddings of forward passes, which may be replaced or made leaves of the graph."""
    collected: list[Tensor] = []

    def hook(_module: nn.Module, _inputs: Any, looked_up: Tensor) -> Tensor:
        embedded = looked_up if replacement is None else replacement
        collected.append(embedded.detach().clone().requires_grad_() if leaf else embedded)
        return collected[-1]

    with model.get_input_embeddings().register_forward_hook(hook):
        yield collected


def model_logits(
    model: Any, ids: Int[Tensor, "batch n"], mask: Bool[Tensor, "batch n"], segment_ids: Tensor | None = None
) -> Float[Tensor, "batch classes"]:
    """Run a classifier on a padded batch. The segment ids are those of pairs of texts."""
    segments = {} if segment_ids is None else {"token_type_ids": segment_ids}
    logits: Tensor = model(input_ids=ids, attention_mask=mask.long(), return_dict=True, **segments).logits
    return logits


Position = Literal["first", "last"]
"""The position of each input that a classifier reads: that of [CLS], or in decoders that of the last piece."""


def indices_of(position: Position, inside: Bool[Tensor, "batch n"]) -> Int[Tensor, " batch"]:
    """Return the index of a position in each input of a padded batch, where ``inside`` is False on padding."""
    return inside.sum(1) - 1 if position == "last" else inside.new_zeros(len(inside), dtype=torch.long)


def position_read(
    run: Callable[[], Tensor], logits: Tensor, seen: AttentionPatch, inside: Bool[Tensor, "batch n"], label: str
) -> Position:
    """Return the only position whose row of the last layer's attention the logits depend on, or raise `ModelError`."""

    def change(is_kept: Bool[Tensor, "batch n"]) -> float:
        """Compute how much the logits change if all rows but the kept ones are 0."""
        rows = seen.weights * is_kept[:, None, :, None]  # (batch, heads, queries, keys)
        with AttentionPatch(seen.calls - 1, rows, range(rows.shape[1])):
            return difference(run(), logits)

    for position in get_args(Position):
        is_read = torch.zeros_like(inside)
        is_read[torch.arange(len(inside), device=inside.device), indices_of(position, inside)] = True
        if change(~is_read) > 0 and change(is_read) <= TOLERANCE:
            return position  # type: ignore[no-any-return]
    raise ModelError(
        f"{label}: this classifier reads neither the first position alone nor the last one (but, for example, the mean "
        "of all), so its attention is not a single row; use query='all'"
    )


def difference(actual: Tensor, expected: Tensor) -> float:
    """Compute the largest difference, relative to the largest expected value if that is above 1."""
    return float((actual - expected).abs().max() / expected.abs().max().clamp(min=1))
