"""The metric of how much a loss depends on each attention weight (Clark et al. 2019, §3.2, Figure 3)."""

from __future__ import annotations

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from ...extractors import TOKEN_CLASSES, GradientBatch
from ..counting.exact_sums import ExactMetric, added, floating

_GRADIENT_UNITS = 2**8
"""Means of gradients are far below 1, so they are counted in these parts of 1, and thus to 2⁻⁴⁰."""


class GradientImportance(ExactMetric):
    """Mean |∂L/∂α| per layer, head and class of the token attended to, with the attention that goes there."""

    # Attention is a no-op where it is large and its gradient is small: a change of such weights would not change the
    # loss.

    macro: Int[Tensor, "2 layers heads classes"]  # the means of inputs, of gradients and of attention, added up
    pooled: Int[Tensor, "layers heads classes"]  # the gradients of all weights, added up
    inputs: Int[Tensor, " classes"]  # the number of inputs that have the class
    weights: Int[Tensor, " classes"]  # the number of attention weights to the class
    total: Int[Tensor, ""]
    loss: Int[Tensor, ""]

    def __init__(self, n_layers: int, n_heads: int) -> None:
        super().__init__()
        self.n_layers, self.n_heads = n_layers, n_heads
        shape = (n_layers, n_heads, len(TOKEN_CLASSES))
        self.add_state("macro", torch.zeros(2, *shape, dtype=torch.int64), "sum")  # of gradients, of attention
        self.add_state("pooled", torch.zeros(shape, dtype=torch.int64), "sum")
        self.add_state("inputs", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum")
        self.add_state("weights", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum")
        self.add_state("total", torch.tensor(0), "sum")
        self.add_state("loss", torch.tensor(0), "sum")

    def update(self, batch: GradientBatch) -> None:
        """Add a batch of gradients."""
        device = self.macro.device
        classes = batch.classes.to(batch.alpha.device)
        is_token = classes >= 0
        members = functional.one_hot(classes.clamp(min=0), len(TOKEN_CLASSES)) * is_token[..., None]
        # Summed over the cells from any token to those of a class: (batch, layers, heads, classes).
        gradients, attention = (
            torch.einsum("blhij,bi,bjc->blhc", maps, is_token.to(maps.dtype), members.to(maps.dtype))
            .to(device)
            .double()
            for maps in (batch.gradients, batch.alpha)
        )
        lengths, class_sizes = is_token.sum(1).to(device), members.sum(1).to(device)
        cells = class_sizes * lengths[:, None]
        mean_gradients = gradients / cells.clamp(min=1)[:, None, None] * _GRADIENT_UNITS
        mean_attention = attention / lengths[:, None, None, None]
        macro = added(self.macro, torch.stack([mean_gradients, mean_attention], dim=1))
        pooled, loss = added(self.pooled, gradients), added(self.loss, batch.losses)
        # Only now, because any of the sums may be too large, and nothing is then counted.
        self.macro, self.pooled, self.loss = macro, pooled, loss
        self.inputs += (class_sizes > 0).sum(0)
        self.weights += cells.sum(0)
        self.total += len(lengths)

    def compute(self) -> pd.DataFrame:
        """Return a table with one row per layer, head and class that occurs. Layers and heads are 1-based."""
        n_inputs, n_weights, total = self.inputs.tolist(), self.weights.tolist(), int(self.total)
        gradients_of_inputs, attention_of_inputs = floating(self.macro.cpu()).numpy()
        gradients_of_weights, loss = floating(self.pooled.cpu()).numpy(), float(floating(self.loss.cpu()))
        return pd.DataFrame(
            {
                "layer": layer + 1,
                "head": head + 1,
                "class": name,
                "gradient": gradients_of_inputs[layer, head, index] / _GRADIENT_UNITS / n_inputs[index],
                "gradient_pooled": gradients_of_weights[layer, head, index] / n_weights[index],
                # Inputs without the class count as well, because no attention goes there.
                "attention": attention_of_inputs[layer, head, index] / total,
                "inputs": n_inputs[index],
                "weights": n_weights[index],
                "loss": loss / total,
            }
            for layer in range(self.n_layers)
            for head in range(self.n_heads)
            for index, name in enumerate(TOKEN_CLASSES)
            if n_inputs[index]
        )
