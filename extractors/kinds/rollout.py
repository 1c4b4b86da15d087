"""Attention rollout (Abnar & Zuidema 2020, §3) over the maps of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..errors import ModelError
from .rows import row_normalized


def roll_out(
    maps: Iterable[Float[Tensor, "batch heads n n"]], mask: Bool[Tensor, "batch n"], *, residual: bool
) -> Iterator[Float[Tensor, "batch 1 n n"]]:
    """Yield the product of all layers' maps up to each layer, ``R_l = A_l R_{l−1}``.

    A_l is the mean over heads with rows divided by their sums and, if the residual connection is not
    in the map already, half of that plus half the identity.

    Args:
        maps: one non-negative map per layer, at token level.
        mask: True where there is a piece.
        residual: whether the maps include the residual connection.

    Raises:
        ModelError: a map has a negative cell or a row of zeros.
    """
    product: Tensor | None = None
    for number, layer_map in enumerate(maps, start=1):
        product = next_product(layer_map, product, mask, residual=residual, number=number)
        yield product


def next_product(
    layer_map: Float[Tensor, "batch heads n n"],
    product: Float[Tensor, "batch 1 n n"] | None,
    mask: Bool[Tensor, "batch n"],
    *,
    residual: bool,
    number: int,
) -> Float[Tensor, "batch 1 n n"]:
    """Multiply the map of a layer with the product of those below it, which is None for the first layer.

    Args:
        layer_map, mask, residual: see `roll_out`.
        product: the rollout up to the layer below.
        number: the 1-based number of the layer, for the message.

    Raises:
        ModelError: the map has a negative cell or a row of zeros.
    """
    inside = mask[:, None, :, None] & mask[:, None, None, :]
    mean = layer_map.mean(1, keepdim=True).masked_fill(~inside, 0)
    if bool((mean < 0).any()):
        raise ModelError(f"layer {number} has negative cells, so a rollout of this kind has no meaning")
    step = row_normalized(mean, mask, number)
    if not residual:
        step = (step + torch.eye(step.shape[-1], dtype=step.dtype, device=step.device)) / 2
    return step if product is None else step @ product
