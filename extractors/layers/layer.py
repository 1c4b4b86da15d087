"""One layer of one forward pass: attention, and all that follows from the layer's input and weights."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentionology.extractors.errors import ModelError
from attentionology.extractors.layers.activations import FFBias, activation_slopes
from attentionology.extractors.layers.weights import LayerWeights
from attentionology.extractors.tokens.word_merging import WordMerger


class Layer:
    """What a map kind sees: the attention of a layer in a padded batch, and its other quantities when asked for.

    Everything but ``alpha`` is recomputed from the layer's input and its weights, in the notation of Kobayashi et
    al. (2021): value vectors v, ``p = Σ α v W_O + b_O + x``, ``a = LN(p)``, pre-activations u,
    ``q = FF(a) + a`` (pre-LN: ``+ p``), output ``LN(q)`` (pre-LN: q). Rows and columns of padding hold garbage.

    Attributes:
        alpha: attention weights, shape (batch, heads, n, n), [query i, key j].
        mask: True where there is a piece; shape (batch, n).
        groups: which pieces to merge as vectors before norms are taken; None to keep pieces apart.
        ff_bias: where the path of the feed-forward block's integrated gradient starts, see `activation_slopes`.
    """

    def __init__(
        self,
        alpha: Float[Tensor, "batch heads n n"],
        mask: Bool[Tensor, "batch n"],
        *,
        weights: LayerWeights | None = None,
        x: Float[Tensor, "batch n dim"] | None = None,
        groups: WordMerger | None = None,
        ff_bias: FFBias = "input",
    ) -> None:
        self.alpha, self.mask, self.groups = alpha, mask, groups
        self.ff_bias: FFBias = ff_bias
        self._weights, self._x = weights, x

    @property
    def weights(self) -> LayerWeights:
        """The layer's weights.

        Raises:
            ModelError: the forward pass was asked for attention only.
        """
        if self._weights is None:
            raise ModelError("a map kind that reads weights must be registered with reads_weights=True")
        return self._weights

    @property
    def x(self) -> Float[Tensor, "batch n dim"]:
        """The layer's input."""
        if self._x is None:
            raise ModelError("a map kind that reads hidden states must be registered with reads_weights=True")
        return self._x

    @functools.cached_property
    def v(self) -> Float[Tensor, "batch n heads inner"]:
        """Value vectors, bias included."""
        return self.weights.values(self.x).view(*self.x.shape[:2], self.weights.n_heads, -1)

    @functools.cached_property
    def context(self) -> Float[Tensor, "batch n heads inner"]:
        """``Σ_j α_ij v_j`` per head."""
        return torch.matmul(self.alpha, self.v.transpose(1, 2)).transpose(1, 2)

    @functools.cached_property
    def p(self) -> Float[Tensor, "batch n dim"]:
        """Attention output plus bias plus residual."""
        return self.weights.attended(self.context.flatten(-2), self.x)

    @functools.cached_property
    def scale(self) -> Float[Tensor, "batch n 1"]:
        """``1 / s_i`` of the layer norm of p."""
        return 1 / self.weights.norm.deviation(self.p)

    @functools.cached_property
    def a(self) -> Float[Tensor, "batch n dim"]:
        """p after its layer norm: post-LN the output of the attention block, pre-LN the input of the FF block."""
        return self.weights.norm(self.p)

    @functools.cached_property
    def u(self) -> tuple[Float[Tensor, "batch n units"], ...]:
        """Pre-activations of the feed-forward block."""
        return self.weights.preactivations(self.a)

    @functools.cached_property
    def q(self) -> Float[Tensor, "batch n dim"]:
        """Feed-forward output plus its residual."""
        return self.weights.finish(self.p, self.a, self.u)

    @functools.cached_property
    def scale_out(self) -> Float[Tensor, "batch n 1"]:
        """``1 / s_i`` of the layer norm of q.

        Raises:
            ModelError: pre-LN, where there is none.
        """
        return 1 / self.weights.last_norm.deviation(self.q)

    @functools.cached_property
    def output(self) -> Float[Tensor, "batch n dim"]:
        """The layer's output."""
        return self.weights.norm_out(self.q) if self.weights.norm_out else self.q

    @functools.cached_property
    def slopes(self) -> list[Float[Tensor, "batch n units"]]:
        """Mean slopes θ of the activation, one tensor per part of the pre-activation."""
        biases = tuple(bias for _, bias in self.weights.ff_in)
        return activation_slopes(self.weights.activation, self.u, biases, self.ff_bias)

    def coefficients(self, scale: Float[Tensor, "batch n 1"] | None) -> Float[Tensor, "batch heads rows n"]:
        """What value vectors are multiplied by: α, times ``scale`` of its row, rows merged if pieces are."""
        scaled = self.alpha if scale is None else self.alpha * scale.unsqueeze(1)
        return scaled if self.groups is None else torch.matmul(self.groups.from_, scaled)

    def merge_rows(self, vectors: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch rows dim"]:
        """Mean over the pieces of each position, if pieces are merged."""
        return vectors if self.groups is None else torch.matmul(self.groups.from_.squeeze(1), vectors)

    def own_context(self, scale: Float[Tensor, "batch n 1"] | None = None) -> Float[Tensor, "batch rows inner"]:
        """What each position gets from itself, before W_O: ``α_ii v_i``, all heads side by side."""
        if self.groups is None:
            own = self.v * self.alpha.diagonal(dim1=-2, dim2=-1).transpose(1, 2).unsqueeze(-1)
            return own.flatten(-2) if scale is None else own.flatten(-2) * scale
        inside = self.coefficients(scale) * self.groups.to.transpose(1, 2).unsqueeze(1)
        return torch.matmul(inside, self.v.transpose(1, 2)).transpose(1, 2).flatten(-2)

    def own(self, scale: Float[Tensor, "batch n 1"] | None = None) -> Float[Tensor, "batch rows dim"]:
        """What each position gets from itself, residual included: ``(y_ii + x_i) · scale``."""
        residual = self.x if scale is None else self.x * scale
        return self.own_context(scale) @ self.weights.w_o + self.merge_rows(residual)

    def new_map(self) -> Float[Tensor, "batch 1 rows rows"]:
        """A map of zeros, to be filled; as many rows as positions if pieces are merged, else as pieces."""
        rows = self.mask.shape[1] if self.groups is None else self.groups.k
        return self.alpha.new_zeros(len(self.mask), 1, rows, rows)

    def sentences(self) -> Iterator[Layer]:
        """The sentences of the batch one by one, without padding."""
        for b, n in enumerate(self.mask.sum(1).tolist()):
            yield Layer(
                self.alpha[b : b + 1, :, :n, :n],
                self.mask[b : b + 1, :n],
                weights=self._weights,
                x=None if self._x is None else self._x[b : b + 1, :n],
                groups=self.groups and self.groups.sentences[b],
                ff_bias=self.ff_bias,
            )
