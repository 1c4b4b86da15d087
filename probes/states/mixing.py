"""A learned weighted mean of the hidden states of all layers (Peters et al. 2018; Tenney et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn


class LayerMix(nn.Module):
    """γ Σ_l softmax(s)_l h_l over the layers l, with s and γ learned together with a probe.

    Layers are not normalized, so that those with long states weigh more than softmax(s) tells. The place of information
    cannot be read from s alone.

    Args:
        layers: the layers that are mixed.

    Attributes:
        layers: the same.
        s: starts at 0, so that all layers have the same weight.
        gamma: the factor γ, which starts at 1.
        norms: the mean length of a state of each layer over the training words.

    Example:
        >>> import torch
        >>> from attentionology.probes import LayerMix
        >>> mix = LayerMix((0, 1))
        >>> mix(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]])).tolist()  # one word, two layers, two dimensions
        [[2.0, 4.0]]
        >>> mix.softmax.tolist()
        [0.5, 0.5]
    """

    norms: Tensor

    def __init__(self, layers: Sequence[int]) -> None:
        super().__init__()
        self.layers = tuple(layers)
        self.s = nn.Parameter(torch.zeros(len(self.layers)))
        self.gamma = nn.Parameter(torch.ones(()))
        self.register_buffer("norms", torch.zeros(len(self.layers)))

    def forward(self, states: Float[Tensor, "*words layers dim"]) -> Float[Tensor, "*words dim"]:
        """Return the mixed states."""
        weights = self.gamma * self.s.softmax(0)
        return (weights[:, None] * states).sum(-2)

    @property
    def softmax(self) -> Float[ndarray, " layers"]:
        """The weight of each layer; they sum to 1."""
        return np.asarray(self.s.detach().double().softmax(0))

    @property
    def norm_weighted(self) -> Float[ndarray, " layers"]:
        """The share of each layer in softmax(s)_l · mean‖h_l‖; they sum to 1 unless all states are 0."""
        weighted = self.softmax * np.asarray(self.norms.double())
        total = float(weighted.sum())
        return np.asarray(weighted / total if total else weighted)
