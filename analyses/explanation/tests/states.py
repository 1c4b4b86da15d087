"""How alike are the states that attention weighs?"""

from __future__ import annotations

import numpy as np

from attentionology.analyses.explanation.batch import Rows, TextBatch
from attentionology.extractors import TransformerAttention
from attentionology.probes.classifiers import cosine_to_mean


def conicity(batch: TextBatch) -> Rows:
    """Mean cosine of the attended states with their mean, by text; NaN for no words (Mohankumar et al. 2020)."""
    cosines = cosine_to_mean(batch.state.memory["attended"], batch.mask).double().sum(1).numpy()
    words = batch.mask.sum(1).numpy()
    return {"conicity": np.where(words > 0, cosines / np.maximum(words, 1), np.nan)}


def null_space(batch: TextBatch) -> Rows:
    """Share of the heads in which other attention may give the very same output (Brunner et al. 2020).

    That is, where there are more positions than the value vectors span, and one.
    """
    model = batch.model
    assert isinstance(model, TransformerAttention)  # noqa: S101 the caller looked
    positions = batch.state.memory["mask"].sum(1, keepdim=True)
    # Other weights must have the same sum, too, which takes one more dimension.
    return {"null_space": (model.value_rank(batch.state) + 1 < positions).double().mean(1).numpy()}
