"""Attention rollout (Abnar & Zuidema 2020, §3) over the maps of any kind, and rows divided by their sums."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..errors import ModelError


def next_product(
    layer_map: Float[Tensor, "batch heads n n"],
    product: Float[Tensor, "batch 1 n n"] | None,
    mask: Bool[Tensor, "batch n"],
    *,
    residual: bool,
    number: int,
) -> Float[Tensor, "batch 1 n n"]:
    """Multiply the map of a layer with the product of those below it, ``R_l = A_l R_{l−1}``.

    A_l is the mean over heads with rows divided by their sums and, unless the map includes the ``residual`` connection
    already, half of that plus half the identity. A negative cell or a row of zeros is a `ModelError`, which names the
    layer by its 1-based ``number``.
    """
    inside = mask[:, None, :, None] & mask[:, None, None, :]
    mean = layer_map.mean(1, keepdim=True).masked_fill(~inside, 0)
    if bool((mean < 0).any()):
        raise ModelError(f"layer {number} has negative cells, so a rollout of this kind has no meaning")
    step = row_normalized(mean, mask, number)
    if not residual:
        step = (step + torch.eye(step.shape[-1], dtype=step.dtype, device=step.device)) / 2
    return step if product is None else step @ product


def row_normalized(
    maps: Float[Tensor, "batch *rest n n"], mask: Bool[Tensor, "batch n"], layer: int | None = None
) -> Float[Tensor, "batch *rest n n"]:
    """Divide every row by its sum, except on padding, or raise `ModelError` if one in a sentence sums to 0."""
    sums = maps.sum(-1, keepdim=True)
    padding = ~mask.view(len(mask), *[1] * (maps.dim() - 3), -1, 1)  # of rows: (batch, 1 for each of *rest, n, 1)
    if bool(((sums <= 0) & ~padding).any()):
        of_layer = "" if layer is None else f" of layer {layer}"
        raise ModelError(f"a row{of_layer} sums to 0; it cannot be divided by its sum")
    return maps / sums.masked_fill(padding, 1)


def distributions(maps: Float[Tensor, "batch 1 n n"]) -> Float[Tensor, "batch 1 n n"]:
    """Divide every row of a non-negative map by its sum. A row of zeros becomes one with all its mass on the token."""
    sums = maps.sum(-1, keepdim=True)
    itself = torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device)
    return torch.where(sums > 0, maps / sums.masked_fill(sums <= 0, 1), itself)
