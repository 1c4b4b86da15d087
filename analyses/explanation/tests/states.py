"""How alike are the states that attention weighs? A description of the model, whatever tests are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from attentionology.analyses.explanation.batch import Rows, TextBatch
from attentionology.analyses.explanation.contract import SHARE, Column, ExplanationTest
from attentionology.analyses.explanation.options import ExplanationTestOptions
from attentionology.extractors import TransformerAttention
from attentionology.extractors.replaceable.attention_model import state_of
from attentionology.extractors.replaceable.transformer_state import TransformerState
from attentionology.probes.classifiers import cosine_to_mean
from attentionology.probes.classifiers.classifier_state import ClassifierState


class States(ExplanationTest):
    """Conicity of the states of a classifier; null space of the values of a transformer."""

    name = "states"
    always = True
    heading = "How alike are the states that attention weighs?"
    columns: ClassVar[Mapping[str, Column]] = {
        "conicity": Column("conicity of the states", "cosine"),
        "null_space": Column("heads whose values have fewer dimensions than there are positions", SHARE),
    }
    page = """
{% if "conicity" in there %}
<p>Conicity is the mean cosine of the states of the words with their mean (Mohankumar et al. 2020). Close to 1, all
states of a text point the same way; then it matters little which of them gets the weight, and attention has little to
say.</p>
{% endif %}
{% if "null_space" in there %}
<p>Where the values of a head have fewer dimensions than there are positions, its attention may be changed without any
change of what it passes on (Brunner et al. 2020). What is read off such attention is not all read by the model.</p>
{% endif %}
"""

    def examine(self, batch: TextBatch, options: ExplanationTestOptions) -> Rows:
        """Describe the states that this kind of model attends to."""
        if isinstance(batch.model, TransformerAttention):
            return null_space(batch)
        return conicity(batch) if isinstance(batch.state, ClassifierState) else {}


def conicity(batch: TextBatch) -> Rows:
    """Mean cosine of the attended states with their mean, by text; NaN for no words (Mohankumar et al. 2020)."""
    cosines = cosine_to_mean(state_of(batch.state, ClassifierState).attended, batch.mask).double().sum(1).numpy()
    words = batch.mask.sum(1).numpy()
    return {"conicity": np.where(words > 0, cosines / np.maximum(words, 1), np.nan)}


def null_space(batch: TextBatch) -> Rows:
    """Share of the heads in which other attention may give the very same output (Brunner et al. 2020).

    That is, where there are more positions than the value vectors span, and one.
    """
    model = batch.model
    assert isinstance(model, TransformerAttention)  # noqa: S101 the caller looked
    positions = state_of(batch.state, TransformerState).inside.sum(1, keepdim=True)
    # Other weights must have the same sum, too, which takes one more dimension.
    return {"null_space": (model.value_rank(batch.state) + 1 < positions).double().mean(1).numpy()}
