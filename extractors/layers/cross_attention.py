"""The cross-attention blocks of an encoder–decoder: their weights, and the check that these are what the model uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ModelError
from .architectures import ARCHITECTURES, CrossAttention
from .attention_block import AttentionBlock
from .attention_weights import AttentionWeights, find_module, find_modules, read_linear
from .verification import compare, spread_positions


@dataclass(frozen=True)
class CrossBlocks:
    """The cross-attention blocks of a model, one for each layer of the decoder.

    Attributes:
        modules: the blocks.
        weights: their weights.
        time_first: whether what they give has the positions before the inputs of the batch.
        family: the architecture, for messages.
    """

    modules: tuple[nn.Module, ...]
    weights: tuple[AttentionWeights, ...]
    time_first: bool
    family: str


def read_cross_attention(model: Any, n_layers: int, n_heads: int) -> CrossBlocks:
    """Read the weights of all cross-attention blocks of a model that has the decoder among its modules.

    Raises:
        ModelError: the family of the model has no row for cross-attention, or the model has no module of a name in it.
    """
    family = str(model.config.model_type)
    row = ARCHITECTURES.get(family)
    if row is None or row.cross is None:
        known = sorted(name for name, architecture in ARCHITECTURES.items() if architecture.cross)
        raise ModelError(
            f"where {family!r} models keep the projections of their cross-attention is not known here, so only the map "
            f"kind 'weight' works. The known families are: {', '.join(known)}. Add a row with "
            "attentionology.register_architecture, see docs/how-to/architectures.md"
        )
    layers = list(find_modules(model, row.cross.layers))
    if len(layers) != n_layers:
        raise ModelError(f"{family!r}: {len(layers)} layers at {row.cross.layers!r} for {n_layers} of cross-attention")
    where = [f"{family!r} decoder layer {number}" for number in range(1, n_layers + 1)]
    modules = [find_module(layer, row.cross.block, place) for layer, place in zip(layers, where, strict=True)]
    weights = [_weights(block, row.cross, n_heads, place) for block, place in zip(modules, where, strict=True)]
    return CrossBlocks(tuple(modules), tuple(weights), row.cross.time_first, family)


def verify_cross_attention(block: AttentionBlock, output: Tensor, queries: Tensor, where: str) -> None:
    """Compare ``Σ_j Σ_h α f_h(x_j) + b_O`` with what the block gave, in one position of each input of a batch.

    Raises:
        ModelError: they differ by more than `attentionology.extractors.layers.verification.TOLERANCE`.
    """
    rows, positions = spread_positions(queries)
    context = torch.einsum("bhk,bkhi->bhi", block.alpha[rows, :, positions], block.v).flatten(1)
    recomputed = torch.matmul(context, block.weights.w_o) + block.weights.b_o
    compare(recomputed, output[rows, positions], f"{where}: cross-attention", left="the map kind 'weight' works")


def _weights(block: Any, names: CrossAttention, n_heads: int, where: str) -> AttentionWeights:
    w_v, b_v = read_linear(find_module(block, names.value, where), where)
    w_o, b_o = read_linear(find_module(block, names.output, where), where)
    return AttentionWeights(n_heads, w_v, b_v, w_o, b_o)
