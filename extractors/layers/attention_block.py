"""The attention of one block in one forward pass, and the values that it takes."""

from __future__ import annotations

import functools

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..errors import ModelError
from ..tokens.word_merging import WordMerger
from .attention_weights import AttentionWeights


class AttentionBlock:
    """The attention weights of a padded batch, and the value vectors when asked for.

    Queries and keys are the same positions in self-attention (see `attentionology.extractors.layers.layer`). In
    cross-attention, queries are positions of the decoder, and keys are the pieces that the encoder read. Value vectors
    are recomputed from the keys' vectors and the weights. Rows and columns of padding are meaningless.

    Attributes:
        alpha: attention weights, shape (batch, heads, queries, keys), [query i, key j].
        mask: True where there is a key; shape (batch, keys).
        groups: which pieces to merge as vectors before norms are taken; None to keep pieces apart.

    Example:
        >>> import torch
        >>> from attentionology.extractors.layers.attention_block import AttentionBlock
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
        self._attention_weights, self._x = weights, x

    @property
    def weights(self) -> AttentionWeights:
        """The weights of the block.

        Raises:
            ModelError: the forward pass gave attention only.
        """
        if self._attention_weights is None:
            raise ModelError("a map kind that reads weights must be registered with reads_weights=True")
        return self._attention_weights

    @property
    def x(self) -> Float[Tensor, "batch keys dim"]:
        """The vectors of the keys: the layer's input, or in cross-attention the output of the encoder.

        Raises:
            ModelError: the forward pass gave attention only.
        """
        if self._x is None:
            raise ModelError("a map kind that reads hidden states must be registered with reads_weights=True")
        return self._x

    @functools.cached_property
    def v(self) -> Float[Tensor, "batch keys heads inner"]:
        """The value vectors, bias included."""
        return self.weights.values(self.x).view(*self.x.shape[:2], self.weights.n_heads, -1)

    @functools.cached_property
    def context(self) -> Float[Tensor, "batch queries heads inner"]:
        """``Σ_j α_ij v_j`` of every head."""
        return torch.matmul(self.alpha, self.v.transpose(1, 2)).transpose(1, 2)

    def grouped(self, groups: WordMerger) -> AttentionBlock:
        """A copy whose pieces are merged as vectors."""
        return AttentionBlock(self.alpha, self.mask, weights=self._attention_weights, x=self._x, groups=groups)

    def coefficients(self, scale: Float[Tensor, "batch queries 1"] | None) -> Float[Tensor, "batch heads rows keys"]:
        """The factors of the value vectors: α times the ``scale`` of its row, with rows merged if pieces are merged."""
        scaled = self.alpha if scale is None else self.alpha * scale.unsqueeze(1)
        return scaled if self.groups is None else torch.matmul(self.groups.from_, scaled)
