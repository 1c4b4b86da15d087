"""Layer norms and RMS norms in one form, taken apart into a linear part and a division."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from ..errors import ModelError


@dataclass(frozen=True)
class LayerNorm:
    """A layer norm, taken apart: ``LN(Σ y) = Σ linear(y) / deviation(Σ y) + beta``.

    See `attentionology.extractors.layers.contributions` for what this is good for.
    """

    gamma: Float[Tensor, " dim"]
    beta: Float[Tensor, " dim"]
    eps: float
    centered: bool = True  # False for RMSNorm, which does not subtract the mean

    def __call__(self, y: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Apply the layer norm as a whole."""
        if self.centered:
            return functional.layer_norm(y, self.gamma.shape, self.gamma, self.beta, self.eps)
        return y / self.deviation(y) * self.gamma + self.beta

    def with_scale(self, y: Float[Tensor, "*rows dim"]) -> tuple[Float[Tensor, "*rows dim"], Float[Tensor, "*rows 1"]]:
        """Apply the layer norm as a whole, and return ``1 / deviation`` with the result, which costs nothing more."""
        if self.centered:
            normed, _, scale = torch.native_layer_norm(y, self.gamma.shape, self.gamma, self.beta, self.eps)
            return normed, scale
        scale = 1 / self.deviation(y)
        return y * scale * self.gamma + self.beta, scale

    def deviation(self, y: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows 1"]:
        """Compute what it divides by, ``sqrt(var + eps)``, or the root of the mean square."""
        squares = y.var(-1, correction=0, keepdim=True) if self.centered else y.square().mean(-1, keepdim=True)
        return (squares + self.eps).sqrt()

    def linear(self, y: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        """Apply its linear part: subtract the mean and multiply by gamma, without the division and without beta."""
        return (y - y.mean(-1, keepdim=True) if self.centered else y) * self.gamma


def read_norm_module(module: Any, where: str) -> LayerNorm | None:
    """Read a layer norm or an RMS norm; None for an identity."""
    if isinstance(module, nn.Identity):
        return None
    eps = getattr(module, "eps", getattr(module, "variance_epsilon", None))
    gamma, beta = getattr(module, "weight", None), getattr(module, "bias", None)
    if gamma is None or eps is None:
        raise ModelError(f"{where}: {type(module).__name__} is not a layer norm")
    gamma = gamma.detach()
    beta = torch.zeros_like(gamma) if beta is None else beta.detach()
    plain = LayerNorm(gamma, beta, float(eps))
    # RMSNorm does not subtract the mean, and that of Gemma multiplies by 1 + weight. Names do not tell; values do.
    probe = torch.linspace(-1, 2, len(gamma), dtype=gamma.dtype, device=gamma.device)
    expected = module(probe)
    for norm in (plain, replace(plain, centered=False), replace(plain, gamma=1 + gamma, centered=False)):
        if torch.allclose(norm(probe), expected, rtol=1e-3, atol=1e-4):
            return norm
    raise ModelError(f"{where}: {type(module).__name__} is neither a layer norm nor an RMS norm")
