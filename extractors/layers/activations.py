"""Integrated gradients of the feed-forward block in closed form: the mean slope of an activation along a path.

The integrated gradient (Sundararajan et al. 2017) of ``g(u)`` along the straight path from ``b`` to ``u``, for a part
``d`` of the sum ``u − b``, is ``d · θ`` with the mean slope ``θ = ∫₀¹ g'(b + tΔ) dt``, ``Δ = u − b``. The slope depends
on the query and the unit but not on the part, so it is computed once, and exactly, instead of by many small steps for
every part. Multiplying all parts of a pre-activation by the same θ is what makes the block linear: by the fundamental
theorem of calculus, ``θ Δ = g(u) − g(b)``, so the parts add up to what the activation really does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ..errors import ModelError

Elementwise = Callable[[Tensor], Tensor]
FFBias = Literal["input", "fixed"]
"""Whether the first bias of a feed-forward network is an input like the tokens, or part of the baseline."""

COMPLETENESS = 1e-3
"""The largest allowed relative difference between what the slopes explain and what the activation does."""


def _path(n_nodes: int) -> list[tuple[float, float]]:
    """Return pairs of a Gauss-Legendre node on [0, 1] and its weight."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)  # on [−1, 1]
    return [((1 + node) / 2, weight / 2) for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True)]


_PATH = _path(8)
"""Eight nodes integrate these functions over a path of length 1 to the precision of float64."""

_LONG_PATH = _path(48)
"""The same for smooth functions over a path of length 8."""

_GATES: dict[str, Elementwise] = {
    "gelu": lambda u: (1 + torch.erf(u / math.sqrt(2))) / 2,
    "tanh gelu": lambda u: (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))) / 2,
    "silu": torch.sigmoid,
    "quick gelu": lambda u: torch.sigmoid(1.702 * u),
    "relu": lambda u: (u > 0).to(u),
}
_PROBE = torch.cat([torch.linspace(-6, 6, 97), torch.tensor([8.0, 12, 20, 50, 200, -8, -12, -20, -50, -200])])


def gate_of(activation: Elementwise, like: Tensor | None = None) -> Elementwise | None:
    """Find the gate with ``g(u) = u · gate(u)`` by comparing values, on the device and in the precision of ``like``."""
    u = _PROBE.double() if like is None else _PROBE.to(like)
    tolerance = 1e-9 if u.dtype == torch.float64 else 1e-5
    for gate in _GATES.values():
        if torch.allclose(activation(u), u * gate(u), rtol=tolerance, atol=tolerance):
            return gate
    return None


_IN_ONE_PASS: dict[Elementwise | None, Elementwise] = {
    _GATES["gelu"]: functional.gelu,
    _GATES["tanh gelu"]: partial(functional.gelu, approximate="tanh"),
    _GATES["silu"]: functional.silu,
}
"""Functions that read and write each number once, by their gates."""


def in_one_pass(activation: Elementwise, like: Tensor) -> Elementwise:
    """Find the function of torch that gives the same values, or return the activation itself.

    The GELU of GPT-2 is written in eight operations, which take ten times as long as one.
    """
    return _IN_ONE_PASS.get(gate_of(activation, like), activation)


def slope(activation: Elementwise, start: Tensor | float, end: Tensor) -> Tensor:
    """Compute ``θ``, the mean of g' between ``start`` and ``end``, elementwise."""
    start = torch.as_tensor(start, dtype=end.dtype, device=end.device)
    # From a baseline of 0 the gate *is* the mean slope, and nothing has to be divided by a small u.
    if bool((start == 0).all()) and (gate := gate_of(activation, end)) is not None:
        return gate(end)
    # The mean slope is the difference quotient (g(u) − g(b)) / (u − b), which is well conditioned for long paths, and
    # for paths across 0, where the kinks of activations are and where most of them are small. On the other paths, which
    # are short and smooth, the quotient would cancel, and eight quadrature nodes are exact.
    delta = end - start
    far = (start * end < 0) | (delta.abs() > 1)
    quotient = (activation(end) - activation(start)) / torch.where(far, delta, torch.ones_like(delta))
    integral = sum(weight * _derivative(activation, start + node * delta) for node, weight in _PATH)
    return torch.where(far, quotient, integral)


def gated_slopes(activation: Elementwise, start: tuple[Tensor, Tensor], end: tuple[Tensor, Tensor]) -> list[Tensor]:
    """Compute the mean slopes of ``g(u) · w`` in u and in w along the straight path of both; g is GELU or SiLU.

    ``∂u: ∫ g'(u(t)) w(t) dt = w₀ θ + Δw C`` with ``C = ∫ t g'(u(t)) dt = (g(u) − B)/Δu``;
    ``∂w: B = ∫ g(u(t)) dt = (G(u) − G(u₀))/Δu`` with the antiderivative G, see `_gelu_integral`, `_tanh_gelu_integral`
    and `_silu_integral`.

    Another activation is a `ModelError`, because its antiderivative is not known here.
    """
    antiderivative = _ANTIDERIVATIVES.get(gate_of(activation, end[0]))
    if antiderivative is None:
        raise ModelError(
            "the feed-forward block is gated by something other than GELU and SiLU; its integrated gradient has no "
            "known closed form, so the kinds atbff, atbffres and atbffresln are not available"
        )
    (start_u, start_w), (end_u, end_w) = start, end
    delta = end_u - start_u
    far = delta.abs() > 1
    divisor = torch.where(far, delta, torch.ones_like(delta))
    # B and C by their quotients on long paths and by quadrature on short ones, for the same reason as in `slope`.
    path = [(node, weight, start_u + node * delta) for node, weight in _PATH]
    integral_b = sum(weight * activation(u) for _, weight, u in path)
    b = torch.where(far, (antiderivative(end_u) - antiderivative(start_u)) / divisor, integral_b)
    integral_c = sum(weight * node * _derivative(activation, u) for node, weight, u in path)
    c = torch.where(far, (activation(end_u) - b) / divisor, integral_c)
    return [start_w * slope(activation, start_u, end_u) + (end_w - start_w) * c, b]


def _derivative(activation: Elementwise, u: Tensor) -> Tensor:
    """Compute g'(u), elementwise."""
    # In inference mode, torch before 2.13 returns wrong derivatives of GELU without an error.
    with torch.inference_mode(mode=False):
        u = u.clone()
        tangent: Tensor = torch.func.jvp(activation, (u,), (torch.ones_like(u),))[1]
    return tangent


def _gelu_integral(u: Tensor) -> Tensor:
    """``∫₀ᵘ s Φ(s) ds = ((u² − 1) Φ(u) + u φ(u))/2 + ¼``, without the constant."""
    density = torch.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    return ((u * u - 1) * _GATES["gelu"](u) + u * density) / 2


def _tanh_gelu_integral(u: Tensor) -> Tensor:
    """`_gelu_integral` plus the integral of how the two GELUs differ, which is at most 5e-4, and 0 outside of ±8."""
    end = u.clamp(-8, 8)
    tanh_gelu, gelu = _GATES["tanh gelu"], _GATES["gelu"]
    difference: Tensor | float = sum(
        weight * ((tanh_gelu(node * end) - gelu(node * end)) * node * end) for node, weight in _LONG_PATH
    )
    return _gelu_integral(u) + end * difference


def _silu_integral(u: Tensor) -> Tensor:
    """``∫₀ᵘ s σ(s) ds``, which is ``R(|u|)`` below 0 and ``u²/2 − R(u)`` above, with ``R(g) = ∫₀ᵍ t/(1 + eᵗ) dt``.

    ``R(g) = π²/12 + Li₂(−e⁻ᵍ) − g log(1 + e⁻ᵍ)``, and ``Li₂(−e⁻ᵍ)`` is ``spence(1 + e⁻ᵍ)``.
    """
    from scipy.special import spence  # which takes a while to import, and few models need it

    g = u.detach().abs().double().cpu()
    exp_g = torch.exp(-g)
    r = (math.pi**2 / 12 + torch.from_numpy(spence((1 + exp_g).numpy())) - g * torch.log1p(exp_g)).to(u)
    return torch.where(u > 0, u * u / 2 - r, r)


_ANTIDERIVATIVES: dict[Elementwise | None, Elementwise] = {
    _GATES["gelu"]: _gelu_integral,
    _GATES["tanh gelu"]: _tanh_gelu_integral,
    _GATES["silu"]: _silu_integral,
}
"""The antiderivatives of u · gate(u), by the gate."""


def activation_slopes(
    activation: Elementwise, preactivations: tuple[Tensor, ...], biases: tuple[Tensor, ...], ff_bias: FFBias
) -> list[Tensor]:
    """Compute the mean slopes of the pre-activation u, or of both halves (u, w) of a gated block.

    With the ``ff_bias`` ``"input"``, the path starts at 0, and the bias is one more part of the sum; with ``"fixed"``,
    it starts at the bias, which is then part of the baseline. Slopes that are not known (see `gated_slopes`), or do not
    add up to what the activation does, are a `ModelError`.
    """
    baselines = biases if ff_bias == "fixed" else tuple(torch.zeros_like(bias) for bias in biases)
    start = tuple(baseline.expand_as(u) for baseline, u in zip(baselines, preactivations, strict=True))
    if len(preactivations) == 1:
        slopes = [slope(activation, start[0], preactivations[0])]
    else:
        slopes = gated_slopes(activation, (start[0], start[1]), (preactivations[0], preactivations[1]))
    # Completeness: what the parts are given must add up to what the activation does.
    change = activate(activation, preactivations) - activate(activation, start)
    paths = zip(slopes, start, preactivations, strict=True)
    explained = sum(theta * (end - begin) for theta, begin, end in paths)
    error = (explained - change).norm() / change.norm().clamp(min=1e-12)
    if not float(error) <= COMPLETENESS:
        raise ModelError(
            f"the mean slopes of the activation explain its change only within {float(error):.1%}; the kinds atbff, "
            "atbffres and atbffresln are not available for this model"
        )
    return slopes


def activate(activation: Elementwise, u: tuple[Tensor, ...]) -> Tensor:
    """Apply the activation: ``g(u)``, or ``g(u) · w`` of a gated block."""
    hidden: Tensor = activation(u[0])
    return hidden if len(u) == 1 else hidden * u[1]
