"""Is what attention marks as important what the prediction hangs on? (Serrano & Smith 2019)

Weights are set to zero and only what comes after the attention is computed again; the text is not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from attentionology.analyses.explanation.batch import Rows, TextBatch
from attentionology.analyses.explanation.measures import jsd, tvd
from attentionology.extractors.maps.map_batch import FLOAT32_NOISE
from attentionology.extractors.replaceable.attention_model import AttentionModel

DRAWS = 5
"""Random orders per text."""

CELLS = 20_000_000
"""Attention weights to decode at once, at most, unless one change of a batch has more."""


def erased(
    model: AttentionModel, alpha: Float[Tensor, "batch k rows n"], gone: Bool[Tensor, "batch k n"]
) -> Float[Tensor, "batch k rows n"]:
    """Attention without some words, the rest scaled so that it sums to 1 again (Serrano & Smith 2019, §4).

    Where the model itself scales what it is given (``renormalise``), that is left to it. A row of which nothing is left
    stays zeros.
    """
    kept = alpha.masked_fill(gone[:, :, None], 0.0)
    if model.special == "renormalise":
        return kept
    left = kept.sum(-1, keepdim=True)
    return kept / torch.where(left > 0, left, 1.0)


def answers(
    batch: TextBatch, count: int, changed: Callable[[slice], Float[Tensor, "batch part rows n"]]
) -> Float[Tensor, "batch k classes"]:
    """Class probabilities under other attention, decoded in parts that fit into memory.

    Args:
        batch: the texts.
        count: changes per text, k.
        changed: the attention after some of them.
    """
    step = max(CELLS // max(batch.alpha.numel(), 1), 1)
    with torch.no_grad():
        parts = [batch.decoded(changed(slice(i, i + step))) for i in range(0, count, step)]
    return torch.cat([batch.probabilities[:, None][:, :0], *parts], dim=1).double()


def without(batch: TextBatch, gone: Bool[Tensor, "batch k n"]) -> Float[Tensor, "batch k classes"]:
    """Class probabilities when the weights of some words are taken out, k times per text."""

    def changed(part: slice) -> Tensor:
        taken = gone[:, part]
        return erased(batch.model, batch.alpha[:, None].expand(-1, taken.shape[1], -1, -1), taken)

    return answers(batch, gone.shape[1], changed)


def measures(batch: TextBatch) -> dict[str, Tensor]:
    """Importance of words by the attention and what can be computed from it, signed (Serrano & Smith 2019, §4, §5).

    Returns:
        each (batch, n), 0 outside the text: ``attention``: as a reader is shown it; ``gradient``: ∂p/∂α summed over the
        rows, p the probability of the predicted class, with everything before the attention as it was read;
        ``attention_gradient``: α · ∂p/∂α summed over the rows.
    """
    predicted = batch.probabilities.argmax(-1, keepdim=True)
    with torch.enable_grad():
        alpha = batch.alpha.detach()[:, None].clone().requires_grad_()
        probability = batch.decoded(alpha)[:, 0].gather(-1, predicted)
        (slope,) = torch.autograd.grad(probability.sum(), alpha)
    gradient, product = slope[:, 0].sum(1), (batch.alpha * slope[:, 0]).sum(1)
    return {
        "attention": batch.scores,
        "gradient": gradient.masked_fill(~batch.mask, 0.0),
        "attention_gradient": product.masked_fill(~batch.mask, 0.0),
    }


def random_scores(batch: TextBatch, draws: int) -> Float[Tensor, "batch draws n"]:
    """Scores without meaning, 0 outside the text; those of a text are the same in every batch."""
    scores = torch.zeros(len(batch), draws, batch.mask.shape[-1], dtype=torch.float64)
    for i, text in enumerate(batch.texts):
        scores[i, :, : len(text)] = torch.from_numpy(batch.generator(i, "removal").random((draws, len(text))))
    return scores


def orderings(batch: TextBatch, draws: int = DRAWS) -> dict[str, Tensor]:
    """Scores by which words are removed, the highest first (Serrano & Smith 2019, §5).

    Returns:
        each (batch, draws, n), one draw where nothing is random: the three `measures`, ``ascending`` (the least
        attention first) and ``random``.
    """
    fixed = measures(batch)
    fixed["ascending"] = -fixed["attention"]
    return {name: scores[:, None] for name, scores in fixed.items()} | {"random": random_scores(batch, draws)}


def ranks(scores: Float[Tensor, "batch k n"], mask: Bool[Tensor, "batch n"]) -> Int[Tensor, "batch k n"]:
    """0 for the word with the highest score; the earlier of two equal words first; padding after all words.

    Words whose scores only noise keeps apart are equal, as in `analyses.explanation.ties.levels`: otherwise another
    batch, which changes last digits, would change which of them comes first.
    """
    n = scores.shape[-1]
    ordered, order = scores.double().masked_fill(~mask[:, None], -torch.inf).sort(dim=-1, descending=True, stable=True)
    magnitude = torch.where(ordered.isfinite(), ordered.abs(), 0.0)
    cut = ordered[..., :-1] - ordered[..., 1:] > FLOAT32_NOISE * torch.maximum(magnitude[..., :-1], magnitude[..., 1:])
    level = functional.pad(cut.cumsum(-1), (1, 0))[..., :n]
    levels = torch.zeros_like(order).scatter(-1, order, level)
    return levels.argsort(dim=-1, stable=True).argsort(dim=-1)


def columns(values: Mapping[str, Tensor], there: Bool[Tensor, " batch"]) -> Rows:
    """One value per text, NaN where it has none."""
    return {name: value.double().masked_fill(~there, torch.nan).numpy() for name, value in values.items()}


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
