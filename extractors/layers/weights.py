"""The weights of one layer in one form for all architectures, with every matrix applied as ``x @ W + b``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..errors import ModelError
from .activations import Elementwise, activate, in_one_pass
from .architectures import ARCHITECTURES, Architecture
from .attention_weights import AttentionWeights, find_module, find_modules, gram_of, read_linear, value_part
from .layer_norm import LayerNorm, read_norm_module


@dataclass(frozen=True, eq=False)
class LayerWeights(AttentionWeights):
    """The weights of one transformer layer.

    Post-LN (BERT): ``p = Σ_h α v W_O + b_O + x``, ``a = norm(p)``, ``q = FF(a) + a``, output ``norm_out(q)``.
    Pre-LN (GPT-2): v from ``norm_in(x)``, the same p, ``a = norm(p)``, output ``q = FF(a) + p``.
    Some pre-LN models norm what a block adds before it is added (``norm_attention``, ``norm_ff``; Gemma 2), have no
    norms before the blocks (OLMo 2: ``a = p``), or let both blocks read x (``parallel``: ``a = norm(x)``; GPT-NeoX).
    """

    norm_in: LayerNorm | None  # of the single tokens before attention; None in post-LN models and for an identity
    norm: LayerNorm | None  # of the sum p, or of x if the blocks are parallel; None where there is none
    ff_in: tuple[
        tuple[Float[Tensor, "dim units"], Float[Tensor, " units"]], ...
    ]  # two pairs if it is gated, none for experts
    activation: Elementwise
    w_2: Float[Tensor, "units dim"]
    b_2: Float[Tensor, " dim"]
    norm_out: LayerNorm | None  # of q; None in pre-LN models
    pre_norm: bool
    norm_attention: LayerNorm | None = None  # of what attention adds to x
    norm_ff: LayerNorm | None = None  # of what the feed-forward block adds to p
    parallel: bool = False

    def values(self, x: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch n inner"]:
        """Compute ``v``, all heads side by side, bias included."""
        return super().values(self.norm_in(x) if self.norm_in else x)

    def attention_output(self, context: Float[Tensor, "*rows inner"]) -> Float[Tensor, "*rows dim"]:
        """Compute what attention gives, before it is normed, from the heads' weighted sums of values, side by side."""
        return context @ self.w_o + self.b_o

    def attended(
        self, context: Float[Tensor, "*rows inner"], x: Float[Tensor, "*rows dim"]
    ) -> Float[Tensor, "*rows dim"]:
        """Compute ``p`` from the heads' weighted sums of values, side by side."""
        output = self.attention_output(context)
        return (self.norm_attention(output) if self.norm_attention else output) + x

    def read_by_ff(self, p: Float[Tensor, "*sums dim"], x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*_ dim"]:
        """Compute ``a``, which the feed-forward block reads: from the sums p, or from x if the blocks are parallel."""
        read = x if self.parallel else p
        return self.norm(read) if self.norm else read

    def preactivations(self, a: Float[Tensor, "*rows dim"]) -> tuple[Float[Tensor, "*rows units"], ...]:
        """Compute ``u``, or ``(u, w)`` of a gated block."""
        self.check_feed_forward()
        return tuple(a @ w + b for w, b in self.ff_in)

    def check_feed_forward(self) -> None:
        """Raise `ModelError` if the weights of the feed-forward block are not read."""
        if not self.ff_in:
            raise ModelError(
                "the feed-forward block of this model is a mixture of experts, of which a router chooses a few for "
                "each piece, so what passes it has no linear form here; kinds of maps of the attention block, such as "
                "norm, attnres and attnresln, are available"
            )

    def feed_forward(self, u: tuple[Float[Tensor, "*rows units"], ...]) -> Float[Tensor, "*rows dim"]:
        """Compute what the block adds from its pre-activations, without the residual."""
        output = self.ff_output(u)
        return self.norm_ff(output) if self.norm_ff else output

    def ff_output(self, u: tuple[Float[Tensor, "*rows units"], ...]) -> Float[Tensor, "*rows dim"]:
        """Compute what the block gives, before it is normed."""
        return activate(self.activation, u) @ self.w_2 + self.b_2

    def out_of_units(self, parts: Sequence[Float[Tensor, "*rows units"]]) -> Float[Tensor, "*rows dim"]:
        """Apply W_2, without bias, to the sum of the parts of the activations, of which a gated block has two.

        The linear part of the norm of what the block adds follows, if there is one.
        """
        output = sum(parts[1:], start=parts[0]) @ self.w_2
        return self.norm_ff.linear(output) if self.norm_ff else output

    def finish(
        self, p: Float[Tensor, "*rows dim"], a: Float[Tensor, "*rows dim"], u: tuple[Float[Tensor, "*rows units"], ...]
    ) -> Float[Tensor, "*rows dim"]:
        """Compute ``q``, the feed-forward output plus its residual."""
        return self.feed_forward(u) + (p if self.pre_norm else a)

    def expansion_rate(self) -> float:
        """Compute how much all heads together stretch vectors on average (Kobayashi et al. 2021, released code)."""
        # The Frobenius norm of [W_V b_V; 0 1][W_O b_O; 0 1], which maps vectors with a 1 appended, over √(dim + 1).
        product = self.by_head(self.w_v) @ self.w_o
        shift = self.by_head(self.b_v) @ self.w_o + self.b_o
        squares = float(product.norm()) ** 2 + float(shift.norm()) ** 2 + 1
        return math.sqrt(squares / (len(shift) + 1))

    def _mark(self) -> Tensor:
        norms = (self.norm, self.norm_out, self.norm_attention)  # those that constants are made of
        return torch.cat([super()._mark(), *(norm.gamma for norm in norms if norm is not None)])

    @property
    def moving(self) -> Float[Tensor, "inner dim"]:
        """The output projection, followed by the linear part of the norm of what attention adds, if there is one."""
        return self.norm_attention.linear(self.w_o) if self.norm_attention else self.w_o

    def linear_norm(self, y: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Apply the linear part of the norm that follows attention; nothing changes where none follows."""
        return y if self.norm is None or self.parallel else self.norm.linear(y)

    @property
    def w_o_normed(self) -> Float[Tensor, "inner dim"]:
        """What `moving` gives, followed by the linear part of the layer norm. It is not kept, to save memory."""
        return self.linear_norm(self.moving)

    def to_units(self) -> list[Float[Tensor, "inner units"]]:
        """Multiply out the way from value vectors to pre-activations: W_O, the linear part of the layer norm, W_1."""
        self.check_feed_forward()
        # This is the largest constant of a layer, so it is not kept.
        w_o_normed = self.w_o_normed
        return [w_o_normed @ w for w, _ in self.ff_in]

    @property
    def gram_normed(self) -> Float[Tensor, "inner inner"]:
        """The Gram matrix of what value vectors become by the output projection and the layer norm's linear part."""
        return self._constant("gram normed", lambda: gram_of(self.w_o_normed))

    @property
    def last_norm(self) -> LayerNorm:
        """The layer norm of q, or a `ModelError` in pre-LN models, which have none."""
        if self.norm_out is None:
            raise ModelError("in this architecture no layer norm follows the feed-forward block (pre-LN)")
        return self.norm_out

    @property
    def gram_normed_twice(self) -> Float[Tensor, "inner inner"]:
        """The Gram matrix after the linear parts of both layer norms, without the feed-forward block between them."""
        return self._constant("gram normed twice", lambda: gram_of(self.last_norm.linear(self.w_o_normed)))


def read_weights(model: Any, n_layers: int, n_heads: int, *, again: bool = False) -> Sequence[LayerWeights]:
    """Read the layers of a Hugging Face model; layers that share their weights are the same object.

    They are views of the model's weights. Of a model that converts its weights whenever they are read, they are copies,
    so with ``again``, each layer is read again whenever it is needed.
    """
    family = str(model.config.model_type)
    row = ARCHITECTURES.get(family)
    if row is None or not row.layers:
        known = sorted(name for name, architecture in ARCHITECTURES.items() if architecture.layers)
        raise ModelError(
            f"where {family!r} models keep their value projections, layer norms and feed-forward blocks is not known "
            f"here, so only kinds of maps that do not read weights work. The known families are: "
            f"{', '.join(known)}. Add a row with attentionology.extractors.register_architecture, see "
            "docs/how-to/architectures.md"
        )
    modules = layer_modules(model)
    if not 0 < len(modules) <= n_layers:
        raise ModelError(f"{family!r}: {len(modules)} layers at {row.layers!r} for {n_layers} layers of attention")
    row = replace(row, pre_norm=_setting(model, row.pre_norm), parallel=_setting(model, row.parallel))
    readers = [
        functools.partial(_read_layer, module, row, n_heads, f"{family!r} layer {number}")
        for number, module in enumerate(modules, start=1)
    ]
    # Fewer modules than layers are shared in order, as the groups of ALBERT are.
    module_of_layer = [layer * len(modules) // n_layers for layer in range(n_layers)]
    if again:
        return _ReadAgain([readers[index] for index in module_of_layer])
    weights = [reader() for reader in readers]
    return [weights[index] for index in module_of_layer]


class _ReadAgain(Sequence[LayerWeights]):
    """Layers that are read whenever they are needed, so that only one of them is in memory, and none goes stale."""

    def __init__(self, readers: Sequence[Callable[[], LayerWeights]]) -> None:
        self._readers = readers
        self._constants: dict[int, dict[str, tuple[Tensor, Tensor]]] = {}  # the `_marked_constants` of each layer

    def __len__(self) -> int:
        return len(self._readers)

    def __getitem__(self, index: Any) -> Any:
        """Read the weights of a layer."""
        weights = self._readers[index]()
        # What was computed from the weights at an earlier reading need not be computed again. Each constant is beside
        # the mark of the weights that it was computed from, which tells whether they are still the same.
        layer = range(len(self))[index]  # the same for a negative index
        weights.__dict__["_marked_constants"] = self._constants.setdefault(layer, {})
        return weights


def layer_modules(model: Any) -> list[nn.Module]:
    """List the distinct layer modules of a model whose family has a row."""
    path = ARCHITECTURES[str(model.config.model_type)].layers
    return list(find_modules(getattr(model, "base_model", model), path)) if path else []


def _read_layer(module: Any, row: Architecture, n_heads: int, where: str) -> LayerWeights:
    """Read the weights of one layer module by the row of names of its architecture."""

    def get(path: str) -> Any:
        return find_module(module, path, where)

    def read_norm(paths: str) -> LayerNorm | None:
        """Read the norm at the first path that exists, of those between bars; None if no path is named."""
        *preferred, last = paths.split("|")
        existing = (path for path in preferred if next(find_modules(module, path), None) is not None)
        path = next(existing, last)  # if none exists, the error names the last
        return read_norm_module(get(path), where) if path else None

    w_o, b_o = read_linear(get(row.output), where)
    head_size = w_o.shape[0] // n_heads
    w_v, b_v = (value_part(packed, row.fused, n_heads, head_size) for packed in read_linear(get(row.value), where))
    if row.value_bias:
        b_v = b_v + get(row.value_bias).detach()
    ff_in = [read_linear(get(path), where) for path in row.ff_in.split()]
    if row.gated and len(ff_in) == 1:
        ((w_1, b_1),) = ff_in
        ff_in = list(zip(w_1.chunk(2, -1), b_1.chunk(2, -1), strict=True))
    w_2, b_2 = read_linear(get(row.ff_out), where) if ff_in else (w_o.new_zeros(0, len(b_o)), torch.zeros_like(b_o))
    norm_1, norm_2 = read_norm(row.norm_1), read_norm(row.norm_2)
    # The first norm of a pre-LN layer may be an identity (ModernBERT), and its row may name none (OLMo 2).
    lacks_first = norm_1 is None and not row.pre_norm
    lacks_second = norm_2 is None and not (row.pre_norm and row.norm_2 == "")
    if lacks_first or lacks_second:
        raise ModelError(f"{where}: a layer norm is missing where this architecture has one")
    return LayerWeights(
        n_heads=n_heads,
        w_v=w_v,
        b_v=b_v,
        w_o=w_o,
        b_o=b_o,
        norm_in=norm_1 if row.pre_norm else None,
        norm=norm_2 if row.pre_norm else norm_1,
        ff_in=tuple(ff_in),
        activation=in_one_pass(get(row.activation), w_2) if ff_in else nn.Identity(),
        w_2=w_2,
        b_2=b_2,
        norm_out=None if row.pre_norm else norm_2,
        pre_norm=bool(row.pre_norm),
        norm_attention=read_norm(row.attention_norm),
        norm_ff=read_norm(row.ff_norm),
        parallel=bool(row.parallel),
    )


def _setting(model: Any, value: bool | str) -> bool:
    """Return a value of a row, or that of the entry of the model's configuration that the row names instead."""
    return bool(getattr(model.config, value)) if isinstance(value, str) else value
