"""How similar are the states that attention weighs? This describes the model and is part of every run."""

from __future__ import annotations

import numpy as np

from ....extractors import TransformerAttention
from ....extractors.replaceable.attention_model import state_of
from ....extractors.replaceable.continuation import TransformerState
from ....probes.classifiers import cosine_to_mean
from ....probes.classifiers.states import WordStates
from ..attention.batch import Rows, TextBatch
from ..contract.explanation_test import SHARE, Column, ExplanationTest


def conicity(batch: TextBatch) -> Rows:
    """Compute the mean cosine between the attended states and their mean (Mohankumar et al. 2020)."""
    cosines = cosine_to_mean(state_of(batch.state, WordStates).attended, batch.mask).double().sum(1).numpy()
    words = batch.mask.sum(1).numpy()
    return {"conicity": np.where(words > 0, cosines / np.maximum(words, 1), np.nan)}


def null_space(batch: TextBatch) -> Rows:
    """Compute the share of the heads in which other attention can give the same output (Brunner et al. 2020)."""
    # In these heads there are more positions than the dimension of the span of the value vectors plus one.
    model = batch.model
    assert isinstance(model, TransformerAttention)  # noqa: S101 the caller looked
    positions = state_of(batch.state, TransformerState).inside.sum(1, keepdim=True)
    # The other weights must also have the same sum, which takes one more dimension.
    return {"null_space": (model.value_rank(batch.state) + 1 < positions).double().mean(1).numpy()}


def states(batch: TextBatch) -> Rows:
    """Describe the states that this kind of model attends to."""
    if isinstance(batch.model, TransformerAttention):
        return null_space(batch)
    return conicity(batch) if isinstance(batch.state, WordStates) else {}


TEST = ExplanationTest(
    name="states",
    always=True,
    heading="How similar are the states that attention weighs?",
    columns={
        "conicity": Column("conicity of the states", "cosine"),
        "null_space": Column("heads whose values have fewer dimensions than there are positions", SHARE),
    },
    page="""
{% if "conicity" in there %}
<p>Conicity is the mean cosine between the state of each word and the mean of all states (Mohankumar et al. 2020). If it
is close to 1, all states of a text point in the same direction. It then matters little which of them gets the weight,
and attention can explain little.</p>
{% endif %}
{% if "null_space" in there %}
<p>If the values of a head have fewer dimensions than there are positions, its attention can be changed without changing
the output of the head (Brunner et al. 2020). The model then does not use all that a reader sees in this attention.</p>
{% endif %}
""",
    examine=lambda batch, options: states(batch),
)
