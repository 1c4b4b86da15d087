"""Are the most attended words needed for a prediction, and are they enough? (ERASER, DeYoung et al. 2020, §4.2)

Words are deleted, and what remains is read again as a text of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....extractors import TransformerAttention
from ....extractors.replaceable.attention_model import AttentionModel, Words, probabilities, replaced
from ..batch import Rows, TextBatch
from ..contract import PROBABILITY, Column, ExplanationTest, Question
from ..interventions import DRAWS, ORDERS, orderings, ranks
from ..options import ExplanationTestOptions

RANKINGS = ("attention", "gradient", "attention_gradient", "random")

PERCENT = (0, 1, 5, 10, 20, 50)
"""The shares of the words that are deleted, or kept alone; numbers of words are rounded up."""


def cuts(text: Words, order: Sequence[int]) -> list[tuple[Words, Words]]:
    """Return the text without its best words, and the best words alone, for each of `PERCENT` and an order of words."""
    pairs = []
    for percent in PERCENT:
        # This is computed in integers, because in floating-point numbers 0.01 · 700 is more than 7.
        best = set(order[: -(-percent * len(text) // 100)])
        rest = replaced(text, (word for position, word in enumerate(text) if position not in best))
        pairs.append((rest, replaced(text, (word for position, word in enumerate(text) if position in best))))
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
    shorter: dict[str, list[list[tuple[Words, Words]]]] = {}
    for name in RANKINGS:
        by_text = ranks(scores[name], batch.mask).argsort(dim=-1).tolist()
        shorter[name] = [
            [pair for order in by_draw for pair in cuts(text, order[: len(text)])] if text else []
            for text, by_draw in zip(batch.texts, by_text, strict=True)
        ]
    wanted = dict.fromkeys(text for by_text in shorter.values() for pairs in by_text for pair in pairs for text in pair)
    before = batch.probabilities.double().numpy()
    answer_to = dict(zip(wanted, probabilities(batch.model, list(wanted)).numpy(), strict=True))
    answer_to |= zip(batch.texts, before, strict=True)

    rows: Rows = {}
    for name, by_text in shorter.items():
        lost = np.full((2, len(batch)), np.nan)
        for i, (pairs, y) in enumerate(zip(by_text, batch.predicted, strict=True)):
            if pairs:
                lost[:, i] = before[i, y] - np.mean(
                    [[answer_to[rest][y], answer_to[best][y]] for rest, best in pairs], axis=0
                )
        rows[f"comprehensiveness_{name}"], rows[f"sufficiency_{name}"] = lost
    return rows


def _impossible(model: AttentionModel, options: ExplanationTestOptions) -> str | None:
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
    impossible=_impossible,
    examine=lambda batch, options: rationales(batch),
)
