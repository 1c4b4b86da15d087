"""What every map must pass: rows that are distributions over their sentence."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attentionology.extractors.errors import ModelError
from attentionology.extractors.model.encoder import Encoder
from attentionology.extractors.model.forward_pass import Forward

ROW_SUM_TOLERANCE = 1e-4
"""How far from 1 the sum of a row of attention may be."""


def check_attention(forward: Forward, encoder: Encoder) -> None:
    """What every piece pays to the pieces of its sentence must sum to 1, in every layer and head.

    Raises:
        ModelError: it does not.
    """
    inside = forward.mask.to(forward.attentions[0].dtype)[:, None, :, None]
    off = [(torch.matmul(alpha, inside).squeeze(-1) - 1).abs().amax(1) for alpha in forward.attentions]
    off_by_row = torch.stack(off).amax(0)
    check_row_sums(off_by_row[forward.mask].max(), "attention", encoder, lambda: mass_on_padding(forward))


def mass_on_padding(forward: Forward) -> float:
    """The most attention that a piece pays to padding, in any layer and head."""
    onto_padding = forward.mask[:, None, :, None] & ~forward.mask[:, None, None, :]
    return max(float((alpha * onto_padding).sum(-1).max()) for alpha in forward.attentions)


def check_row_sums(off: Float[Tensor, ""], what: str, encoder: Encoder, mass: Callable[[], float]) -> None:
    """Every row inside a sentence is a distribution over that sentence, or nothing computed from it counts.

    Args:
        off: how far from 1 the sum of a row is at most.
        what: whose rows, for the message.
        encoder: the model.
        mass: gives the most attention on padding; called only where something is wrong.

    Raises:
        ModelError: a row is no distribution.
    """
    if float(off) <= ROW_SUM_TOLERANCE:
        return
    on_padding = mass()
    why = (
        f"up to {on_padding:.2g} of a row's attention falls on padding, so the attention mask is not respected"
        if on_padding > ROW_SUM_TOLERANCE
        else f"rows of {what} sum to 1 only within {float(off):.2g}"
    )
    raise ModelError(f"{encoder.name or encoder.family}: {why}; maps of this model cannot be trusted")
