"""Attention of a Hugging Face model, looked at and replaced while the model runs, whatever its architecture.

The library calls one function per layer for softmax(QKᵀ)·V and lets users register their own. The one here does what
the architecture's own eager function does, by calling it, unless an `AttentionPatch` is active.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentionology.extractors.errors import ModelError

TOLERANCE = 1e-5
"""How far logits under the model's own attention, put back, may be from its own; see `difference`."""

_active: ContextVar[AttentionPatch | None] = ContextVar("active attention patch", default=None)


class AttentionPatch:
    """Within ``with``: sees the attention of one layer in each forward pass, and may put other weights in its place.

    Not all architectures hand arguments through to the attention function, and some share modules among layers, so
    the function finds the active patch by itself and layers are told apart by counting calls.

    Args:
        call: which call of the attention function, counted from 0.
        rows: other weights for the first q queries of some heads.
        heads: these heads, 0-based.
        context: of all heads, what is to be handed on for a text of one position, instead of weights times values.

    Attributes:
        calls: how many calls there were.
        weights: of that call as the model has them, shape (batch, heads, n, n).
        values: V, shape (batch, heads, n, d).
    """

    def __init__(
        self,
        call: int,
        rows: Float[Tensor, "batch chosen q n"] | None = None,
        heads: Sequence[int] = (),
        context: Float[Tensor, "batch 1 heads d"] | None = None,
    ) -> None:
        self._call, self._rows, self._heads, self._context = call, rows, list(heads), context
        self._token: Token[AttentionPatch | None] | None = None
        self.calls = 0
        self.weights: Tensor = torch.empty(0)
        self.values: Tensor = torch.empty(0)

    def __enter__(self) -> AttentionPatch:
        self._token = _active.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _active.reset(self._token)

    def attend(self, own: Callable[[], tuple[Tensor, Tensor]], value: Tensor) -> tuple[Tensor, Tensor | None]:
        """One call: ``own`` gives what is handed on, (batch, n, heads, d), and the weights."""
        number, self.calls = self.calls, self.calls + 1
        if number != self._call:
            return own()
        if self._context is not None:
            return self._context, None
        context, self.weights = own()
        # In some architectures several heads share their keys and values.
        self.values = value.repeat_interleave(self.weights.shape[1] // value.shape[1], dim=1)
        if self._rows is None:
            return context, self.weights
        weights = self.weights.clone()
        weights[:, self._heads, : self._rows.shape[2]] = self._rows
        return (weights @ self.values).transpose(1, 2).contiguous(), weights


def replaceable_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    """The architecture's eager attention, through the active patch if there is one.

    Raises:
        ModelError: the architecture has no eager attention function.
    """

    def own() -> tuple[Tensor, Tensor]:
        context, weights = _eager(type(module))(module, query, key, value, *args, **kwargs)
        return context, weights

    patch = _active.get()
    return own() if patch is None else patch.attend(own, value)


def _eager(attention: type) -> Callable[..., tuple[Tensor, Tensor]]:
    for base in attention.__mro__:
        found: Any = getattr(sys.modules[base.__module__], "eager_attention_forward", None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    raise ModelError(f"{attention.__name__} has no eager attention function, so its attention cannot be replaced")


@functools.cache
def implementation() -> str:
    """The name for ``model.set_attn_implementation``, registered with the library when first asked for."""
    from transformers import AttentionInterface  # takes seconds
    from transformers.masking_utils import AttentionMaskInterface, eager_mask

    name = "attentionology_eager"
    AttentionInterface.register(name, replaceable_attention)
    # Without a mask function of the same name the attention function is handed no mask, and padding is attended.
    AttentionMaskInterface.register(name, eager_mask)
    return name


@contextmanager
def resumed(modules: Sequence[nn.Module], layer: int, hidden: Float[Tensor, "batch n dim"]) -> Iterator[None]:
    """Forward passes begin at a layer: those below hand on what they get, and it takes ``hidden`` as its input.

    Args:
        modules: the model's distinct layer modules, as they are called or shared.
        layer: 0-based.
        hidden: its input.
    """
    calls = 0

    def resume(own: Callable[..., Any]) -> Callable[..., Any]:
        def forward(hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            number, calls = calls, calls + 1
            if number < layer:
                return hidden_states
            return own(hidden if number == layer else hidden_states, *args, **kwargs)

        return forward

    for module in modules:
        module.forward = resume(module.forward)
    try:
        yield
    finally:
        for module in modules:
            del module.forward


class InputEmbeddings:
    """Within ``with``: what the table of input embeddings gives is kept, and may be replaced.

    Args:
        model: a Hugging Face model.
        given: embeddings to take instead of those looked up.
        leaf: cut the embeddings off from the table and let them require grad.
    """

    def __init__(self, model: Any, given: Float[Tensor, "batch n dim"] | None = None, *, leaf: bool = False) -> None:
        self._table: nn.Module = model.get_input_embeddings()
        self._given, self._leaf = given, leaf
        self.found: Tensor = torch.empty(0)

    def __enter__(self) -> InputEmbeddings:
        self._handle = self._table.register_forward_hook(self._hook)
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.remove()

    def _hook(self, _module: nn.Module, _inputs: Any, looked_up: Tensor) -> Tensor:
        found = looked_up if self._given is None else self._given
        self.found = found.detach().clone().requires_grad_() if self._leaf else found
        return self.found


@dataclass(frozen=True, eq=False)
class WordRows:
    """Rows of attention to pieces, taken apart: what words get is one distribution, the rest is kept here.

    Attributes:
        total: m, what all words get together.
        share: what part of its word's weight each piece has, 0 at special tokens and padding.
        rest: weights of special tokens, 0 elsewhere.
        word_of: 0-based word of each piece, −1 at special tokens and padding.
    """

    total: Float[Tensor, "batch rows"]
    share: Float[Tensor, "batch rows pieces"]
    rest: Float[Tensor, "batch rows pieces"]
    word_of: Int[Tensor, "batch pieces"]

    @classmethod
    def split(
        cls, rows: Float[Tensor, "batch rows pieces"], word_of: Int[Tensor, "batch pieces"], n: int
    ) -> tuple[WordRows, Float[Tensor, "batch rows n"]]:
        """The parts, and the distribution over n words: zeros if words get nothing or there are none."""
        belongs = (word_of[:, :, None] == torch.arange(n, device=word_of.device)).to(rows.dtype)
        words = rows @ belongs
        total = words.sum(-1)
        alpha = words / total.where(total > 0, 1)[..., None]
        of_piece = words @ belongs.mT
        evenly = (belongs @ (1 / belongs.sum(1).clamp(min=1))[..., None]).mT
        share = torch.where(of_piece > 0, rows / of_piece.where(of_piece > 0, 1), evenly)
        inside = (word_of >= 0)[:, None]
        return cls(total, share * inside, rows * ~inside, word_of), alpha

    def join(self, alpha: Float[Tensor, "batch k rows n"], renormalise: bool) -> Float[Tensor, "batch k rows pieces"]:
        """Weights of pieces from weights of words: m · word · share, and the special tokens as they were.

        Args:
            alpha: of the words.
            renormalise: divide each row by its sum, where it has one.
        """
        at = self.word_of.clamp(min=0)[:, None, None].expand(*alpha.shape[:3], -1)
        scaled = self.total[:, None, :, None] * alpha
        rows = scaled.gather(-1, at) * self.share[:, None] + self.rest[:, None]
        if not renormalise:
            return rows
        total = rows.sum(-1, keepdim=True)
        return rows / total.where(total > 0, 1)

    def detached(self) -> WordRows:
        """The same as constants."""
        return WordRows(self.total.detach(), self.share.detach(), self.rest.detach(), self.word_of)


def check_calls(seen: AttentionPatch, n_layers: int, label: str) -> None:
    """The attention function must have been called once per layer.

    Raises:
        ModelError: it was not.
    """
    if seen.calls != n_layers:
        raise ModelError(
            f"{label}: attention of this architecture cannot be replaced, because it is not computed by the function "
            f"that the library lets one change ({seen.calls} calls for {n_layers} layers)"
        )


def check_first_position(run: Callable[[], Tensor], own: Tensor, seen: AttentionPatch, label: str) -> None:
    """The logits must depend on the first row of the last layer's attention, and on no other row of it.

    Args:
        run: a forward pass that gives the logits.
        own: what it gives when nothing is replaced.
        seen: attention of the last layer.
        label: for the message.

    Raises:
        ModelError: they do not.
    """
    for changed, is_read in ((slice(0, 1), True), (slice(1, None), False)):
        rows = seen.weights.clone()
        rows[:, :, changed] = 0
        with AttentionPatch(seen.calls - 1, rows, range(rows.shape[1])):
            off = difference(run(), own)
        if not off > 0 if is_read else off > TOLERANCE:
            raise ModelError(
                f"{label}: this classifier does not read the first position and that alone (it takes the last token, "
                "or the mean of all), so its attention is not one row; use query='all'"
            )


def difference(one: Tensor, other: Tensor) -> float:
    """The largest, relative to the largest value where that is above 1."""
    return float((one - other).abs().max() / other.abs().max().clamp(min=1))
