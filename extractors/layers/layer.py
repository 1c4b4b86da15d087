"""The attention of one block in one forward pass, and all that can be recomputed from its input and weights."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..errors import ModelError
from ..tokens.word_merging import WordMerger
from .activations import FFBias, activation_slopes
from .attention_weights import AttentionWeights
from .weights import LayerWeights


class AttentionBlock:
    """The attention weights of a padded batch, and the value vectors when asked for.

    Queries and keys are the same positions in self-attention (see `Layer`). In cross-attention, queries are positions
    of the decoder, and keys are the pieces that the encoder read. Value vectors are recomputed from the keys' vectors
    and the weights. Rows and columns of padding are meaningless.

    Attributes:
        alpha: attention weights, shape (batch, heads, queries, keys), [query i, key j].
        mask: True where there is a key; shape (batch, keys).
        groups: which pieces to merge as vectors before norms are taken; None to keep pieces apart.

    Example:
        >>> import torch
        >>> from attentionology.extractors.layers import AttentionBlock
        >>> block = AttentionBlock(torch.full((1, 2, 3, 4), 0.25), torch.ones(1, 4, dtype=torch.bool))
        >>> block.coefficients(None).shape
        torch.Size([1, 2, 3, 4])
    """

    def __init__(
        self,
        alpha: Float[Tensor, "batch heads queries keys"],
        mask: Bool[Tensor, "batch keys"],
        *,
        weights: AttentionWeights | None = None,
        x: Float[Tensor, "batch keys dim"] | None = None,
        groups: WordMerger | None = None,
    ) -> None:
        self.alpha, self.mask, self.groups = alpha, mask, groups
        self._weights, self._x = weights, x

    @property
    def weights(self) -> AttentionWeights:
        """The weights of the block, or a `ModelError` if the forward pass gave attention only."""
        if self._weights is None:
            raise ModelError("a map kind that reads weights must be registered with reads_weights=True")
        return self._weights

    @property
    def x(self) -> Float[Tensor, "batch keys dim"]:
        """The vectors of the keys: the layer's input, or in cross-attention the output of the encoder."""
        if self._x is None:
            raise ModelError("a map kind that reads hidden states must be registered with reads_weights=True")
        return self._x

    @functools.cached_property
    def v(self) -> Float[Tensor, "batch keys heads inner"]:
        """The value vectors, bias included."""
        return self.weights.values(self.x).view(*self.x.shape[:2], self.weights.n_heads, -1)

    @property
    def factors(self) -> Float[Tensor, "batch heads queries keys"]:
        """The factors with which value vectors, after `AttentionWeights.moving`, are added to the residual stream."""
        return self.alpha

    @functools.cached_property
    def context(self) -> Float[Tensor, "batch queries heads inner"]:
        """``Σ_j α_ij v_j`` of every head."""
        return torch.matmul(self.alpha, self.v.transpose(1, 2)).transpose(1, 2)

    def grouped(self, groups: WordMerger) -> AttentionBlock:
        """A copy whose pieces are merged as vectors."""
        return AttentionBlock(self.alpha, self.mask, weights=self._weights, x=self._x, groups=groups)

    def coefficients(self, scale: Float[Tensor, "batch queries 1"] | None) -> Float[Tensor, "batch heads rows keys"]:
        """The factors of the value vectors: α times the ``scale`` of its row, with rows merged if pieces are merged."""
        scaled = self.factors if scale is None else self.factors * scale.unsqueeze(1)
        return scaled if self.groups is None else torch.matmul(self.groups.mean_matrix, scaled)


class Layer(AttentionBlock):
    """What a map kind sees: the attention of a layer in a padded batch, and its other quantities when asked for.

    Everything but ``alpha`` is recomputed from the layer's input and its weights, in the notation of Kobayashi et
    al. (2021): value vectors v, ``p = Σ α v W_O + b_O + x``, ``a = LN(p)``, pre-activations u,
    ``q = FF(a) + a`` (pre-LN: ``+ p``), output ``LN(q)`` (pre-LN: q). Transformers returns attention weights and hidden
    states but none of these, and recomputing them from the weights works for every architecture with a row of names. A
    quantity is computed when it is first read and then kept as long as the layer, so kinds that share a layer share the
    work. Rows and columns of padding are meaningless.

    Attributes:
        alpha: attention weights, shape (batch, heads, n, n), [query i, key j].
        mask: True where there is a piece; shape (batch, n).
        groups: which pieces to merge as vectors before norms are taken; None to keep pieces apart.
        ff_bias: where the path of the feed-forward block's integrated gradient starts, see `activation_slopes`.

    Example:
        >>> import torch
        >>> from attentionology import Sentence, load_encoder
        >>> encoder = load_encoder("demo")
        >>> pieces = encoder.align([Sentence.from_text("A dog barks.")])
        >>> forward = encoder.forward(pieces, hidden_states=True)
        >>> layer = next(forward.layers())
        >>> layer.alpha.shape, layer.v.shape
        (torch.Size([1, 12, 7, 7]), torch.Size([1, 7, 12, 32]))
        >>> torch.allclose(layer.output, forward.hidden_states[1], atol=1e-5)
        True
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
        gradient: Float[Tensor, "batch heads n n"] | None = None,
    ) -> None:
        super().__init__(alpha, mask, weights=weights, x=x, groups=groups)
        self.ff_bias: FFBias = ff_bias
        self._gradient = gradient

    @property
    def gradient(self) -> Float[Tensor, "batch heads n n"]:
        """``∂L/∂α``, where L is the loss of each text that the kind is registered with; 0 where no attention goes.

        The weight of one head and layer changes and all later layers change with it. A `ModelError` is raised if the
        kind was not registered with a loss.
        """
        if self._gradient is None:
            raise ModelError("a map kind that reads gradients must be registered with gradient_of=, the loss of a text")
        return self._gradient

    @property
    def weights(self) -> LayerWeights:
        """The layer's weights, or a `ModelError` if the forward pass gave attention only."""
        return cast(LayerWeights, super().weights)

    @functools.cached_property
    def scale_attention(self) -> Float[Tensor, "batch n 1"] | None:
        """``1 / s_i`` of the norm of what attention adds; None where there is none."""
        norm = self.weights.norm_attention
        return None if norm is None else 1 / norm.deviation(self.weights.attention_output(self.context.flatten(-2)))

    @functools.cached_property
    def factors(self) -> Float[Tensor, "batch heads n n"]:
        """α, times ``1 / s_i`` of the norm of what attention adds, if there is one."""
        return self.alpha if self.scale_attention is None else self.alpha * self.scale_attention.unsqueeze(1)

    @property
    def moved_context(self) -> Float[Tensor, "batch n inner"]:
        """``Σ_j factors_ij v_j`` of all heads, side by side."""
        context = self.context.flatten(-2)
        return context if self.scale_attention is None else context * self.scale_attention

    @functools.cached_property
    def scale_ff(self) -> Float[Tensor, "batch n 1"] | None:
        """``1 / s_i`` of the norm of what the feed-forward block adds; None where there is none."""
        norm = self.weights.norm_ff
        return None if norm is None else 1 / norm.deviation(self.weights.ff_output(self.u))

    @functools.cached_property
    def p(self) -> Float[Tensor, "batch n dim"]:
        """The output of attention, plus its bias and the residual."""
        return self.weights.attended(self.context.flatten(-2), self.x)

    @functools.cached_property
    def scale(self) -> Float[Tensor, "batch n 1"]:
        """``1 / s_i`` of the layer norm of p; 1 where no norm follows attention."""
        norm = None if self.weights.parallel else self.weights.norm
        # Where none follows, the sum p need not be computed.
        return self.x.new_ones(*self.x.shape[:-1], 1) if norm is None else 1 / norm.deviation(self.p)

    @functools.cached_property
    def a(self) -> Float[Tensor, "batch n dim"]:
        """p after its layer norm: the output of the attention block (post-LN) or the input of the next (pre-LN)."""
        return self.weights.read_by_ff(self.p, self.x)

    @functools.cached_property
    def u(self) -> tuple[Float[Tensor, "batch n units"], ...]:
        """The pre-activations of the feed-forward block: u, or (u, w) of a gated block."""
        return self.weights.preactivations(self.a)

    @functools.cached_property
    def q(self) -> Float[Tensor, "batch n dim"]:
        """The output of the feed-forward block plus its residual."""
        return self.weights.finish(self.p, self.a, self.u)

    @functools.cached_property
    def scale_out(self) -> Float[Tensor, "batch n 1"]:
        """``1 / s_i`` of the layer norm of q, or a `ModelError` in pre-LN models, which have none."""
        return 1 / self.weights.last_norm.deviation(self.q)

    @functools.cached_property
    def output(self) -> Float[Tensor, "batch n dim"]:
        """The layer's output."""
        return self.weights.norm_out(self.q) if self.weights.norm_out else self.q

    @functools.cached_property
    def slopes(self) -> list[Float[Tensor, "batch n units"]]:
        """The mean slopes θ of the activation, one tensor per part of the pre-activation."""
        biases = tuple(bias for _, bias in self.weights.ff_in)
        return activation_slopes(self.weights.activation, self.u, biases, self.ff_bias)

    @functools.cached_property
    def ff_from_itself(self) -> Float[Tensor, "batch n dim"]:
        """What the feed-forward block of a parallel layer adds, without biases: all of it comes from the position."""
        norm = self.weights.norm
        read = self.x if norm is None else norm.linear(self.x) / norm.deviation(self.x)
        units = [slope * (read @ w) for slope, (w, _) in zip(self.slopes, self.weights.ff_in, strict=True)]
        return self.scaled_ff(self.weights.out_of_units(units))

    def scaled_ff(self, added: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch n dim"]:
        """Divide by the deviation of the norm of what the feed-forward block adds, if there is one."""
        return added if self.scale_ff is None else added * self.scale_ff

    def merge_rows(self, vectors: Float[Tensor, "batch n dim"]) -> Float[Tensor, "batch rows dim"]:
        """Average over the pieces of each position, if pieces are merged."""
        return vectors if self.groups is None else torch.matmul(self.groups.mean_matrix.squeeze(1), vectors)

    def context_from_itself(self, scale: Float[Tensor, "batch n 1"] | None = None) -> Float[Tensor, "batch rows inner"]:
        """What each position gets from itself, before W_O: α_ii, as in `factors`, times v_i, all heads side by side."""
        if self.groups is None:
            context = self.v * self.factors.diagonal(dim1=-2, dim2=-1).transpose(1, 2).unsqueeze(-1)
            return context.flatten(-2) if scale is None else context.flatten(-2) * scale
        inside = self.coefficients(scale) * self.groups.sum_matrix.transpose(1, 2).unsqueeze(1)
        return torch.matmul(inside, self.v.transpose(1, 2)).transpose(1, 2).flatten(-2)

    def from_itself(self, scale: Float[Tensor, "batch n 1"] | None = None) -> Float[Tensor, "batch rows dim"]:
        """What each position gets from itself, residual included: ``(y_ii + x_i) · scale``."""
        residual = self.x if scale is None else self.x * scale
        return self.context_from_itself(scale) @ self.weights.moving + self.merge_rows(residual)

    def new_map(self) -> Float[Tensor, "batch 1 rows rows"]:
        """Make a map of zeros with one row for each position if pieces are merged, and for each piece otherwise."""
        rows = self.mask.shape[1] if self.groups is None else self.groups.k
        return self.alpha.new_zeros(len(self.mask), 1, rows, rows)

    def sentences(self) -> Iterator[Layer]:
        """Yield the sentences of the batch one by one, each as a layer without padding."""
        for b, n in enumerate(self.mask.sum(1).tolist()):
            yield self.cut(slice(b, b + 1), n)

    def cut(self, sentences: slice, n: int) -> Layer:
        """Return the layer of some sentences, cut to ``n`` pieces; of one sentence if pieces are merged."""
        return Layer(
            self.alpha[sentences, :, :n, :n],
            self.mask[sentences, :n],
            weights=self.weights,
            x=self.x[sentences, :n],
            groups=self.groups and self.groups.sentences[sentences.start],
            ff_bias=self.ff_bias,
            gradient=None if self._gradient is None else self._gradient[sentences, :, :n, :n],
        )
