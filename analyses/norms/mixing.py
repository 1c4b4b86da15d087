"""The metric of context mixing: how much of a token's new vector comes from others (Kobayashi et al. 2021, §4).

The mixing ratio of a token is M / (M + P), where M is the norm of the *sum* of all vectors that other tokens contribute
to it, and P the norm of the vector that it contributes to itself. The sum comes before the norm: contributions that
point in opposite directions cancel in the output of the layer, and a sum of norms would count them as mixing. The ratio
is taken per token, and tokens are averaged, because a ratio of sums over a corpus would weight tokens by the sizes of
their vectors.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ...extractors import MIXING_VARIANTS, TOKEN_CLASSES, NormBatch
from ..counting.exact_sums import ExactMetric, ExactSumError, added, floating

ALL = "all"


class MixingRatios(ExactMetric):
    """Mixing ratios per variant, layer and class of tokens: the mean, smallest and largest ratio of all tokens."""

    sums: Int[Tensor, "variants layers classes"]
    lowest: Float[Tensor, "variants layers classes"]
    highest: Float[Tensor, "variants layers classes"]
    tokens: Int[Tensor, " classes"]

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        self.n_layers = n_layers
        shape = (len(MIXING_VARIANTS), n_layers, len(TOKEN_CLASSES))
        self.add_state("sums", torch.zeros(shape, dtype=torch.int64), "sum")
        self.add_state("lowest", torch.full(shape, torch.inf, dtype=torch.float64), "min")
        self.add_state("highest", torch.full(shape, -torch.inf, dtype=torch.float64), "max")
        self.add_state("tokens", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum")

    def update(self, batch: NormBatch) -> None:
        """Add the mixing ratios of a batch, class by class."""
        ratios = batch.ratios.permute(0, 3, 1, 2).cpu().double()  # (batch, n, variants, layers)
        if not bool(ratios[batch.mask].isfinite().all()):
            raise ExactSumError("a mixing ratio is not finite")
        for index in range(len(TOKEN_CLASSES)):
            of_class = ratios[batch.classes == index].to(self.sums.device)
            if len(of_class):
                self.sums[..., index] = added(self.sums[..., index], of_class)
                self.lowest[..., index] = torch.minimum(self.lowest[..., index], of_class.amin(0))
                self.highest[..., index] = torch.maximum(self.highest[..., index], of_class.amax(0))
                self.tokens[index] += len(of_class)

    def compute(self) -> pd.DataFrame:
        """Return a table with one row per variant, layer and class that occurs."""
        sums, tokens = floating(self.sums.cpu()).numpy(), self.tokens.cpu().numpy()
        lowest, highest = self.lowest.cpu().numpy(), self.highest.cpu().numpy()
        present = [index for index in range(len(TOKEN_CLASSES)) if tokens[index]]
        all_layers = list(range(self.n_layers))
        # Each row of the table is about one layer or all, and one class or all.
        layer_choices = [(0, all_layers), *((layer + 1, [layer]) for layer in all_layers)]
        class_choices = [(ALL, present), *((TOKEN_CLASSES[index], [index]) for index in present)]
        choices = itertools.product(enumerate(MIXING_VARIANTS), layer_choices, class_choices)
        rows = []
        for (index, variant), (number, layers), (name, classes) in choices:
            cells = np.ix_([index], layers, classes)
            count = int(tokens[classes].sum())
            mean = sums[cells].sum() / (count * len(layers)) if count else float("nan")
            low = lowest[cells].min(initial=float("inf"))
            high = highest[cells].max(initial=float("-inf"))
            row = {"variant": variant, "layer": number, "class": name, "mean": mean, "min": low, "max": high}
            rows.append({**row, "tokens": count})
        return pd.DataFrame(rows)
