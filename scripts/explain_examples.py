"""A few texts of ``attentionology explain`` to look at: attention, gradients, other attention with the same output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attentionology.analyses.explanation.batch import read
from attentionology.analyses.explanation.exact_adversary import exact_attention, solvable
from attentionology.analyses.explanation.measures import jsd
from attentionology.analyses.explanation.tests.correlation import gradient_importance
from attentionology.analyses.shared.resampling import sentence_keys

if TYPE_CHECKING:
    from attentionology.corpora_loaders import LabelledTexts
    from attentionology.extractors import AttentionModel

_HOW_MANY = 4
_SHORTEST, _LONGEST = 5, 25  # words; what can be taken in at a glance


def examples(
    model: AttentionModel, texts: LabelledTexts, labels: Sequence[int], epsilon: float, seed: int
) -> list[dict[str, Any]]:
    """Texts drawn by a hash among those of 5 to 25 words (if there are any), with weights of their words."""
    fitting = [i for i, text in enumerate(texts) if _SHORTEST <= len(text) <= _LONGEST]
    fitting = fitting or [i for i, text in enumerate(texts) if len(text) > 1]
    keys = sentence_keys([texts[i].id for i in fitting], seed)
    drawn = [fitting[i] for i in np.argsort(keys, kind="stable")[:_HOW_MANY].tolist()]
    found = []
    for i in drawn:
        batch = read(model, [texts[i].id], [texts[i].words], seed)
        n, predicted = len(texts[i]), int(batch.predicted[0])
        panels: list[dict[str, Any]] = [
            {"name": "attention", "weights": batch.scores[0, :n].tolist(), "note": ""},
            {
                "name": "gradient × input",
                "weights": gradient_importance(model, batch.texts)[0, :n].tolist(),
                "note": "",
            },
        ]
        if solvable(model):
            other = exact_attention(batch, 0, epsilon=epsilon)
            far = jsd(other, batch.alpha[0, 0, :n].double()).item()
            panels.append(
                {
                    "name": "other attention, same output",
                    "weights": other.tolist(),
                    "note": f"JSD {far:.2f}; the probability changes by {epsilon:g} at most",
                }
            )
        found.append(
            {
                "words": list(texts[i].words),
                "label": model.classes[labels[i]],
                "predicted": model.classes[predicted],
                "probability": float(batch.probabilities[0, predicted]),
                "panels": panels,
            }
        )
    return found
