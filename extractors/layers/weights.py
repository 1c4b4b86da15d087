"""The weights of one layer in one form for all architectures, with every matrix applied as ``x @ W + b``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from ..errors import ModelError
from .activations import Elementwise, activated
from .architectures import ARCHITECTURES, Architecture, Fused
from .attention_weights import AttentionWeights, find_module, find_modules, gram_of, read_linear


@dataclass(frozen=True)
class LayerNorm:
    """A layer norm, taken apart: ``LN(Σ y) = Σ linear(y) / deviation(Σ y) + beta``.

    See `attentionology.extractors.layers.contributions` for what this is good for.
    """

    gamma: Float[Tensor, " dim"]
    beta: Float[Tensor, " dim"]
    eps: float

    def __call__(self, y: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Apply the layer norm as a whole."""
        return functional.layer_norm(y, self.gamma.shape, self.gamma, self.beta, self.eps)

    def deviation(self, y: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows 1"]:
        """Compute what it divides by, ``sqrt(var + eps)``."""
        return (y.var(-1, correction=0, keepdim=True) + self.eps).sqrt()

    def linear(self, y: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Apply its linear part: subtract the mean and multiply by gamma, without the division and without beta."""
        return (y - y.mean(-1, keepdim=True)) * self.gamma


@dataclass(frozen=True, eq=False)
class LayerWeights(AttentionWeights):
    """The weights of one transformer layer.

    Post-LN (BERT): ``p = Σ_h α v W_O + b_O + x``, ``a = norm(p)``, ``q = FF(a) + a``, output ``norm_out(q)``.
    Pre-LN (GPT-2): v from ``norm_in(x)``, the same p, ``a = norm(p)``, output ``q = FF(a) + p``.
    """

    norm_in: LayerNorm | None  # of the single tokens before attention; None in post-LN models and for an identity
    norm: LayerNorm  # of the sum p
    ff_in: tuple[tuple[Float[Tensor, "dim units"], Float[Tensor, " units"]], ...]  # two pairs if the block is gated
    activation: Elementwise
    w_2: Float[Tensor, "units dim"]
    b_2: Float[Tensor, " dim"]
    norm_out: LayerNorm | None  # of q; None in pre-LN models
    pre_norm: bool

    def values(self, x: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch n inner"]:
        """Compute ``v``, all heads side by side, bias included."""
        return super().values(self.norm_in(x) if self.norm_in else x)

    def attended(
        self, context: Float[Tensor, "*rows inner"], x: Float[Tensor, "*rows dim"]
    ) -> Float[Tensor, "*rows dim"]:
        """Compute ``p`` from the heads' weighted sums of values, side by side."""
        return context @ self.w_o + self.b_o + x

    def preactivations(self, a: Float[Tensor, "*rows dim"]) -> tuple[Float[Tensor, "*rows units"], ...]:
        """Compute ``u``, or ``(u, w)`` of a gated block."""
        return tuple(a @ w + b for w, b in self.ff_in)

    def feed_forward(self, u: tuple[Float[Tensor, "*rows units"], ...]) -> Float[Tensor, "*rows dim"]:
        """Compute the block's output from its pre-activations, without the residual."""
        return activated(self.activation, u) @ self.w_2 + self.b_2

    def out_of_units(self, parts: Sequence[Float[Tensor, "*rows units"]]) -> Float[Tensor, "*rows dim"]:
        """Apply W_2, without bias, to the sum of the parts of the activations, of which a gated block has two."""
        return sum(parts[1:], start=parts[0]) @ self.w_2

    def finish(
        self, p: Float[Tensor, "*rows dim"], a: Float[Tensor, "*rows dim"], u: tuple[Float[Tensor, "*rows units"], ...]
    ) -> Float[Tensor, "*rows dim"]:
        """Compute ``q``, the feed-forward output plus its residual."""
        return self.feed_forward(u) + (p if self.pre_norm else a)

    def expansion_rate(self) -> float:
        """Compute how much all heads together stretch vectors on average (Kobayashi et al. 2021, released code)."""
        # The Frobenius norm of [W_V b_V; 0 1][W_O b_O; 0 1], which maps vectors with a 1 appended, over √(dim + 1).
        product = self.w_v @ self.w_o
        shift = self.b_v @ self.w_o + self.b_o
        squares = float(product.norm()) ** 2 + float(shift.norm()) ** 2 + 1
        return math.sqrt(squares / (len(shift) + 1))

    def _mark(self) -> Tensor:
        norms = [norm.gamma for norm in (self.norm, self.norm_out) if norm is not None]
        return torch.cat([super()._mark(), *norms])

    @property
    def w_o_normed(self) -> Float[Tensor, "inner dim"]:
        """The output projection followed by the linear part of the layer norm. It is not kept, to save memory."""
        return self.norm.linear(self.w_o)

    def to_units(self) -> list[Float[Tensor, "inner units"]]:
        """Multiply out the way from value vectors to pre-activations: W_O, the linear part of the layer norm, W_1."""
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


def read_weights(model: Any, n_layers: int, n_heads: int) -> list[LayerWeights]:
    """Read the layers of a Hugging Face model; layers that share their weights are the same object."""
    family = str(model.config.model_type)
    row = ARCHITECTURES.get(family)
    if row is None or not row.layers:
        known = sorted(name for name, architecture in ARCHITECTURES.items() if architecture.layers)
        raise ModelError(
            f"where {family!r} models keep their value projections, layer norms and feed-forward blocks is not known "
            f"here, so only the map kind 'weight' and its rollout work. The known families are: "
            f"{', '.join(known)}. Add a row with attentionology.register_architecture, see "
            "docs/how-to/architectures.md"
        )
    base = getattr(model, "base_model", model)
    modules = list(find_modules(base, row.layers))
    if not 0 < len(modules) <= n_layers:
        raise ModelError(f"{family!r}: {len(modules)} layers at {row.layers!r} for {n_layers} layers of attention")
    read = [_read_layer(module, row, n_heads, f"{family!r} layer {i + 1}") for i, module in enumerate(modules)]
    # Fewer modules than layers are shared in order, as the groups of ALBERT are.
    return [read[layer * len(read) // n_layers] for layer in range(n_layers)]


def layer_modules(model: Any) -> list[nn.Module]:
    """List the distinct layer modules of a model whose family has a row."""
    path = ARCHITECTURES[str(model.config.model_type)].layers
    return list(find_modules(getattr(model, "base_model", model), path)) if path else []


def _read_layer(module: Any, row: Architecture, n_heads: int, where: str) -> LayerWeights:
    def get(path: str) -> Any:
        return find_module(module, path, where)

    w_v, b_v = read_linear(get(row.value), where)
    w_v, b_v = _value_part(w_v, row.fused, n_heads), _value_part(b_v, row.fused, n_heads)
    if row.value_bias:
        b_v = b_v + get(row.value_bias).detach()
    w_o, b_o = read_linear(get(row.output), where)
    w_1, b_1 = read_linear(get(row.ff_in), where)
    w_2, b_2 = read_linear(get(row.ff_out), where)
    parts = 2 if row.gated else 1
    norm_1, norm_2 = (_norm(get(path), where) for path in (row.norm_1, row.norm_2))
    norm = norm_2 if row.pre_norm else norm_1
    if norm is None or (norm_2 is None and not row.pre_norm):
        raise ModelError(f"{where}: a layer norm is missing where this architecture has one")
    return LayerWeights(
        n_heads=n_heads,
        w_v=w_v,
        b_v=b_v,
        w_o=w_o,
        b_o=b_o,
        norm_in=norm_1 if row.pre_norm else None,
        norm=norm,
        ff_in=tuple(zip(w_1.chunk(parts, -1), b_1.chunk(parts, -1), strict=True)),
        activation=get(row.activation),
        w_2=w_2,
        b_2=b_2,
        norm_out=None if row.pre_norm else norm_2,
        pre_norm=row.pre_norm,
    )


def _value_part(packed: Tensor, fused: Fused, n_heads: int) -> Tensor:
    """Take the value columns of a projection that gives query, key and value at once."""
    if fused == "no":
        return packed
    size = packed.shape[-1] // 3
    if fused == "last third":
        return packed[..., 2 * size :]
    # DeBERTa interleaves them: query, key and value of the first head, then those of the second, and so on.
    return packed.view(*packed.shape[:-1], n_heads, 3, -1)[..., 2, :].flatten(-2)


def _norm(module: Any, where: str) -> LayerNorm | None:
    if isinstance(module, nn.Identity):
        return None
    eps = getattr(module, "eps", getattr(module, "variance_epsilon", None))
    gamma, beta = getattr(module, "weight", None), getattr(module, "bias", None)
    if gamma is None or eps is None:
        raise ModelError(f"{where}: {type(module).__name__} is not a layer norm")
    return LayerNorm(gamma.detach(), torch.zeros_like(gamma) if beta is None else beta.detach(), float(eps))
