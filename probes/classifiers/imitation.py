"""The loss of an adversary: a model that gives the same output as another and attends as differently as it can.

Wiegreffe & Pinter (2019, §4): the loss of a text is TVD(p, p_base) − λ · divergence(α, α_base). With λ = 0 it is plain
imitation, to which all others are compared. (The published loss is also multiplied by the sum of the class weights of
the batch. This factor is the same for all texts of a batch, so it hardly affects training with Adam. It is left out
here.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from ...extractors.replaceable.attention_model import TextState
from ...storage.nearest import check_choice

Divergence = Literal["kl", "jsd"]
"""How the attention of two models is compared: by Kullback-Leibler or by Jensen-Shannon divergence."""

LAMBDAS = (0.0, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2)
"""The weights λ. The paper uses about 5e-4. They are small because the Kullback-Leibler divergence has no bound."""

_TINY = 1e-10


class Imitation:
    """The loss of an adversary.

    Args:
        probabilities: the output of the base model for each training text.
        attention: the attention of the base model to each training text, shape (rows, words).
        strength: the weight λ.
        divergence: ``kl``: KL(α ‖ α_base), as published; ``jsd``: the Jensen-Shannon divergence, which is bounded.
    """

    def __init__(
        self,
        probabilities: Float[ndarray, "texts classes"],
        attention: Sequence[Float[ndarray, "_ _"]],
        strength: float,
        divergence: Divergence = "kl",
    ) -> None:
        check_choice("divergence", divergence, Divergence)
        if not strength >= 0:
            raise ValueError(f"λ must be at least 0, not {strength}")
        self.probabilities = torch.from_numpy(probabilities).float()
        self.attention = [torch.from_numpy(alpha) for alpha in attention]
        self.strength, self.divergence = strength, divergence

    def __call__(
        self,
        indices: Sequence[int],
        state: TextState,
        alpha: Float[Tensor, "batch rows n"],
        logits: Float[Tensor, "batch classes"],
    ) -> Float[Tensor, ""]:
        """See `Objective`."""
        output_tvd = (logits.softmax(-1) - self.probabilities[list(indices)].to(logits)).abs().sum() / 2
        # Attention to a text was kept without padding, which differs from batch to batch.
        base_alpha = torch.zeros_like(alpha)
        for position, index in enumerate(indices):
            original = self.attention[index]
            base_alpha[position, :, : original.shape[1]] = original
        mask = state.mask[:, None]  # (batch, 1, n)
        if self.divergence == "jsd":
            middle = (alpha + base_alpha) / 2
            divergence = (_kl(alpha, middle, mask) + _kl(base_alpha, middle, mask)) / 2
        else:
            divergence = _kl(alpha, base_alpha, mask)
        return output_tvd - self.strength * divergence.mean(1).sum()


def _kl(
    p: Float[Tensor, "batch rows n"], q: Float[Tensor, "batch rows n"], mask: Bool[Tensor, "batch 1 n"]
) -> Float[Tensor, "batch rows"]:
    """Compute KL(p ‖ q). Weights below 1e-10 count as 1e-10. Padding is left out, because 0 · log 0 would be NaN."""
    ratio = p.clamp(min=_TINY).log() - q.clamp(min=_TINY).log()
    return (p * ratio).masked_fill(~mask, 0.0).sum(-1)
