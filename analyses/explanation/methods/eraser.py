"""Are the most attended words needed for a prediction, and are they enough? (ERASER, DeYoung et al. 2020, §4.2)

Words are deleted, and what remains is read again as a text of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....extractors import TransformerAttention
from ....extractors.replaceable.attention_model import AttentionModel, Words, probabilities_of_parts, replace_words
from ..attention.batch import Rows, TextBatch
from ..attention.interventions import DRAWS, ORDERS, orderings, ranks
from ..contract.explanation_test import PROBABILITY, Column, ExplanationTest, Question
from ..contract.options import ExplanationTestOptions

RANKINGS = ("attention", "gradient", "attention_gradient", "random")

PERCENT = (0, 1, 5, 10, 20, 50)
"""The shares of the words that are deleted, or kept alone; numbers of words are rounded up."""


def cuts(text: Words, order: Sequence[int]) -> list[tuple[Words, Words]]:
    """Return the text without its best words, and the best words alone, for each of `PERCENT` and an order of words."""
    pairs = []
    for percent in PERCENT:
        # This is rounded up in integers, because in floating-point numbers 0.01 · 700 is more than 7.
        count = -(-percent * len(text) // 100)
        best = set(order[:count])
        without_best = replace_words(text, (word for position, word in enumerate(text) if position not in best))
        best_alone = replace_words(text, (word for position, word in enumerate(text) if position in best))
        pairs.append((without_best, best_alone))
    return pairs


def rationales(batch: TextBatch, *, draws: int = DRAWS) -> Rows:
    """Compute comprehensiveness and sufficiency of the best words as the area over the perturbation curve."""
    # As published, AOPC = 1 / (|B| + 1) · Σ_{k=0}^{|B|} p(ŷ | x) − p(ŷ | x_k), in which ŷ is the class that is
    # predicted for the whole text x. There are |B| = 5 bins with the best 1, 5, 10, 20 and 50 % of the words, and a bin
    # k = 0 without words. This bin adds 0 to comprehensiveness, which is therefore 5/6 of the mean over the five bins,
    # and p(ŷ | x) − p(ŷ | no words) to sufficiency. (The published code takes the mean over the five bins alone.)
    # For comprehensiveness x_k is the text without the best words, so a higher value means that they are needed; for
    # sufficiency x_k are the best words alone, so a lower value means that they are enough. Of random orders the mean
    # is taken. Texts without words have neither.
    scores = orderings(batch, draws)
    pairs_of: dict[tuple[str, int], list[tuple[Words, Words]]] = {}  # by ranking and index of the text
    for name in RANKINGS:
        orders = ranks(scores[name], batch.mask).argsort(dim=-1).tolist()  # by text and draw
        for i, text in enumerate(batch.texts):
            if text:
                pairs_of[name, i] = [pair for order in orders[i] for pair in cuts(text, order[: len(text)])]
    # Every text is read once, however often it occurs, and the whole texts were read before.
    shortened = list(dict.fromkeys(text for pairs in pairs_of.values() for pair in pairs for text in pair))
    before = batch.probabilities.double().numpy()
    answer_to = dict(zip(shortened, probabilities_of_parts(batch.model, shortened).numpy(), strict=True))
    answer_to |= zip(batch.texts, before, strict=True)

    kinds = ("comprehensiveness", "sufficiency")  # in the order of a pair
    rows: Rows = {f"{kind}_{name}": np.full(len(batch), np.nan) for name in RANKINGS for kind in kinds}
    for (name, i), pairs in pairs_of.items():
        y = batch.predicted[i]
        after = np.mean([[answer_to[text][y] for text in pair] for pair in pairs], axis=0)
        for kind, lost in zip(kinds, before[i, y] - after, strict=True):
            rows[f"{kind}_{name}"][i] = lost
    return rows


def _reason_to_skip(model: AttentionModel, options: ExplanationTestOptions) -> str | None:
    """Return why the test cannot be run; None if it can."""
    if isinstance(model, TransformerAttention) and any(model.readable([()])):
        return "it needs a prediction for an empty text, which this model cannot read"
    return None


TEST = ExplanationTest(
    name="eraser",
    heading="Are the most attended words needed, and enough?",
    columns={
        f"{kind}_{name}": Column(f"{kind}, {ORDERS[name]}", PROBABILITY)
        for name in RANKINGS
        for kind in ("comprehensiveness", "sufficiency")
    },
    questions=(
        Question(
            "Are the most attended words needed for the decision?",
            "loss of probability of the decision without these words, against without random words (comprehensiveness)",
            "comprehensiveness_attention",
            "comprehensiveness_random",
            "Deleting them lowers the probability of the decision more than deleting random words.",
            "Deleting them lowers the probability of the decision less than deleting random words.",
        ),
        Question(
            "Are the most attended words enough for the decision?",
            "loss of probability of the decision with these words alone, against with random words (sufficiency); less "
            "is better",
            "sufficiency_random",
            "sufficiency_attention",
            "These words alone lower the probability of the decision less than random words alone.",
            "These words alone lower the probability of the decision more than random words alone.",
            floor_is_larger=True,
        ),
    ),
    shown=tuple(f"{kind}_{name}" for kind in ("comprehensiveness", "sufficiency") for name in RANKINGS),
    key=("comprehensiveness_attention", "sufficiency_attention"),
    page="""
<p>The best 1, 5, 10, 20 and 50 % of the words are deleted, or kept alone, and what is left is read as a text of its own
(DeYoung et al. 2020, §4.2). Comprehensiveness is how much probability the decision loses without these words: more is
better. Sufficiency is how much it loses with these words alone: less is better. Texts with missing words are unlike
those in training, which may explain a part of the loss; the random order shows how much.</p>
""",
    impossible=_reason_to_skip,
    examine=lambda batch, options: rationales(batch),
)
