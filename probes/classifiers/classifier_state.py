"""What a classifier remembers of the texts that it has read, in order to continue with other attention."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from ...extractors import TextState


@dataclass(frozen=True, eq=False)
class ClassifierState(TextState):
    """A batch of texts as an `AttentionClassifier` has read them.

    Attributes:
        evidence: what full attention to each word adds to the logits, without the bias; for two classes, to their one
            logit.
        attended: the states that the attention weighs, after ``concat`` or ``residual``.
        hidden: the states as the encoder gives them.
        words: the embeddings of the words.
        ids: the ids of ``[SOS] words [EOS]``, padded.
        lengths: the numbers of words, plus 2.
    """

    evidence: Float[Tensor, "batch n logits"]
    attended: Float[Tensor, "batch n attended"]
    hidden: Float[Tensor, "batch n size"]
    words: Float[Tensor, "batch n dim"]
    ids: Int[Tensor, "batch positions"]
    lengths: Int[Tensor, " batch"]
