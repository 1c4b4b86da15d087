"""What the maps of all layers up to one give together, by several published rules, and rows divided by their sums.

A rule is one function and one row of `AGGREGATIONS`, whose name stands before the kind in ``--map NAME:KIND``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ..deferred import check_at_most
from ..errors import ModelError


@dataclass(frozen=True, eq=False)
class Below:
    """What a rule needs besides the map of a layer.

    Attributes:
        product: what the rule gave for the layer below; None for the first layer.
        mask: True where there is a piece; shape (batch, n).
        residual: whether the map includes the residual connection already.
        number: the number of the layer, from 1.
    """

    product: Float[Tensor, "batch 1 n n"] | None
    mask: Bool[Tensor, "batch n"]
    residual: bool
    number: int

    def mean(self, layer_map: Float[Tensor, "batch heads n n"]) -> Float[Tensor, "batch 1 n n"]:
        """Return the mean over heads, with zeros on padding."""
        inside = self.mask[:, None, :, None] & self.mask[:, None, None, :]
        return layer_map.mean(1, keepdim=True).masked_fill(~inside, 0)


@dataclass(frozen=True)
class Aggregation:
    """A rule by which the maps of layers are put together: its description, and the function for one layer."""

    description: str  # before “of KIND”
    source: str
    layer: Callable[[Float[Tensor, "batch heads n n"], Below], Float[Tensor, "batch 1 n n"]]
    rows_sum_to_one: bool = False


def rollout(layer_map: Float[Tensor, "batch heads n n"], below: Below) -> Float[Tensor, "batch 1 n n"]:
    """``R_l = A_l R_{l−1}`` (Abnar & Zuidema 2020, §3).

    A_l is the mean over heads with rows divided by their sums and, unless the map includes the residual connection
    already, half of that plus half the identity. A negative cell or a row of zeros is a `ModelError`.
    """
    mean = below.mean(layer_map)
    meaningless = f"layer {below.number} has negative cells, so a rollout of this kind has no meaning"
    check_at_most((mean < 0).any(), 0, lambda _: ModelError(meaningless))
    step = row_normalized(mean, below.mask, below.number)
    if not below.residual:
        step = (step + _identity(step)) / 2
    return step if below.product is None else step @ below.product


def product(layer_map: Float[Tensor, "batch heads n n"], below: Below) -> Float[Tensor, "batch 1 n n"]:
    """``R_l = M_l R_{l−1}``, R_1 = M_1, with M_l the mean over heads as it is (code of Modarressi et al. 2022).

    Nothing is divided and no identity is added, so that rows have any sum, and only cells of one row can be compared.
    """
    mean = below.mean(layer_map)
    return mean if below.product is None else mean @ below.product


def relevance(layer_map: Float[Tensor, "batch heads n n"], below: Below) -> Float[Tensor, "batch 1 n n"]:
    """``R_l = R_{l−1} + M_l R_{l−1}``, R_0 = I, with M_l the mean over heads of the positive parts (Chefer et al.)."""
    mean = below.mean(layer_map.clamp(min=0))
    before = _identity(mean).expand_as(mean) if below.product is None else below.product
    return before + mean @ before


def _identity(maps: Float[Tensor, "batch 1 n n"]) -> Float[Tensor, "n n"]:
    return torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device)


AGGREGATIONS = {
    "rollout": Aggregation("attention rollout", "Abnar & Zuidema 2020", rollout, rows_sum_to_one=True),
    "product": Aggregation("product over the layers, rows undivided,", "Modarressi et al. 2022", product),
    "relevance": Aggregation("relevance, R + mean of the positive parts × R,", "Chefer et al. 2021", relevance),
}
"""The rules by their names."""


def row_normalized(
    maps: Float[Tensor, "batch *rest n n"], mask: Bool[Tensor, "batch n"], layer: int | None = None
) -> Float[Tensor, "batch *rest n n"]:
    """Divide every row by its sum, except on padding, or raise `ModelError` if one sums to 0 or less."""
    sums = maps.sum(-1, keepdim=True)
    padding = ~mask.view(len(mask), *[1] * (maps.dim() - 3), -1, 1)  # of rows: (batch, 1 for each of *rest, n, 1)
    of_layer = "" if layer is None else f" of layer {layer}"
    indivisible = f"a row{of_layer} sums to 0 or less; it cannot be divided by its sum"
    check_at_most(((sums <= 0) & ~padding).any(), 0, lambda _: ModelError(indivisible))
    return maps / sums.masked_fill(padding, 1)


def distributions(maps: Float[Tensor, "batch 1 n n"]) -> Float[Tensor, "batch 1 n n"]:
    """Divide every row of a non-negative map by its sum. A row of zeros becomes one with all its mass on the token."""
    sums = maps.sum(-1, keepdim=True)
    itself = torch.eye(maps.shape[-1], dtype=maps.dtype, device=maps.device)
    return torch.where(sums > 0, maps / sums.masked_fill(sums <= 0, 1), itself)
