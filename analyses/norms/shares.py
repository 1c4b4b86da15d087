"""Where attention goes by weight and by norm (Kobayashi et al. 2020, §4.2): is attending to [SEP] a no-op?"""

from __future__ import annotations

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional
from torchmetrics import Metric

from attentionology.extractors import TOKEN_CLASSES, NormBatch


class NormShares(Metric):
    """Per layer, head and class of tokens: attention weight, ‖f(x)‖ and ‖αf(x)‖ side by side.

    In each sentence, over its n pieces,

    * ``weight``: mean over queries of the sum of α over the keys of the class;
    * ``norm``: the same of ``‖αf(x)‖``, as it is (the authors' numbers);
    * ``norm_share``: the same after every row was divided by its sum, to be compared with ``weight``;
    * ``value_norm``: mean of ``‖f(x)‖`` over the tokens of the class;

    then the mean over sentences (those with a token of the class for ``value_norm``). A large weight on vectors of
    small norm moves little: that is the no-op.

    Args:
        n_layers, n_heads: shape of the model's attention.
    """

    full_state_update = False
    sums: Float[Tensor, "measures layers heads classes"]
    sentences: Int[Tensor, " classes"]
    total: Int[Tensor, ""]

    MEASURES = ("weight", "value_norm", "norm", "norm_share")

    def __init__(self, n_layers: int, n_heads: int) -> None:
        super().__init__(compute_with_cache=False)
        self.n_layers, self.n_heads = n_layers, n_heads
        shape = (len(self.MEASURES), n_layers, n_heads, len(TOKEN_CLASSES))
        self.add_state("sums", torch.zeros(shape, dtype=torch.float64), "sum", persistent=True)
        self.add_state("sentences", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum", persistent=True)
        self.add_state("total", torch.tensor(0), "sum", persistent=True)

    def update(self, batch: NormBatch) -> None:
        """Add a batch."""
        device = batch.alpha.device
        mask = batch.mask.to(device)
        member = functional.one_hot(batch.classes.to(device).clamp(min=0), len(TOKEN_CLASSES)).to(batch.alpha.dtype)
        member = member * mask[..., None]
        values = batch.value_norms * mask[:, None, None]
        row_sums = torch.einsum("blhij,blhj->blhi", batch.alpha, values)
        counted = batch.rows[:, None, None] / row_sums.clamp(min=1e-30)
        shared = torch.einsum("blhij,blhi->blhj", batch.alpha, counted) * values
        size = member.sum(1)
        by_class = [
            torch.einsum("blhj,bjc->blhc", part, member)
            for part in (batch.received, values, batch.received * values, shared)
        ]
        by_class[1] = by_class[1] / size.clamp(min=1)[:, None, None]
        self.sums += torch.stack([part.cpu().double().sum(0) for part in by_class]).to(self.sums.device)
        self.sentences += (size > 0).sum(0).to(self.sentences.device)
        self.total += len(batch.lengths)

    def compute(self) -> pd.DataFrame:
        """One row per layer, head and class that occurs, with the number of sentences that have it."""
        sums = self.sums.cpu().numpy()
        total, sentences = int(self.total), self.sentences.tolist()
        rows = []
        for layer in range(self.n_layers):
            for head in range(self.n_heads):
                for c, name in enumerate(TOKEN_CLASSES):
                    if not sentences[c]:
                        continue
                    weight, value_norm, norm, norm_share = sums[:, layer, head, c]
                    rows.append(
                        {
                            "layer": layer + 1,
                            "head": head + 1,
                            "class": name,
                            "weight": weight / total,
                            "value_norm": value_norm / sentences[c],
                            "norm": norm / total,
                            "norm_share": norm_share / total,
                            "sentences": sentences[c],
                        }
                    )
        return pd.DataFrame(rows)
