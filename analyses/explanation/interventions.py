"""Attention that was changed, and the orders in which words are taken out (Serrano & Smith 2019).

Only what comes after the attention is computed again; the text is not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from ...extractors.maps.map_batch import FLOAT32_NOISE
from ...extractors.replaceable.attention_model import AttentionModel
from .batch import Rows, TextBatch

ORDERS = {
    "attention": "attention",
    "gradient": "gradient",
    "attention_gradient": "attention × gradient",
    "random": "random order",
    "ascending": "least attention first",
}
"""Orders in which words are taken out, as they are called in columns, and for a reader."""

DRAWS = 5
"""The number of random orders per text."""

CELLS = 20_000_000
"""The largest number of attention weights to decode at once, unless a single change of a batch has more."""


def erased(
    model: AttentionModel, alpha: Float[Tensor, "batch k rows n"], gone: Bool[Tensor, "batch k n"]
) -> Float[Tensor, "batch k rows n"]:
    """Attention without some words, the rest scaled so that it sums to 1 again (Serrano & Smith 2019, §4)."""
    # Where the model itself scales what it is given (`renormalise`), that is left to it. A row of which nothing is left
    # stays zeros.
    kept = alpha.masked_fill(gone[:, :, None], 0.0)
    if model.special == "renormalise":
        return kept
    left = kept.sum(-1, keepdim=True)
    return kept / torch.where(left > 0, left, 1.0)


def answers(
    batch: TextBatch, count: int, changed: Callable[[slice], Float[Tensor, "batch part rows n"]]
) -> Float[Tensor, "batch k classes"]:
    """Compute class probabilities after k changes of the attention per text, which ``changed`` makes in parts."""
    # The parts fit into memory.
    step = max(CELLS // max(batch.alpha.numel(), 1), 1)
    with torch.no_grad():
        parts = [batch.decoded(changed(slice(i, i + step))) for i in range(0, count, step)]
    return torch.cat([batch.probabilities[:, None][:, :0], *parts], dim=1).double()


def without(batch: TextBatch, gone: Bool[Tensor, "batch k n"]) -> Float[Tensor, "batch k classes"]:
    """Compute class probabilities without the weights of some words, k times per text."""

    def changed(part: slice) -> Tensor:
        taken = gone[:, part]
        return erased(batch.model, batch.alpha[:, None].expand(-1, taken.shape[1], -1, -1), taken)

    return answers(batch, gone.shape[1], changed)


def measures(batch: TextBatch) -> dict[str, Tensor]:
    """Importance of words by the attention and what can be computed from it, signed (Serrano & Smith 2019, §4, §5)."""
    # Attention is as a reader is shown it. The gradient is ∂p/∂α summed over the rows, p the probability of the
    # predicted class, with everything before the attention as it was read. All are 0 outside the text.
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
    """Draw random scores of words, which are the same for a text in every batch; 0 outside the text."""
    scores = torch.zeros(len(batch), draws, batch.mask.shape[-1], dtype=torch.float64)
    for i, text in enumerate(batch.texts):
        scores[i, :, : len(text)] = torch.from_numpy(batch.generator(i, "removal").random((draws, len(text))))
    return scores


def orderings(batch: TextBatch, draws: int = DRAWS) -> dict[str, Tensor]:
    """Scores by which words are removed, the highest first, as (batch, draws, n) (Serrano & Smith 2019, §5)."""
    fixed = measures(batch)
    fixed["ascending"] = -fixed["attention"]
    return {name: scores[:, None] for name, scores in fixed.items()} | {"random": random_scores(batch, draws)}


def ranks(scores: Float[Tensor, "batch k n"], mask: Bool[Tensor, "batch n"]) -> Int[Tensor, "batch k n"]:
    """0 for the word with the highest score; the earlier of two equal words first; padding after all words."""
    # Words whose scores only noise keeps apart are equal, as in `attentionology.analyses.explanation.measures.levels`:
    # otherwise another batch, which changes last digits, would change which of them comes first.
    n = scores.shape[-1]
    ordered, order = scores.double().masked_fill(~mask[:, None], -torch.inf).sort(dim=-1, descending=True, stable=True)
    magnitude = torch.where(ordered.isfinite(), ordered.abs(), 0.0)
    # Words are cut into levels as `levels` does it, wherever two neighbors in the order are farther apart than noise.
    cut = ordered[..., :-1] - ordered[..., 1:] > FLOAT32_NOISE * torch.maximum(magnitude[..., :-1], magnitude[..., 1:])
    level = functional.pad(cut.cumsum(-1), (1, 0))[..., :n]
    # The levels go back to the positions of the words, where a stable sort puts the earlier of two equal words first.
    levels = torch.zeros_like(order).scatter(-1, order, level)
    return levels.argsort(dim=-1, stable=True).argsort(dim=-1)


def columns(values: Mapping[str, Tensor], there: Bool[Tensor, " batch"]) -> Rows:
    """Convert tensors into columns: one value per text, NaN where a text has none."""
    return {name: value.double().masked_fill(~there, torch.nan).numpy() for name, value in values.items()}
