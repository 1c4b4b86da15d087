"""Rows of maps divided by their sums."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentionology.extractors.errors import ModelError


def distributions(maps: Float[Tensor, "batch 1 n n"]) -> Float[Tensor, "batch 1 n n"]:
    """Every row of a non-negative map divided by its sum.

    A row of zeros, where no other token and not even the token itself counts, is given to the token itself.
    """
    sums = maps.sum(-1, keepdim=True)
    itself = torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device)
    return torch.where(sums > 0, maps / sums.masked_fill(sums <= 0, 1), itself)


def row_normalised(
    maps: Float[Tensor, "batch *rest n n"], mask: Bool[Tensor, "batch n"], layer: int | None = None
) -> Float[Tensor, "batch *rest n n"]:
    """Every row divided by its sum; rows of padding stay as they are.

    Raises:
        ModelError: a row inside a sentence sums to 0.
    """
    sums = maps.sum(-1, keepdim=True)
    padding = ~mask.view(len(mask), *[1] * (maps.dim() - 3), -1, 1)
    if bool(((sums <= 0) & ~padding).any()):
        where = "" if layer is None else f" of layer {layer}"
        raise ModelError(f"a row{where} sums to 0; it cannot be divided by that")
    return maps / sums.masked_fill(padding, 1)
