"""Is it the only attention that gives this output? (Jain & Wallace 2019, §4.2.2)"""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attentionology.analyses.explanation.batch import Rows, TextBatch, single_words_out
from attentionology.analyses.explanation.exact_adversary import EPSILON, exact_jsd, exactly_normalised
from attentionology.analyses.explanation.measures import jsd, tvd
from attentionology.extractors.replaceable.attention_model import LinearAttentionModel

_HINGE = 0.01  # from here on the published loss punishes a change of the output, whatever ε is
_PENALTY = 500.0
_SPREAD = 3.0


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
        exactly_normalised(batch.alpha[:, 0]),
        batch.mask,
        epsilon,
    )
    return single_words_out(batch, {"exact_jsd": best.numpy(), "ceiling_jsd": ceiling.numpy()})


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
