"""The attention that is as different as possible and gives the same output, computed exactly.

Jain & Wallace (2019, §4.2.2) ask for each text how far attention can move without moving the output by more than ε, and
search by gradient. For two classes and a classifier that is linear in the attention, the answer can be computed
exactly, and far faster. The output is then σ(z · a + b): it depends on the attention a only through one number, z · a,
the evidence of the words weighted by the attention. "The probability moves by ε at most" therefore bounds z · a from
below and above, and the attentions that are allowed form a polytope, the part of the simplex between two parallel
planes. The Jensen-Shannon divergence to the original attention is convex in a, and a convex function on a polytope has
its maximum at a vertex. A vertex of the simplex cut by planes lies on an edge of the simplex, so it gives weight to at
most two words: either one word whose evidence alone is within the bounds, or two words on either side of a bound, mixed
so that the bound is met exactly. There are n single words and fewer than n² pairs for each bound, and all of them are
tried. The search by gradient can only find less: it is bounded from above by the exact maximum, which also tests it.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ....extractors.replaceable.attention_model import LinearAttentionModel
from .batch import TextBatch
from .measures import jsd

EPSILON = 0.05
"""Largest TVD of the output. Jain & Wallace's text says 0.01 for classification; their figures are made with 0.05."""

_CELLS = 1 << 22  # pairs of words to try at once


def is_solvable(model: object) -> bool:
    """Whether the adversarial attention of this model can be computed exactly."""
    return isinstance(model, LinearAttentionModel) and len(model.classes) == 2


def exact_jsd(
    z: Float[Tensor, "batch n"],
    bias: float,
    alpha: Float[Tensor, "batch n"],
    mask: Bool[Tensor, "batch n"],
    epsilon: float,
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """Compute the largest JSD to ``alpha`` of attention that keeps σ(z · a + bias) within ``epsilon``, and of any."""
    # z: what full attention to each word adds to the log odds, in float64.
    if not z.shape[1]:  # no text has words
        return z.sum(1), z.sum(1)
    log_odds = z + bias  # with all attention on one word
    p = torch.sigmoid((alpha * log_odds).sum(1))
    # JSD is convex in the attention, so is largest at a vertex of what is allowed: one word, or two that meet a bound.
    one_word_jsd = _two_word_jsd(alpha, torch.ones_like(alpha)[:, :, None])[:, :, 0].masked_fill(~mask, -math.inf)
    # Where p − ε is below 0 or p + ε above 1, the logit is NaN: the output is not bounded on this side.
    lower = torch.logit(p - epsilon).nan_to_num(nan=-math.inf)
    upper = torch.logit(p + epsilon).nan_to_num(nan=math.inf)
    inside = (log_odds >= lower[:, None]) & (log_odds <= upper[:, None])
    largest = one_word_jsd.masked_fill(~inside, 0.0).amax(1)
    for bound in (lower, upper):
        # The pairs of long texts do not fit into memory together, so the first words are taken in parts.
        for first_words in torch.split(torch.arange(z.shape[1]), max(1, _CELLS // z.numel())):
            weight, crossing = _weights_that_meet(bound, log_odds, mask, first_words)
            pair_jsd = _two_word_jsd(alpha, weight, first_words).masked_fill(~crossing, 0.0)
            largest = torch.maximum(largest, pair_jsd.amax((1, 2)))
    return largest.clamp(min=0), one_word_jsd.amax(1).clamp(min=0)


def exactly_normalized(alpha: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
    """Normalize attention in float64, without the rounding of float32 sums. A text without words keeps its zeros."""
    double = alpha.double()
    total = double.sum(-1, keepdim=True)
    return double / torch.where(total > 0, total, 1.0)


def _weights_that_meet(
    bound: Float[Tensor, " batch"],
    log_odds: Float[Tensor, "batch n"],
    mask: Bool[Tensor, "batch n"],
    first_words: Int[Tensor, " m"],
) -> tuple[Float[Tensor, "batch m n"], Bool[Tensor, "batch m n"]]:
    """Return the weight on the first word of each pair with which the pair meets the bound, and which pairs can."""
    above, below = log_odds[:, first_words, None], log_odds[:, None, :]
    c = torch.where(bound.isfinite(), bound, 0.0)[:, None, None]
    crossing = (above > c) & (c > below) & bound.isfinite()[:, None, None]
    crossing &= mask[:, first_words, None] & mask[:, None, :]
    # The weight w on the first word solves w · above + (1 − w) · below = c.
    return torch.where(crossing, (c - below) / (above - below), 1.0), crossing


def exact_attention(batch: TextBatch, index: int, *, epsilon: float = EPSILON) -> Float[Tensor, " n"]:
    """Find the attention to one text that differs most and changes the probability by at most ε, see `exact_jsd`."""
    # The model must satisfy `is_solvable`, and the text, at the 0-based index, must have at least two words.
    model, n = batch.model, len(batch.texts[index])
    assert isinstance(model, LinearAttentionModel)  # noqa: S101 the caller looked
    evidence, bias = model.evidence(batch.state)
    log_odds = (evidence[index, :n, 1] - evidence[index, :n, 0] + bias[1] - bias[0]).detach().double()
    alpha = exactly_normalized(batch.alpha[index, 0, :n])
    p = torch.sigmoid(alpha @ log_odds)
    single_words = torch.eye(n, dtype=torch.float64)[(torch.sigmoid(log_odds) - p).abs() <= epsilon]
    candidates: list[Tensor] = [alpha, *single_words]
    every_word, all_words = torch.ones(1, n, dtype=torch.bool), torch.arange(n)
    for bound in (torch.logit(p - epsilon), torch.logit(p + epsilon)):
        weight, crossing = _weights_that_meet(bound[None], log_odds[None], every_word, all_words)
        if crossing.any():
            pair_jsd = _two_word_jsd(alpha[None], weight).masked_fill(~crossing, -math.inf)[0]
            first, second = divmod(int(pair_jsd.argmax()), n)
            pair = torch.zeros(n, dtype=torch.float64)
            pair[first], pair[second] = weight[0, first, second], 1 - weight[0, first, second]
            candidates.append(pair)
    divergences = jsd(torch.stack(candidates), alpha.expand(len(candidates), n))
    return candidates[int(divergences.argmax())]


def _two_word_jsd(
    alpha: Float[Tensor, "batch n"], weight: Float[Tensor, "batch m k"], first_words: Int[Tensor, " m"] | None = None
) -> Float[Tensor, "batch m k"]:
    """Return JSD(α, w on word i and 1 − w on word j) for pairs; of one column (k = 1) all weight is on word i."""
    # The words i are the first words, by default all.
    entr = torch.special.entr
    alpha_i, alpha_j = (alpha if first_words is None else alpha[:, first_words])[:, :, None], alpha[:, None, :]
    # Only two terms of the entropy of the mixture differ from those of α / 2.
    mixture_entropy = entr(alpha / 2).sum(1)[:, None, None] - entr(alpha_i / 2) + entr((alpha_i + weight) / 2)
    if weight.shape[2] > 1:
        mixture_entropy = mixture_entropy - entr(alpha_j / 2) + entr((alpha_j + 1 - weight) / 2)
    pair_entropy = entr(weight) + entr(1 - weight)
    divergence: Tensor = mixture_entropy - (entr(alpha).sum(1)[:, None, None] + pair_entropy) / 2
    return divergence
