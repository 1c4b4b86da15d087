"""The checks that every map must pass: its rows are distributions over their sentence.

They are made in every batch, because attention can be wrong in ways that no shape shows. An attention function that was
registered with transformers without a mask function of the same name is given no mask, and every piece then attends to
padding; the rows still sum to 1 over the padded length, but not over the sentence.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from ..errors import ModelError
from ..model.encoder import Encoder
from ..model.forward_pass import Forward

ROW_SUM_TOLERANCE = 1e-4
"""How far from 1 the sum of a row of attention may be."""


def check_attention(forward: Forward, encoder: Encoder) -> None:
    """Raise `ModelError` unless the attention of every piece to its sentence sums to 1, in every layer and head."""
    inside = forward.mask.to(forward.attentions[0].dtype)[:, None, :, None]
    errors = [(torch.matmul(alpha, inside).squeeze(-1) - 1).abs().amax(1) for alpha in forward.attentions]
    error_by_row = torch.stack(errors).amax(0)
    check_row_sums(error_by_row[forward.mask].max(), "attention", encoder, lambda: mass_on_padding(forward))


def mass_on_padding(forward: Forward) -> float:
    """Compute the largest attention of a piece to padding, over all layers and heads."""
    onto_padding = forward.mask[:, None, :, None] & ~forward.mask[:, None, None, :]
    return max(float((alpha * onto_padding).sum(-1).max()) for alpha in forward.attentions)


def check_row_sums(error: Float[Tensor, ""], rows_of: str, encoder: Encoder, mass: Callable[[], float]) -> None:
    """Raise `ModelError` if the sum of a row is too far from 1; only then is the mass on padding computed."""
    if float(error) <= ROW_SUM_TOLERANCE:
        return
    on_padding = mass()
    reason = (
        f"up to {on_padding:.2g} of a row's attention falls on padding, so the attention mask is not respected"
        if on_padding > ROW_SUM_TOLERANCE
        else f"rows of {rows_of} sum to 1 only within {float(error):.2g}"
    )
    raise ModelError(f"{encoder.name or encoder.family}: {reason}; maps of this model cannot be trusted")
