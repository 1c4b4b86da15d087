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

from ...extractors.replaceable.attention_model import LinearAttentionModel
from .batch import TextBatch
from .measures import jsd

EPSILON = 0.05
"""Largest TVD of the output. Jain & Wallace's text says 0.01 for classification; their figures are made with 0.05."""

_CELLS = 1 << 22  # pairs of words to try at once


def solvable(model: object) -> bool:
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
    # What full attention to each word adds to the log odds, z, is in float64.
    if not z.shape[1]:
        return z.sum(1), z.sum(1)
    f = z + bias
    p = torch.sigmoid((alpha * f).sum(1))
    one_word = _two_word_jsd(alpha, torch.ones_like(alpha)[:, :, None])[:, :, 0]
    one_word = one_word.masked_fill(~mask, -math.inf)
    # Where p − ε is below 0 or p + ε above 1, the logit is NaN: the output is not bounded on this side.
    bounds = [torch.logit(p - epsilon).nan_to_num(nan=-math.inf), torch.logit(p + epsilon).nan_to_num(nan=math.inf)]
    inside = (f >= bounds[0][:, None]) & (f <= bounds[1][:, None])
    best = one_word.masked_fill(~inside, 0.0).amax(1)
    for bound in bounds:
        # The pairs of long texts do not fit into memory together, so the first words are taken in parts.
        for part in torch.split(torch.arange(z.shape[1]), max(1, _CELLS // z.numel())):
            weight, crossing = _pairs(f, bound, mask, part)
            divergences = _two_word_jsd(alpha, weight, part).masked_fill(~crossing, 0.0)
            best = torch.maximum(best, divergences.amax((1, 2)))
    return best.clamp(min=0), one_word.amax(1).clamp(min=0)


def exactly_normalized(alpha: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
    """Normalize attention in float64, without the rounding of float32 sums. A text without words keeps its zeros."""
    double = alpha.double()
    total = double.sum(-1, keepdim=True)
    return double / torch.where(total > 0, total, 1.0)


def _pairs(
    f: Float[Tensor, "batch n"], bound: Float[Tensor, " batch"], mask: Bool[Tensor, "batch n"], part: Int[Tensor, " m"]
) -> tuple[Float[Tensor, "batch m n"], Bool[Tensor, "batch m n"]]:
    """Return the weights on the first words of pairs that meet a bound between both, and the mask of such pairs."""
    above, below = f[:, part, None], f[:, None, :]
    c = torch.where(bound.isfinite(), bound, 0.0)[:, None, None]
    crossing = (above > c) & (c > below) & bound.isfinite()[:, None, None]
    crossing &= mask[:, part, None] & mask[:, None, :]
    # The weight w on the first word solves w · above + (1 − w) · below = c.
    return torch.where(crossing, (c - below) / (above - below), 1.0), crossing


def exact_attention(batch: TextBatch, index: int, *, epsilon: float = EPSILON) -> Float[Tensor, " n"]:
    """Find the attention to one text that differs most and changes the probability by at most ε, see `exact_jsd`."""
    # The model must be `solvable`, and the text, at the 0-based index, must have at least two words.
    model, n = batch.model, len(batch.texts[index])
    assert isinstance(model, LinearAttentionModel)  # noqa: S101 the caller looked
    evidence, bias = model.evidence(batch.state)
    f = (evidence[index, :n, 1] - evidence[index, :n, 0] + bias[1] - bias[0]).detach().double()
    alpha = exactly_normalized(batch.alpha[index, 0, :n])
    p = torch.sigmoid(alpha @ f)
    tried = [alpha, *torch.eye(n, dtype=torch.float64)[(torch.sigmoid(f) - p).abs() <= epsilon]]
    for bound in (torch.logit(p - epsilon), torch.logit(p + epsilon)):
        weight, crossing = _pairs(f[None], bound[None], torch.ones(1, n, dtype=torch.bool), torch.arange(n))
        if crossing.any():
            far = _two_word_jsd(alpha[None], weight).masked_fill(~crossing, -math.inf)[0]
            i, j = divmod(int(far.argmax()), n)
            pair = torch.zeros(n, dtype=torch.float64)
            pair[i], pair[j] = weight[0, i, j], 1 - weight[0, i, j]
            tried.append(pair)
    candidates = torch.stack(tried)
    farthest: Tensor = candidates[jsd(candidates, alpha.expand_as(candidates)).argmax()]
    return farthest


def _two_word_jsd(
    alpha: Float[Tensor, "batch n"], weight: Float[Tensor, "batch m k"], part: Int[Tensor, " m"] | None = None
) -> Float[Tensor, "batch m k"]:
    """JSD(α, w on word i and 1 − w on word j) for pairs; of one column (k = 1) all weight is on word i."""
    # The words i are those in `part`, by default all.
    # Only two terms of the entropy of the mixture differ from those of α / 2.
    entr = torch.special.entr
    rest = entr(alpha / 2).sum(1)[:, None, None]
    i, j = (alpha if part is None else alpha[:, part])[:, :, None], alpha[:, None, :]
    mixed = rest - entr(i / 2) + entr((i + weight) / 2)
    if weight.shape[2] > 1:
        mixed = mixed - entr(j / 2) + entr((j + 1 - weight) / 2)
    entropy = entr(weight) + entr(1 - weight)
    divergence: Tensor = mixed - (entr(alpha).sum(1)[:, None, None] + entropy) / 2
    return divergence
