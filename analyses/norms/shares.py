"""The metric of where attention goes by weight and by norm (Kobayashi et al. 2020, §4.2).

An attention weight says how much of a vector is moved, not how large the vector is. The effect on the output is their
product, ‖αf(x)‖. The authors add these norms up over a class of tokens, and in such sums rows with long vectors
prevail. The share therefore divides each row by its sum first: it can be compared with the weight, which is already a
share. Where the share is far below the weight, attention to a class is a no-op.
"""

from __future__ import annotations

import itertools

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional

from ...extractors import TOKEN_CLASSES, NormBatch
from ..counting.exact_sums import ExactMetric, added, floating


class NormShares(ExactMetric):
    """The attention weight, ‖f(x)‖ and ‖αf(x)‖ per layer, head and class of tokens."""

    # In each sentence, over its n pieces, these are
    # * `weight`: the mean over queries of the sum of α over the keys of the class;
    # * `norm`: the same of `‖αf(x)‖`, without any normalization (the authors' numbers);
    # * `norm_share`: the same after every row was divided by its sum, which can be compared with `weight`;
    # * `value_norm`: the mean of `‖f(x)‖` over the tokens of the class.
    # The results are means over sentences, for `value_norm` over those that have a token of the class.

    sums: Int[Tensor, "measures layers heads classes"]
    sentences: Int[Tensor, " classes"]
    total: Int[Tensor, ""]

    MEASURES = ("weight", "value_norm", "norm", "norm_share")

    def __init__(self, n_layers: int, n_heads: int) -> None:
        super().__init__()
        self.n_layers, self.n_heads = n_layers, n_heads
        shape = (len(self.MEASURES), n_layers, n_heads, len(TOKEN_CLASSES))
        self.add_state("sums", torch.zeros(shape, dtype=torch.int64), "sum")
        self.add_state("sentences", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum")
        self.add_state("total", torch.tensor(0), "sum")

    def update(self, batch: NormBatch) -> None:
        """Add a batch of norms."""
        device = batch.alpha.device
        mask = batch.mask.to(device)
        # Whether each token is of each class, as numbers of shape (batch, n, classes).
        members = functional.one_hot(batch.classes.to(device).clamp(min=0), len(TOKEN_CLASSES)).to(batch.alpha.dtype)
        members = members * mask[..., None]
        values = batch.value_norms * mask[:, None, None]
        row_sums = torch.einsum("blhij,blhj->blhi", batch.alpha, values)
        # Dividing the weights of the rows instead of the cells gives the sums over rows without a second map.
        row_weights = batch.rows[:, None, None] / row_sums.clamp(min=1e-30)
        shares = torch.einsum("blhij,blhi->blhj", batch.alpha, row_weights) * values
        sizes = members.sum(1)  # how many tokens of each class a sentence has
        measures = (batch.received, values, batch.received * values, shares)  # (batch, layers, heads, n) each
        weight, value_norm, norm, norm_share = (
            torch.einsum("blhj,bjc->blhc", measure, members) for measure in measures
        )
        value_norm = value_norm / sizes.clamp(min=1)[:, None, None]
        self.sums = added(self.sums, torch.stack([weight, value_norm, norm, norm_share], dim=1).cpu())
        self.sentences += (sizes > 0).sum(0).to(self.sentences.device)
        self.total += len(batch.lengths)

    def compute(self) -> pd.DataFrame:
        """Return a table with one row per layer, head and class that occurs. Layers and heads are 1-based."""
        sums = floating(self.sums.cpu()).numpy()
        total, sentences = int(self.total), self.sentences.tolist()
        rows = []
        cells = itertools.product(range(self.n_layers), range(self.n_heads), enumerate(TOKEN_CLASSES))
        for layer, head, (index, name) in cells:
            count = sentences[index]  # of sentences that have the class; only the norm of f(x) is a mean over these
            if count:
                weight, value_norm, norm, norm_share = sums[:, layer, head, index]
                row = {"layer": layer + 1, "head": head + 1, "class": name, "weight": weight / total}
                row |= {"value_norm": value_norm / count, "norm": norm / total, "norm_share": norm_share / total}
                rows.append({**row, "sentences": count})
        return pd.DataFrame(rows)
