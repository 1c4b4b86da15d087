"""The weights with which an attention block turns vectors into values and values into its output."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from ..errors import ModelError
from .architectures import Fused


@dataclass(frozen=True, eq=False)
class AttentionWeights:
    """The value and the output projection of an attention block, applied as ``x @ W + b``."""

    n_heads: int  # which share the rows of W_O
    w_v: Float[Tensor, "dim_in shared"]  # as many columns as W_O has rows, or fewer if several heads share their values
    b_v: Float[Tensor, " shared"]
    w_o: Float[Tensor, "inner dim"]
    b_o: Float[Tensor, " dim"]

    def values(self, x: Float[Tensor, "batch n dim_in"]) -> Float[Tensor, "batch n inner"]:
        """Compute ``v``, all heads side by side, bias included."""
        return self.by_head(torch.addmm(self.b_v, x.flatten(0, -2), self.w_v).view(*x.shape[:-1], -1))

    def by_head(self, shared: Float[Tensor, "*rows shared"]) -> Float[Tensor, "*rows inner"]:
        """Repeat what several heads share: head h of H reads the key-value head ⌊h / (H / K)⌋ of K."""
        inner = self.w_o.shape[0]
        repeats = inner // shared.shape[-1]
        if repeats == 1:
            return shared
        head_size = inner // self.n_heads
        heads = shared.reshape(*shared.shape[:-1], -1, head_size)
        return heads.repeat_interleave(repeats, dim=-2).flatten(-2)

    @property
    def moving(self) -> Float[Tensor, "inner dim"]:
        """The linear map from value vectors to what is added to the residual stream, without its factor by query."""
        return self.w_o

    @functools.cached_property
    def _marked_constants(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Constants by their names, each after the mark of the weights that it was made of."""
        return {}

    def _mark(self) -> Tensor:
        """Return numbers that change when the weights that constants are made of are written to."""
        direction = torch.linspace(1, 2, self.w_o.shape[1], dtype=self.w_o.dtype, device=self.w_o.device)
        return self.w_o @ direction

    def _constant(self, name: str, make: Callable[[], Tensor]) -> Tensor:
        """Compute a constant once, and again after the weights have been written to."""
        # The weights are views of the model's, so everything but these constants follows a change of them by itself,
        # and no comparison with the model would notice a stale constant. Heads are usually ablated through ``.data``,
        # which changes no version counter, so a product that depends on all weights tells whether they are the same.
        mark = self._mark()
        if name not in self._marked_constants or not torch.equal(self._marked_constants[name][0], mark):
            self._marked_constants[name] = mark, make()
        _, constant = self._marked_constants[name]
        return constant

    @property
    def head_norm_factors(self) -> Float[Tensor, "heads inner_h inner_h"]:
        """Small factors F with ``‖v W_O^h‖ = ‖v F_h‖``, from the QR decomposition of each head's W_Oᵀ."""

        def make() -> Tensor:
            per_head = self.moving.view(self.n_heads, -1, self.w_o.shape[-1])
            # The norm of a vector is computed instead of the quadratic form v W Wᵀ vᵀ, because that may cancel.
            factors: Tensor = torch.linalg.qr(per_head.mT, mode="r")[1]
            return factors.mT.contiguous()

        return self._constant("head norm factors", make)

    @property
    def gram(self) -> Float[Tensor, "inner inner"]:
        """``W_O W_Oᵀ``, which gives the inner products of value vectors after the output projection."""
        return self._constant("gram", lambda: gram_of(self.moving))


def gram_of(rows: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows rows"]:
    """Compute the inner products of all rows of a matrix."""
    return rows @ rows.T


def find_modules(module: Any, path: str) -> Iterator[Any]:
    """Yield the modules at a path of names, in which ``*`` is every item of a list, and ``1`` its second."""
    first, _, rest = path.partition(".")
    if not first:
        yield module
    elif first == "*":
        for item in module:
            yield from find_modules(item, rest)
    elif first.isdecimal():
        yield from find_modules(module[int(first)], rest)
    elif isinstance(child := getattr(module, first, None), nn.ModuleList) and not rest:
        yield from child
    elif child is not None:
        yield from find_modules(child, rest)


def find_module(module: Any, path: str, where: str) -> Any:
    """Return the module at a path of names, or raise `ModelError`, whose message says ``where``."""
    module_at_path = next(find_modules(module, path), None)
    if module_at_path is None:
        raise ModelError(f"{where} has no {path!r}; it is built differently from others of its family")
    return module_at_path


def read_linear(module: Any, where: str) -> tuple[Tensor, Tensor]:
    """Read the weight of a linear module as (inputs, outputs), and its bias or zeros."""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, Tensor) or weight.dim() != 2:
        raise ModelError(f"{where}: {type(module).__name__} is not a linear map with a weight matrix")
    # GPT-2's Conv1D stores its weight transposed.
    weight = weight.detach() if isinstance(module, Conv1D) else weight.detach().T
    bias = getattr(module, "bias", None)
    return weight, weight.new_zeros(weight.shape[1]) if bias is None else bias.detach()


def value_part(packed: Float[Tensor, "*rows packed"], fused: Fused, n_heads: int, head_size: int) -> Tensor:
    """Return the value columns of a projection that may be packed with those of query and key, or of its bias."""
    if fused == "no":
        return packed
    # There are n_heads heads of queries; the others are as many heads of keys as of values.
    n_values = (packed.shape[-1] // head_size - n_heads) // 2
    if fused == "last third":
        return packed[..., packed.shape[-1] - n_values * head_size :]
    # DeBERTa interleaves them: query, key and value of the first head, then those of the second, and so on. Where heads
    # share their values (Falcon), the queries of all heads of a group come before its key and its value.
    return packed.reshape(*packed.shape[:-1], n_values, n_heads // n_values + 2, head_size)[..., -1, :].flatten(-2)
