"""Changes of the attention to a text, and the orders in which the weights of words are removed (Serrano & Smith 2019).

The text is read once. After a change, only the part of the model that comes after the attention is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from ....extractors.kinds.registry import FLOAT32_NOISE
from ....extractors.replaceable.attention_model import AttentionModel, Special
from ....storage.nearest import check_choice
from .batch import Rows, TextBatch

ORDERS = {
    "attention": "attention",
    "gradient": "gradient",
    "attention_gradient": "attention × gradient",
    "random": "random order",
    "ascending": "least attention first",
}
"""The names of the orders in which words are removed: those in names of columns, and those that people read."""

DRAWS = 5
"""The number of random orders per text."""

CELLS = 20_000_000
"""The largest number of attention weights that are decoded at once. A single change of a whole batch is never divided,
even if it has more weights."""


def erase(
    model: AttentionModel, alpha: Float[Tensor, "batch k rows n"], gone: Bool[Tensor, "batch k n"]
) -> Float[Tensor, "batch k rows n"]:
    """Return attention without the words that are ``gone``, scaled to sum to 1 again (Serrano & Smith 2019, §4)."""
    # A model with special="renormalize" scales the weights that it is given itself, so they are not scaled here. If no
    # word of a row is left, its weights are all 0.
    check_choice("special", model.special, Special)  # a model of another package may have any value
    kept = alpha.masked_fill(gone[:, :, None], 0.0)
    if model.special == "renormalize":
        return kept
    left = kept.sum(-1, keepdim=True)
    return kept / torch.where(left > 0, left, 1.0)


def answers(
    batch: TextBatch, count: int, changed: Callable[[slice], Float[Tensor, "batch part rows n"]]
) -> Float[Tensor, "batch k classes"]:
    """Compute class probabilities after ``count`` (k) changes of the attention per text, made by ``changed``."""
    # ``changed`` gets a slice of the numbers of the changes, and returns the attention after each of them. A slice has
    # at most `CELLS` weights, to save memory.
    step = max(CELLS // max(batch.alpha.numel(), 1), 1)
    no_change = batch.probabilities[:, None][:, :0]  # has the shape of the result if the count is 0
    with torch.no_grad():
        parts = [batch.decoded(changed(slice(start, start + step))) for start in range(0, count, step)]
    return torch.cat([no_change, *parts], dim=1).double()


def answers_without(batch: TextBatch, gone: Bool[Tensor, "batch k n"]) -> Float[Tensor, "batch k classes"]:
    """Compute class probabilities without the words that are ``gone``, for k choices of such words in each text."""

    def change(part: slice) -> Tensor:
        gone_in_part = gone[:, part]
        alpha = batch.alpha[:, None].expand(-1, gone_in_part.shape[1], -1, -1)  # the same before each change
        return erase(batch.model, alpha, gone_in_part)

    return answers(batch, gone.shape[1], change)


def importance(batch: TextBatch) -> dict[str, Tensor]:
    """Return the importance of each word, with its sign, as (batch, n), by measure (Serrano & Smith 2019, §4, §5)."""
    # The measure “attention” has the scores that people see. The gradient is ∂p/∂α, summed over the rows of attention,
    # where p is the probability of the predicted class, and everything before the attention is constant. All measures
    # are 0 outside the text.
    predicted = batch.probabilities.argmax(-1, keepdim=True)
    with torch.enable_grad():
        alpha = batch.alpha.detach()[:, None].clone().requires_grad_()
        probability = batch.decoded(alpha)[:, 0].gather(-1, predicted)
        (slope,) = torch.autograd.grad(probability.sum(), alpha)
    slope = slope[:, 0]  # of the only attention per text, shape (batch, rows, n)
    return {
        "attention": batch.scores,
        "gradient": slope.sum(1).masked_fill(~batch.mask, 0.0),
        "attention_gradient": (batch.alpha * slope).sum(1).masked_fill(~batch.mask, 0.0),
    }


def orderings(batch: TextBatch, draws: int = DRAWS) -> dict[str, Tensor]:
    """Return scores for each of `ORDERS`, as (batch, draws, n). The word with the highest score is removed first."""
    # Only the random order has several draws; the others are fixed, and have one (Serrano & Smith 2019, §5).
    fixed = importance(batch)
    fixed["ascending"] = -fixed["attention"]
    random = torch.zeros(len(batch), draws, batch.mask.shape[-1], dtype=torch.float64)
    for i, text in enumerate(batch.texts):  # each text has its own generator, so its scores are the same in any batch
        random[i, :, : len(text)] = torch.from_numpy(batch.generator(i, "removal").random((draws, len(text))))
    return {name: scores[:, None] for name, scores in fixed.items()} | {"random": random}


def ranks(scores: Float[Tensor, "batch k n"], mask: Bool[Tensor, "batch n"]) -> Int[Tensor, "batch k n"]:
    """Return the ranks of words: 0 for the highest score; of two equal words, the first one is ranked before the other.

    Padding is ranked after all words.
    """
    # Words whose scores differ by noise at most are equal, as in `levels` of the module
    # `attentionology.analyses.explanation.attention.measures`. The last digits of scores depend on the other texts of a
    # batch, and would otherwise decide which word comes first.
    n = scores.shape[-1]
    ordered, order = scores.double().masked_fill(~mask[:, None], -torch.inf).sort(dim=-1, descending=True, stable=True)
    magnitude = torch.where(ordered.isfinite(), ordered.abs(), 0.0)
    # A new level begins, as in `levels`, wherever two neighbors in the order are farther apart than noise.
    cut = ordered[..., :-1] - ordered[..., 1:] > FLOAT32_NOISE * torch.maximum(magnitude[..., :-1], magnitude[..., 1:])
    level = functional.pad(cut.cumsum(-1), (1, 0))[..., :n]
    # Levels are put back in the order of the text, where a stable sort ranks the first of two equal words first.
    levels = torch.zeros_like(order).scatter(-1, order, level)
    return levels.argsort(dim=-1, stable=True).argsort(dim=-1)


def columns(values: Mapping[str, Tensor], has_value: Bool[Tensor, " batch"]) -> Rows:
    """Convert tensors into columns, which have one value per text, or NaN for texts without a value."""
    return {name: value.double().masked_fill(~has_value, torch.nan).numpy() for name, value in values.items()}
