"""Does the decision hang on the most attended word? (Serrano & Smith 2019, §4)"""

from __future__ import annotations

import torch
from torch import Tensor

from attentionology.analyses.explanation.batch import Rows, TextBatch
from attentionology.analyses.explanation.interventions import columns, measures, ranks, without
from attentionology.analyses.explanation.measures import jsd


def single_weight(batch: TextBatch) -> Rows:
    """Take out the weight of the best word, or of another one drawn at random (Serrano & Smith 2019, §4).

    The other word is drawn among all positions but the best. (The published code draws a rank and uses it as a
    position, so that it can be the best word, and never is the first.)

    Returns:
        by measure, ``attention``, ``gradient`` or ``attention_gradient``: ``single_{measure}_top_jsd`` and
        ``…_random_jsd`` (divergence of the classes' probabilities from the original), ``…_difference`` of the two,
        ``…_top_flip`` and ``…_random_flip`` (1 if another class is predicted), ``…_weight_difference`` (attention to
        the best word less that to the other). NaN for texts of less than two words.
    """
    scored = measures(batch)
    place = torch.arange(batch.mask.shape[-1])
    words = batch.mask.sum(-1)
    top = ranks(torch.stack(list(scored.values()), dim=1), batch.mask) == 0
    best = (top * place).sum(-1)
    other = torch.zeros_like(best)
    for i, n in enumerate(words.tolist()):
        if n > 1:
            other[i] = torch.from_numpy(batch.generator(i, "single weight").integers(n - 1, size=len(scored)))
    other += other >= best
    drawn = place == other[..., None]

    before = batch.probabilities.double()[:, None]
    after = without(batch, torch.cat([top, drawn], dim=1))
    moved = jsd(before.expand_as(after), after)
    flipped = (after.argmax(-1) != before.argmax(-1)).double()
    weights = batch.weights.double()[:, None]
    difference = (weights * top).sum(-1) - (weights * drawn).sum(-1)
    values: dict[str, Tensor] = {}
    for m, name in enumerate(scored):
        r = m + len(scored)
        values |= {
            f"single_{name}_top_jsd": moved[:, m],
            f"single_{name}_random_jsd": moved[:, r],
            f"single_{name}_difference": moved[:, m] - moved[:, r],
            f"single_{name}_top_flip": flipped[:, m],
            f"single_{name}_random_flip": flipped[:, r],
            f"single_{name}_weight_difference": difference[:, m],
        }
    return columns(values, words > 1)
