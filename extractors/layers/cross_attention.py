"""The cross-attention blocks of an encoder–decoder: their weights, and the check that these are what the model uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ModelError
from .architectures import ARCHITECTURES
from .attention_weights import AttentionWeights, find_module, find_modules, read_linear
from .layer import AttentionBlock
from .verification import compare, spread_positions


@dataclass(frozen=True)
class CrossBlocks:
    """The cross-attention blocks of a model, one for each layer of the decoder."""

    modules: tuple[nn.Module, ...]
    weights: tuple[AttentionWeights, ...]
    time_first: bool  # whether what they give has the positions before the inputs of the batch
    family: str


def read_cross_attention(model: Any, n_layers: int, n_heads: int) -> CrossBlocks:
    """Read the weights of all cross-attention blocks of a model that has the decoder among its modules."""
    family = str(model.config.model_type)
    row = ARCHITECTURES.get(family)
    if row is None or row.cross is None:
        known = sorted(name for name, architecture in ARCHITECTURES.items() if architecture.cross)
        raise ModelError(
            f"where {family!r} models keep the projections of their cross-attention is not known here, so only the map "
            f"kind 'weight' works. The known families are: {', '.join(known)}. Add a row with "
            "attentionology.extractors.register_architecture, see docs/how-to/architectures.md"
        )
    layers = list(find_modules(model, row.cross.layers))
    if len(layers) != n_layers:
        raise ModelError(f"{family!r}: {len(layers)} layers at {row.cross.layers!r} for {n_layers} of cross-attention")
    modules, weights = [], []
    for number, layer in enumerate(layers, start=1):
        where = f"{family!r} decoder layer {number}"
        block = find_module(layer, row.cross.block, where)
        w_v, b_v = read_linear(find_module(block, row.cross.value, where), where)
        w_o, b_o = read_linear(find_module(block, row.cross.output, where), where)
        modules.append(block)
        weights.append(AttentionWeights(n_heads, w_v, b_v, w_o, b_o))
    return CrossBlocks(tuple(modules), tuple(weights), row.cross.time_first, family)


def verify_cross_attention(block: AttentionBlock, output: Tensor, queries: Tensor, where: str) -> None:
    """Compare ``Σ_j Σ_h α f_h(x_j) + b_O`` with what the block gave, in one position of each input of a batch."""
    rows, positions = spread_positions(queries)
    context = torch.einsum("bhk,bkhi->bhi", block.alpha[rows, :, positions], block.v).flatten(1)
    recomputed = torch.matmul(context, block.weights.w_o) + block.weights.b_o
    compare(recomputed, output[rows, positions], f"{where}: cross-attention", left="the map kind 'weight' works")
