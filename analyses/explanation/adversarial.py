"""Attention as different as possible that gives the same output (Jain & Wallace 2019, §4.2.2).

How far attention can move without moving the output by more than ε is one optimisation per text. The paper does it by
gradient; for two classes and a linear decoder it has an exact solution, which is better and far faster.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentionology.analyses.explanation.batch import Rows, TextBatch
from attentionology.analyses.explanation.counterfactual import single_words_out
from attentionology.analyses.explanation.measures import jsd, tvd
from attentionology.extractors.replaceable.attention_model import LinearAttentionModel

EPSILON = 0.05
"""Largest TVD of the output. Jain & Wallace's text says 0.01 for classification; their figures are made with 0.05."""

_HINGE = 0.01  # from here on the published loss punishes a change of the output, whatever ε is
_PENALTY = 500.0
_SPREAD = 3.0
_CELLS = 1 << 22  # pairs of words to try at once


def solvable(model: object) -> bool:
    """Whether the adversarial attention of this model can be computed exactly."""
    return isinstance(model, LinearAttentionModel) and len(model.classes) == 2


def exact(batch: TextBatch, *, epsilon: float = EPSILON) -> Rows:
    """The exact maximum, for two classes and logits that are linear in one row of attention.

    The output depends on the attention a only through z · a, so the attentions that are allowed form the polytope
    {a in the simplex, low ≤ z · a ≤ high}. JSD(α, ·) is convex, its maximum is at a vertex, and a vertex has at most
    two words with weight: single words inside the bounds, and pairs of words on either side of a bound with the weights
    that meet it. All of them are tried.

    Args:
        batch: texts as read by a model that is `solvable`.
        epsilon: largest change of the probability.

    Returns:
        ``exact_jsd``; ``ceiling_jsd``: the most that any attention reaches, whatever it says (all on one word; below
        ln 2 if every weight is above 0). NaN for texts of fewer than two words.
    """
    model = batch.model
    assert isinstance(model, LinearAttentionModel)  # noqa: S101 the caller looked
    evidence, bias = model.evidence(batch.state)
    best, ceiling = exact_jsd(
        (evidence[..., 1] - evidence[..., 0]).detach().double(),
        float((bias[1] - bias[0]).detach()),
        _exactly_normalised(batch.alpha[:, 0]),
        batch.mask,
        epsilon,
    )
    return single_words_out(batch, {"exact_jsd": best.numpy(), "ceiling_jsd": ceiling.numpy()})


def exact_jsd(
    z: Float[Tensor, "batch n"],
    bias: float,
    alpha: Float[Tensor, "batch n"],
    mask: Bool[Tensor, "batch n"],
    epsilon: float,
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """Largest JSD to ``alpha`` of any attention whose σ(z · a + bias) is within ``epsilon``, and without that bound.

    Args:
        z: what full attention to each word adds to the log odds; float64.
        bias: log odds without attention.
        alpha: the attention; sums to 1.
        mask: True at words.
        epsilon: largest change of the probability.
    """
    if not z.shape[1]:
        return z.sum(1), z.sum(1)
    f = z + bias
    p = torch.sigmoid((alpha * f).sum(1))
    one_word = _two_word_jsd(alpha, torch.ones_like(alpha)[:, :, None])[:, :, 0]
    one_word = one_word.masked_fill(~mask, -math.inf)
    bounds = [torch.logit(p - epsilon).nan_to_num(nan=-math.inf), torch.logit(p + epsilon).nan_to_num(nan=math.inf)]
    inside = (f >= bounds[0][:, None]) & (f <= bounds[1][:, None])
    best = one_word.masked_fill(~inside, 0.0).amax(1)
    for bound in bounds:
        for part in torch.split(torch.arange(z.shape[1]), max(1, _CELLS // z.numel())):
            weight, crossing = _pairs(f, bound, mask, part)
            found = _two_word_jsd(alpha, weight, part).masked_fill(~crossing, 0.0)
            best = torch.maximum(best, found.amax((1, 2)))
    return best.clamp(min=0), one_word.amax(1).clamp(min=0)


def _exactly_normalised(alpha: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch n"]:
    """In float64, without the rounding of float32 sums; a text without words keeps its zeros."""
    double = alpha.double()
    total = double.sum(-1, keepdim=True)
    return double / torch.where(total > 0, total, 1.0)


def _pairs(
    f: Float[Tensor, "batch n"], bound: Float[Tensor, " batch"], mask: Bool[Tensor, "batch n"], part: Int[Tensor, " m"]
) -> tuple[Float[Tensor, "batch m n"], Bool[Tensor, "batch m n"]]:
    """Weight on the first word of each pair on either side of a bound, so that it is met, and where there is one."""
    above, below = f[:, part, None], f[:, None, :]
    c = torch.where(bound.isfinite(), bound, 0.0)[:, None, None]
    crossing = (above > c) & (c > below) & bound.isfinite()[:, None, None]
    crossing &= mask[:, part, None] & mask[:, None, :]
    return torch.where(crossing, (c - below) / (above - below), 1.0), crossing


def exact_attention(batch: TextBatch, place: int, *, epsilon: float = EPSILON) -> Float[Tensor, " n"]:
    """The attention that `exact` finds for one text: the farthest that changes the probability by ε at most.

    Args:
        batch: texts as read by a model that is `solvable`.
        place: which text, one of at least two words.
        epsilon: largest change of the probability.
    """
    model, n = batch.model, len(batch.texts[place])
    assert isinstance(model, LinearAttentionModel)  # noqa: S101 the caller looked
    evidence, bias = model.evidence(batch.state)
    f = (evidence[place, :n, 1] - evidence[place, :n, 0] + bias[1] - bias[0]).detach().double()
    alpha = _exactly_normalised(batch.alpha[place, 0, :n])
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
    """JSD(α, w on word i and 1 − w on word j) for pairs; of one column (k = 1) all weight is on word i.

    Only two terms of the entropy of the mixture differ from those of α / 2.

    Args:
        alpha: the attention.
        weight: w of each pair.
        part: the words i; None: all.
    """
    entr = torch.special.entr
    rest = entr(alpha / 2).sum(1)[:, None, None]
    i, j = (alpha if part is None else alpha[:, part])[:, :, None], alpha[:, None, :]
    mixed = rest - entr(i / 2) + entr((i + weight) / 2)
    if weight.shape[2] > 1:
        mixed = mixed - entr(j / 2) + entr((j + 1 - weight) / 2)
    own = entr(weight) + entr(1 - weight)
    divergence: Tensor = mixed - (entr(alpha).sum(1)[:, None, None] + own) / 2
    return divergence


def by_gradient(batch: TextBatch, *, epsilon: float = EPSILON, attempts: int = 5, steps: int = 500) -> Rows:
    """The published search: several attentions per text by Adam, away from the original and from one another.

    Loss of one text: Σ_k [500 · max(0, TVD_k − 0.01) − JSD(a_k, α)] − mean over k, k' of JSD(a_k, a_k'); JSD is the
    mean over the rows. Of the results within ε the farthest counts; the original is always one of them.

    Args:
        batch: texts as read.
        epsilon: largest TVD of the output.
        attempts: attentions per text.
        steps: of Adam (amsgrad, learning rate 0.01), as published.

    Returns:
        ``adversarial_jsd``: the largest JSD found; ``adversarial_tvd``: of the output there. NaN for texts of fewer
        than two words.
    """
    alpha, mask = batch.alpha[:, None], batch.mask[:, None, None]
    logits = _initial(batch, attempts).to(alpha).requires_grad_()
    adam = torch.optim.Adam([logits], lr=0.01, amsgrad=True)

    def attention() -> Tensor:
        weights = logits.masked_fill(~mask, -math.inf)
        attended: Tensor = torch.where(mask.any(-1, keepdim=True), weights, 0.0).softmax(-1) * mask
        return attended

    first, second = torch.triu_indices(attempts, attempts, offset=1)
    with torch.enable_grad():
        for _ in range(steps):
            a = attention()
            off = tvd(batch.decoded(a), batch.probabilities[:, None])
            between = jsd(a[:, first], a[:, second]).mean(-1).sum(1) * 2 / attempts**2  # each pair counts twice
            loss = (_PENALTY * (off - _HINGE).clamp(min=0) - jsd(a, alpha).mean(-1)).sum(1) - between
            adam.zero_grad()
            (logits.grad,) = torch.autograd.grad(loss.sum(), logits)
            adam.step()
    with torch.no_grad():
        a = attention()
        off = tvd(batch.decoded(a), batch.probabilities[:, None])
        far = jsd(a, alpha).mean(-1).masked_fill(off > epsilon, 0.0)
    best = far.argmax(1, keepdim=True)
    reached = far.gather(1, best)[:, 0]
    moved = torch.where(reached > 0, off.gather(1, best)[:, 0], 0.0)
    return single_words_out(
        batch,
        {
            "adversarial_jsd": reached.double().numpy(),
            "adversarial_tvd": moved.double().numpy(),
        },
    )


def _initial(batch: TextBatch, attempts: int) -> Float[Tensor, "batch k rows n"]:
    """Published start: log of uniform plus normal noise of standard deviation 3."""
    rows, n = batch.alpha.shape[1:]
    start = np.zeros((len(batch), attempts, rows, n))
    for place, text in enumerate(batch.texts):
        noise = batch.generator(place, "adversarial").normal(size=(attempts, rows, len(text)))
        start[place, ..., : len(text)] = _SPREAD * noise - math.log(max(1, len(text)))
    return torch.from_numpy(start)
