"""Context mixing: how much of a token's new vector comes from the others (Kobayashi et al. 2021, §4)."""

from __future__ import annotations

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics import Metric

from attentionology.extractors import MIXING_VARIANTS, TOKEN_CLASSES, NormBatch

ALL = "all"


class MixingRatios(Metric):
    """Mixing ratios per variant, layer and class of tokens: mean, smallest and largest over all tokens.

    Args:
        n_layers: of the model.
    """

    full_state_update = False
    sums: Float[Tensor, "variants layers classes"]
    lowest: Float[Tensor, "variants layers classes"]
    highest: Float[Tensor, "variants layers classes"]
    tokens: Int[Tensor, " classes"]

    def __init__(self, n_layers: int) -> None:
        super().__init__(compute_with_cache=False)
        self.n_layers = n_layers
        shape = (len(MIXING_VARIANTS), n_layers, len(TOKEN_CLASSES))
        self.add_state("sums", torch.zeros(shape, dtype=torch.float64), "sum", persistent=True)
        self.add_state("lowest", torch.full(shape, torch.inf, dtype=torch.float64), "min", persistent=True)
        self.add_state("highest", torch.full(shape, -torch.inf, dtype=torch.float64), "max", persistent=True)
        self.add_state("tokens", torch.zeros(len(TOKEN_CLASSES), dtype=torch.int64), "sum", persistent=True)

    def update(self, batch: NormBatch) -> None:
        """Add a batch."""
        ratios = batch.ratios.permute(0, 3, 1, 2).cpu().double()
        for c in range(len(TOKEN_CLASSES)):
            own = ratios[batch.classes == c].to(self.sums.device)
            if len(own):
                self.sums[..., c] += own.sum(0)
                self.lowest[..., c] = torch.minimum(self.lowest[..., c], own.amin(0))
                self.highest[..., c] = torch.maximum(self.highest[..., c], own.amax(0))
                self.tokens[c] += len(own)

    def compute(self) -> pd.DataFrame:
        """One row per variant, layer (0: all layers) and class that occurs (``all``: every token)."""
        sums, tokens = self.sums.cpu().numpy(), self.tokens.cpu().numpy()
        lowest, highest = self.lowest.cpu().numpy(), self.highest.cpu().numpy()
        present = [c for c in range(len(TOKEN_CLASSES)) if tokens[c]]
        every = list(range(self.n_layers))
        rows = []
        for v, variant in enumerate(MIXING_VARIANTS):
            for number, layers in [(0, every), *((layer + 1, [layer]) for layer in every)]:
                for name, classes in [(ALL, present), *((TOKEN_CLASSES[c], [c]) for c in present)]:
                    cells = (v, *_cross(layers, classes))
                    count = int(tokens[classes].sum())
                    rows.append(
                        {
                            "variant": variant,
                            "layer": number,
                            "class": name,
                            "mean": sums[cells].sum() / (count * len(layers)) if count else float("nan"),
                            "min": lowest[cells].min(initial=float("inf")),
                            "max": highest[cells].max(initial=float("-inf")),
                            "tokens": count,
                        }
                    )
        return pd.DataFrame(rows)


def _cross(layers: list[int], classes: list[int]) -> tuple[list[list[int]], list[list[int]]]:
    return [[layer] * len(classes) for layer in layers], [classes for _ in layers]
