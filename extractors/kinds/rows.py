"""Division of the rows of maps by their sums."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..errors import ModelError


def distributions(maps: Float[Tensor, "batch 1 n n"]) -> Float[Tensor, "batch 1 n n"]:
    """Divide every row of a non-negative map by its sum.

    A row of zeros, in which no token has any importance, becomes a row with all its mass on the token itself.
    """
    sums = maps.sum(-1, keepdim=True)
    itself = torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device)
    return torch.where(sums > 0, maps / sums.masked_fill(sums <= 0, 1), itself)


def row_normalized(
    maps: Float[Tensor, "batch *rest n n"], mask: Bool[Tensor, "batch n"], layer: int | None = None
) -> Float[Tensor, "batch *rest n n"]:
    """Divide every row by its sum. Rows of padding stay as they are.

    Args:
        maps: the maps.
        mask: True where there is a piece.
        layer: the 1-based number of the layer, for the message.

    Raises:
        ModelError: a row inside a sentence sums to 0.
    """
    sums = maps.sum(-1, keepdim=True)
    padding = ~mask.view(len(mask), *[1] * (maps.dim() - 3), -1, 1)
    if bool(((sums <= 0) & ~padding).any()):
        of_layer = "" if layer is None else f" of layer {layer}"
        raise ModelError(f"a row{of_layer} sums to 0; it cannot be divided by its sum")
    return maps / sums.masked_fill(padding, 1)
