"""Norm-based maps the naive way: every vector of every head, query and key in float64 numpy; post-LN and pre-LN.

Written from the papers' formulas on weights given as plain arrays, one sentence without padding at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import Encoder
from attentionology.extractors.model.float64_copy import InFloat64
from attentionology.extractors.tokens.pieces import Pieces

Array = Any  # a numpy array


class Plain(NamedTuple):
    """Weights of a layer, applied as x @ w + b; the second layer norm is None before a feed-forward block (pre-LN)."""

    heads: int
    before: tuple[Array, Array, float] | None  # pre-LN: layer norm of the single tokens
    w_v: Array
    b_v: Array
    w_o: Array
    b_o: Array
    ln: tuple[Array, Array, float]
    ff: list[tuple[Array, Array]]
    activation: Any
    w_2: Array
    b_2: Array
    after: tuple[Array, Array, float] | None
    pre: bool


def array(parameter: torch.Tensor | None, like: int = 0) -> Array:
    return np.zeros(like) if parameter is None else parameter.detach().double().numpy()


def ln_of(module) -> tuple[Array, Array, float]:
    eps = getattr(module, "eps", None) or module.variance_epsilon
    return array(module.weight), array(module.bias, len(module.weight)), eps


def bert_layer(layer, heads: int) -> Plain:
    a = layer.attention
    return Plain(
        heads, None, array(a.self.value.weight).T, array(a.self.value.bias), array(a.output.dense.weight).T,
        array(a.output.dense.bias), ln_of(a.output.LayerNorm),
        [(array(layer.intermediate.dense.weight).T, array(layer.intermediate.dense.bias))],
        layer.intermediate.intermediate_act_fn, array(layer.output.dense.weight).T, array(layer.output.dense.bias),
        ln_of(layer.output.LayerNorm), pre=False,
    )  # fmt: skip


def gpt2_layer(layer, heads: int) -> Plain:
    dim = layer.attn.c_proj.weight.shape[0]
    return Plain(
        heads, ln_of(layer.ln_1), array(layer.attn.c_attn.weight)[:, 2 * dim :],
        array(layer.attn.c_attn.bias)[2 * dim :], array(layer.attn.c_proj.weight), array(layer.attn.c_proj.bias),
        ln_of(layer.ln_2), [(array(layer.mlp.c_fc.weight), array(layer.mlp.c_fc.bias))], layer.mlp.act,
        array(layer.mlp.c_proj.weight), array(layer.mlp.c_proj.bias), None, pre=True,
    )  # fmt: skip


def modernbert_layer(layer, heads: int) -> Plain:
    dim = layer.attn.Wo.weight.shape[0]
    units = layer.mlp.Wo.weight.shape[1]
    w_i, b_i = array(layer.mlp.Wi.weight).T, array(layer.mlp.Wi.bias, 2 * units)
    return Plain(
        heads, None if isinstance(layer.attn_norm, torch.nn.Identity) else ln_of(layer.attn_norm),
        array(layer.attn.Wqkv.weight).T[:, 2 * dim :], array(layer.attn.Wqkv.bias, 3 * dim)[2 * dim :],
        array(layer.attn.Wo.weight).T, array(layer.attn.Wo.bias, dim), ln_of(layer.mlp_norm),
        [(w_i[:, :units], b_i[:units]), (w_i[:, units:], b_i[units:])], layer.mlp.act,
        array(layer.mlp.Wo.weight).T, array(layer.mlp.Wo.bias, dim), None, pre=True,
    )  # fmt: skip


def full_norm(y: Array, ln: tuple[Array, Array, float]) -> Array:
    gamma, beta, eps = ln
    return (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + eps) * gamma + beta


def split_norm(parts: Array, whole: Array, ln: tuple[Array, Array, float]) -> Array:
    """The layer norm of ``whole`` (query, dim) shared out over its parts (query, key, dim), without beta."""
    gamma, _, eps = ln
    deviation = np.sqrt(whole.var(-1) + eps)
    return (parts - parts.mean(-1, keepdims=True)) * gamma / deviation[:, None, None]


def path_slopes(activation, starts: list[Array], ends: list[Array]) -> list[Array]:
    """Integrated gradients along the straight path, by 64 Gauss-Legendre nodes and autograd.

    The path is cut where the first part crosses 0, so that a kink there does not spoil the quadrature.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    start, end = (torch.tensor(np.stack(side)) for side in (starts, ends))
    crossing = torch.where(start[0] * end[0] < 0, start[0] / (start[0] - end[0]), torch.ones_like(start[0]))
    total = torch.zeros_like(start)
    node, weight = (torch.tensor(values / 2).reshape(-1, 1, 1) for values in (nodes + 1, weights))
    for low, length in ((torch.zeros_like(crossing), crossing), (crossing, 1 - crossing)):
        # Shape (parts, nodes, tokens, units).
        at = (start[:, None] + (low + node * length) * (end - start)[:, None]).requires_grad_()
        out = activation(at[0]) * (at[1] if len(at) == 2 else 1)
        (gradient,) = torch.autograd.grad(out.sum(), at)
        total += (weight * length * gradient).sum(1)
    return list(total.numpy())


class Naive:
    """All vectors of one layer for one sentence: x (n, dim), alpha (heads, n, n)."""

    def __init__(self, plain: Plain, x: Array, alpha: Array, ff_bias: str = "input") -> None:
        n = len(x)
        self.plain, self.x, self.alpha = plain, x, alpha
        v = (full_norm(x, plain.before) if plain.before else x) @ plain.w_v + plain.b_v
        size = v.shape[1] // plain.heads
        heads = [slice(h * size, (h + 1) * size) for h in range(plain.heads)]
        self.f = np.stack([v[:, h] @ plain.w_o[h] for h in heads])  # (heads, key, dim)
        self.af = alpha[..., None] * self.f[:, None]  # (heads, query, key, dim)
        self.y = self.af.sum(0)
        residual = np.eye(n)[..., None] * x[:, None]
        self.r = self.y + residual
        self.p = self.r.sum(1) + plain.b_o
        self.t = split_norm(self.r, self.p, plain.ln)
        self.a = full_norm(self.p, plain.ln)
        u = [self.a @ w + b for w, b in plain.ff]
        start = [np.zeros_like(value) for value in u]
        if ff_bias == "fixed":
            start = [zeros + b for zeros, (_, b) in zip(start, plain.ff, strict=True)]
        slopes = path_slopes(plain.activation, start, u)
        self.z = sum(slope[:, None] * (self.t @ w) for slope, (w, _) in zip(slopes, plain.ff, strict=True)) @ plain.w_2
        self.w = self.z + (self.r if plain.pre else self.t)
        self.q = self.feed_forward(self.a) + (self.p if plain.pre else self.a)
        self.o = self.w if plain.after is None else split_norm(self.w, self.q, plain.after)
        self.output = self.q if plain.after is None else full_norm(self.q, plain.after)

    def feed_forward(self, a: Array) -> Array:
        u = [torch.tensor(a @ w + b) for w, b in self.plain.ff]
        hidden = self.plain.activation(u[0]) * (u[1] if len(u) == 2 else 1)
        return hidden.numpy() @ self.plain.w_2 + self.plain.b_2

    def vectors(self, kind: str) -> Array:
        """(query, key, dim), or (heads, query, key, dim) for ``norm``."""
        if kind == "globenc":
            assert self.plain.after is not None
            return split_norm(self.t, self.q, self.plain.after)
        names = {"norm": "af", "attn": "y", "attnres": "r", "attnresln": "t"}
        return getattr(self, names.get(kind) or {"atbff": "z", "atbffres": "w", "atbffresln": "o"}[kind])

    def value_zeroing(self) -> Array:
        """Cosine distances, rows divided by their sums."""
        distances = np.zeros_like(self.alpha[0])
        for key in range(len(self.x)):
            p = self.p - self.y[:, key]
            a = full_norm(p, self.plain.ln)
            q = self.feed_forward(a) + (p if self.plain.pre else a)
            output = q if self.plain.after is None else full_norm(q, self.plain.after)
            cosine = (output * self.output).sum(-1) / np.linalg.norm(output, axis=-1)
            distances[:, key] = 1 - cosine / np.linalg.norm(self.output, axis=-1)
        return distances / distances.sum(-1, keepdims=True)

    def alti(self, order: int, positions: list[int] | None = None) -> Array:
        """Pieces merged as vectors if positions are given."""
        parts, target = (self.r, self.p) if self.plain.pre else (self.t, self.a)
        if positions is not None:
            parts, target = merge_vectors(parts, positions), merge_rows(target, positions)
        off = np.linalg.norm(parts - target[:, None], ord=order, axis=-1)
        closer = np.maximum(0, np.linalg.norm(target, ord=order, axis=-1)[:, None] - off)
        return closer / closer.sum(-1, keepdims=True)


READERS = {
    "bert": (bert_layer, lambda model: model.encoder.layer),
    "gpt2": (gpt2_layer, lambda model: model.h),
    "modernbert": (modernbert_layer, lambda model: model.layers),
}


def naive_layers(encoder: Encoder, sentence: Sentence, ff_bias: str = "input") -> tuple[Pieces, list[Naive]]:
    """All layers, from a forward pass of the sentence alone in float64."""
    reader, layers = READERS[encoder.family]
    twin = encoder.double
    (pieces,) = twin.align([sentence])
    assert isinstance(pieces, Pieces)
    with torch.inference_mode(), InFloat64(twin.model):  # some families compute softmax in float32 otherwise
        out = twin.model(torch.tensor([pieces.ids]), output_attentions=True, output_hidden_states=True)
    return pieces, [
        Naive(reader(layers(twin.model)[i], twin.n_heads), out.hidden_states[i][0].numpy(), alpha[0].numpy(), ff_bias)
        for i, alpha in enumerate(out.attentions)
    ]


def merge_vectors(vectors: Array, positions: list[int]) -> Array:
    """Sum over the pieces of a key, mean over those of a query; axes (..., query, key, dim)."""
    groups = [[i for i, at in enumerate(positions) if at == k] for k in range(max(positions) + 1)]
    columns = np.stack([vectors[..., g, :].sum(-2) for g in groups], axis=-2)
    return np.stack([columns[..., g, :, :].mean(-3) for g in groups], axis=-3)


def merge_maps(maps: Array, positions: list[int]) -> Array:
    return merge_vectors(maps[..., None], positions)[..., 0]


def merge_rows(rows: Array, positions: list[int]) -> Array:
    """Mean over the pieces of each position; axes (query, dim)."""
    return np.stack([rows[np.array(positions) == k].mean(0) for k in range(max(positions) + 1)])
