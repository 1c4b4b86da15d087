"""The checks that every map must pass: its rows are distributions over their sentence.

They are made in every batch, because attention can be wrong in ways that no shape shows. An attention function that was
registered with transformers without a mask function of the same name is given no mask, and every piece then attends to
padding; the rows still sum to 1 over the padded length, but not over the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..errors import ModelError

ROW_SUM_TOLERANCE = 1e-4
"""How far from 1 the sum of a row of attention may be."""


def check_attention(
    attentions: Sequence[Float[Tensor, "batch heads queries keys"]],
    queries: Bool[Tensor, "batch queries"],
    keys: Bool[Tensor, "batch keys"],
    label: str,
    rows_of: str = "attention",
    *,
    sinks: bool = False,
) -> None:
    """Raise `ModelError` unless the attention of every query to the keys sums to 1, in every layer and head.

    The masks are True where there is a piece, and False on padding. If heads have learned ``sinks`` (gpt-oss), which
    take a share of the attention and are no position, rows may sum to less.
    """
    inside = keys.to(attentions[0].dtype)[:, None, :, None]
    errors = [off_one(torch.matmul(alpha, inside).squeeze(-1), sinks=sinks).amax(1) for alpha in attentions]
    error = torch.stack(errors).amax(0)[queries].max()
    if not float(error) <= ROW_SUM_TOLERANCE:
        mass = mass_on_padding(attentions, queries, keys)
        if mass > ROW_SUM_TOLERANCE:
            raise ModelError(
                f"{label}: up to {mass:.2g} of a row's attention falls on padding, so the attention mask is not "
                "respected; maps of this model cannot be trusted"
            )
    check_row_sums(error, rows_of, label)


def off_one(sums: Float[Tensor, "*rows"], *, sinks: bool) -> Float[Tensor, "*rows"]:
    """Compute how far the sums of rows are from what they may be."""
    return (sums - 1).clamp(min=0) if sinks else (sums - 1).abs()


def mass_on_padding(
    attentions: Sequence[Float[Tensor, "batch heads queries keys"]],
    queries: Bool[Tensor, "batch queries"],
    keys: Bool[Tensor, "batch keys"],
) -> float:
    """Compute the largest attention of a piece to padding, over all layers and heads."""
    onto_padding = queries[:, None, :, None] & ~keys[:, None, None, :]
    return max(float((alpha * onto_padding).sum(-1).max()) for alpha in attentions)


def check_row_sums(error: Float[Tensor, ""], rows_of: str, label: str) -> None:
    """Raise `ModelError` if the sum of a row is too far from 1."""
    if not float(error) <= ROW_SUM_TOLERANCE:
        raise ModelError(
            f"{label}: rows of {rows_of} sum to 1 only within {float(error):.2g}; maps of this model cannot be trusted"
        )
