"""Does attention rank words as other measures of importance do? Kendall's τ (Jain & Wallace 2019, §4.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import kendalltau
from torch import Tensor

from attentionology.analyses.explanation.batch import Column, Rows, TextBatch, read
from attentionology.analyses.explanation.measures import tvd
from attentionology.analyses.explanation.ties import GRADIENTS, LEFT_OUT, WEIGHTS, levels
from attentionology.extractors.replaceable.attention_model import AttentionModel, Words, drop, probabilities

SIGNIFICANT = 0.05
"""Two-sided p up to which a τ counts as significant."""


def correlation(batch: TextBatch) -> Rows:
    """Kendall's τ-b between attention and other measures, and between these.

    Every text is read by itself here, as its last digits depend on what else is in a batch, and a τ can depend on last
    digits: the same text has the same τ in every company. What only noise keeps apart is a tie, see
    `attentionology.analyses.explanation.ties`.

    Args:
        batch: the texts.

    Returns:
        ``tau_*`` and ``p_*`` for attention with ``gradient``, ``loo`` (leave one out) and ``random`` (scores drawn at
        random: the floor), and ``gradient_loo`` for these two with one another. NaN where τ is not defined: a text of
        fewer than two words, or the same score for all words.
    """
    attention, gradient, left_out = [], [], []
    for text in batch.texts:
        alone = read(batch.model, ("",), (text,), batch.seed)
        words = slice(len(text))
        (loo,) = leave_one_out(batch.model, (text,), alone.probabilities)
        attention.append(levels(alone.scores[0, words].double().numpy(), WEIGHTS))
        gradient.append(levels(gradient_importance(batch.model, (text,))[0, words].numpy(), GRADIENTS))
        left_out.append(levels(loo, LEFT_OUT))
    random = [batch.generator(i, "correlation").random(len(text)) for i, text in enumerate(batch.texts)]
    rows: Rows = {}
    for name, first, second in (
        ("gradient", attention, gradient),
        ("loo", attention, left_out),
        ("gradient_loo", gradient, left_out),
        ("random", attention, random),
    ):
        rows[f"tau_{name}"], rows[f"p_{name}"] = kendall(first, second)
    return rows


def kendall(first: Sequence[Column], second: Sequence[Column]) -> tuple[Column, Column]:
    """τ-b and its two-sided p of each pair; NaN where it is not defined. Only equal numbers are ties."""
    result = np.full((2, len(first)), np.nan)
    for i, (scores, others) in enumerate(zip(first, second, strict=True)):
        if len(scores) > 1 and np.ptp(scores) > 0 and np.ptp(others) > 0:
            result[:, i] = kendalltau(scores, others)
    return result[0], result[1]


def gradient_importance(model: AttentionModel, texts: Sequence[Words]) -> Float[Tensor, "batch n"]:
    """Gradient × input with the attention held fixed, normalised to 1.

    g_t = Σ over classes of |Σ_d ∂p/∂e_td · e_td|, e the input embeddings; those of the pieces of a word are added up
    before the absolute value is taken. Attention is cut out of the computational graph in the model's scope: gradients
    do not pass through the weights (Jain & Wallace 2019, §3, with the input embedding of the observed word).

    With respect to the *attended states* the gradient of a linear classifier would be α_t times a constant, and its τ
    with attention 1 whatever the model does; so it is not offered.

    Args:
        model: the classifier.
        texts: a batch.
    """
    with torch.enable_grad():
        state = model.encode(texts, gradient=True)
        alpha, mask = model.attention(state)
        embeddings = model.embeddings(state)
        p = model.decode(state, alpha.detach()[:, None])[:, 0].double().softmax(-1)
        # Of two classes both have the same gradient but for the sign.
        classes = range(p.shape[1]) if p.shape[1] > 2 else (1,)
        gradients = [torch.autograd.grad(p[:, c].sum(), embeddings, retain_graph=True)[0] for c in classes]
    importance = torch.zeros(mask.shape, dtype=torch.float64)
    for gradient in gradients:
        per_position = (gradient * embeddings.detach()).sum(-1).double()
        importance += to_words(per_position, state.word_of, mask.shape[1]).abs()
    total = importance.sum(1, keepdim=True)
    return importance / torch.where(total > 0, total, 1.0)


def to_words(values: Float[Tensor, "batch positions"], word_of: Tensor, n: int) -> Float[Tensor, "batch n"]:
    """Values of input positions added up by word; special tokens and padding are left out."""
    added = values.new_zeros(len(values), n + 1)
    added.scatter_add_(1, torch.where(word_of >= 0, word_of, n), values)
    return added[:, :n]


def leave_one_out(
    model: AttentionModel, texts: Sequence[Words], original: Float[Tensor, "batch classes"]
) -> list[Column]:
    """TVD between what the model says of the text and of the text without each word (Jain & Wallace 2019, §3).

    The word is deleted, not masked, and everything is computed anew. NaN for a text of one word.
    """
    longer = [place for place, text in enumerate(texts) if len(text) > 1]  # without its only word there is no text
    shorter = [drop(texts[i], place) for i in longer for place in range(len(texts[i]))]
    distances: list[Column] = [np.full(len(text), np.nan) for text in texts]
    if shorter:
        counts = [len(texts[i]) for i in longer]
        full = original.double()[longer].repeat_interleave(torch.tensor(counts), dim=0)
        found = tvd(probabilities(model, shorter), full).numpy()
        for i, own in zip(longer, np.split(found, np.cumsum(counts)[:-1]), strict=True):
            distances[i] = own
    return distances
