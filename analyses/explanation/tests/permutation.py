"""Would shuffled attention have given the same answer? (Jain & Wallace 2019, §4.2.1)"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attentionology.analyses.explanation.batch import Rows, TextBatch, single_words_out
from attentionology.analyses.explanation.interventions import answers
from attentionology.analyses.explanation.measures import jsd, tvd


def permutation(batch: TextBatch, *, draws: int = 100) -> Rows:
    """The attention of the words shuffled, the same way in all rows; the states stay as they are.

    Args:
        batch: texts as read.
        draws: uniform random orders per text.

    Returns:
        medians over the draws: ``permutation_tvd`` of the output, ``permutation_jsd`` of the attention itself (mean
        over rows); ``permutation_mean_tvd``: the mean over the draws, which can be compared with that over any number
        of seeds; ``permutation_flip``: share of the draws with another class. NaN for texts of fewer than two words.
    """
    order = _orders(batch, draws)
    shapes: list[Tensor] = []

    def shuffled(part: slice) -> Tensor:
        index = order[:, part, None].expand(-1, -1, batch.alpha.shape[1], -1)
        weights = batch.alpha[:, None].expand(index.shape).gather(3, index)
        shapes.append(jsd(weights, batch.alpha[:, None]).mean(-1))
        return weights

    p, original = answers(batch, draws, shuffled), batch.probabilities.double()[:, None]
    moved = tvd(p, original).numpy()
    return single_words_out(
        batch,
        {
            "permutation_tvd": np.median(moved, axis=1),
            "permutation_mean_tvd": moved.mean(axis=1),
            "permutation_jsd": np.median(torch.cat(shapes, 1).double().numpy(), axis=1),
            "permutation_flip": (p.argmax(-1) != original.argmax(-1)).double().mean(1).numpy(),
        },
    )


def _orders(batch: TextBatch, draws: int) -> Int[Tensor, "batch draws n"]:
    n = batch.mask.shape[1]
    orders = np.tile(np.arange(n), (len(batch), draws, 1))
    for place, text in enumerate(batch.texts):
        own = orders[place, :, : len(text)]
        orders[place, :, : len(text)] = batch.generator(place, "permutation").permuted(own, axis=1)
    return torch.from_numpy(orders)
