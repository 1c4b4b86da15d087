"""Batches of texts as classifiers have read them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...extractors.replaceable.attention_model import TextState


@dataclass(frozen=True, eq=False)
class WordStates(TextState):
    """A batch of texts as a classifier has read them."""

    attended: Float[Tensor, "batch n attended"]  # the states that attention weighs, after ``concat`` or ``residual``
    hidden: Float[Tensor, "batch n size"]  # the states as the encoder gives them
    words: Float[Tensor, "batch n encoded"]  # what is encoded: the embeddings of words, or the vectors of sentences
    ids: Int[Tensor, "batch positions"]  # those of ``[SOS] words [EOS]``, padded
    lengths: Int[Tensor, " batch"]  # the numbers of words, plus 2


@dataclass(frozen=True, eq=False)
class ClassifierState(WordStates):
    """A batch of texts as a classifier of texts without queries has read them."""

    evidence: Float[Tensor, "batch n logits"]  # what full attention to a word adds to the logits; of two classes to one


def normalize(scores: Float[Tensor, "batch n"], mask: Bool[Tensor, "batch n"]) -> Float[Tensor, "batch 1 n"]:
    """Return the softmax of scores over the words of each text. A text without words has a row of zeros."""
    scores = scores.masked_fill(~mask, -math.inf)
    # The softmax of −∞ alone is NaN, and would stay NaN when it is multiplied by 0.
    return (torch.where(mask.any(1)[:, None], scores, 0.0).softmax(-1) * mask)[:, None]
