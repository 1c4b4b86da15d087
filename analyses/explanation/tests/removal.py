"""Are the most attended words a short reason for the decision? (Serrano & Smith 2019, §5)"""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from attentionology.analyses.explanation.batch import Rows, TextBatch
from attentionology.analyses.explanation.interventions import DRAWS, columns, orderings, ranks, without
from attentionology.analyses.explanation.measures import tvd


def until_change(batch: TextBatch, rank: Int[Tensor, "batch n"]) -> Int[Tensor, " batch"]:
    """How many words are taken out, in the order of their ranks, until another class is predicted; 0: it never is."""
    # also without any words there is one step, so that there is something to decode
    steps = torch.arange(1, max(rank.shape[-1], 1) + 1)
    after = without(batch, rank[:, None] < steps[:, None])
    changed = after.argmax(-1) != batch.probabilities.argmax(-1, keepdim=True)
    changed &= steps <= batch.mask.sum(-1, keepdim=True)
    return torch.where(changed.any(-1), changed.int().argmax(-1) + 1, 0)


def removal(batch: TextBatch, *, draws: int = DRAWS) -> Rows:
    """Take out weights one after the other until another class is predicted (Serrano & Smith 2019, §5).

    Without any weights all orders end with the same prediction. Where that is the original one, an order changes it for
    a while or never; how often is part of the result, as the shares are of those that do.

    Args:
        batch: the texts.
        draws: random orders per text.

    Returns:
        by order, see `orderings`: ``removal_{order}``: share of words taken out at the first change, NaN if there is
        none; ``removal_{order}_mass``: share of all attention to words that they had; ``removal_{order}_never``: 1 if
        there is no change. Of random orders the mean over those with a change, and the share of those without.
        ``removal_never``: 1 if the prediction without any weights is the original one; ``all_zero_tvd``: how far its
        probabilities are from the original ones. NaN for texts without words.
    """
    words = batch.mask.sum(-1)
    before, empty = batch.probabilities.double(), without(batch, batch.mask[:, None])[:, 0]
    weights = batch.weights.double()[:, None]
    values = {
        "removal_never": (empty.argmax(-1) == before.argmax(-1)).double(),
        "all_zero_tvd": tvd(before, empty),
    }
    for name, scores in orderings(batch, draws).items():
        rank = ranks(scores, batch.mask)
        removed = torch.stack([until_change(batch, one) for one in rank.unbind(1)], dim=1)
        never = removed == 0
        mass = (weights * (rank < removed[..., None])).sum(-1) / weights.sum(-1)
        values |= {
            f"removal_{name}": (removed / words[:, None]).masked_fill(never, torch.nan).nanmean(-1),
            f"removal_{name}_mass": mass.masked_fill(never, torch.nan).nanmean(-1),
            f"removal_{name}_never": never.double().mean(-1),
        }
    return columns(values, words > 0)
