"""Examples for the page: texts with attention, with gradients, and with other attention that gives the same output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...corpora_loaders import LabelledTexts
from ...extractors import AttentionModel
from ..shared.resampling import sentence_keys
from .batch import read
from .exact_adversary import exact_attention, solvable
from .measures import jsd
from .results import Highlight, HighlightedText
from .tests.correlation import gradient_importance

_HOW_MANY = 4
_SHORTEST, _LONGEST = 5, 25  # in words; such texts can be read at a glance


def highlighted_texts(
    model: AttentionModel, texts: LabelledTexts, labels: Sequence[int], epsilon: float, seed: int
) -> tuple[HighlightedText, ...]:
    """Return a few texts with the weights of their words.

    The texts are sampled deterministically by a hash of their ids. They have 5 to 25 words if there are such texts.
    """
    fitting = [i for i, text in enumerate(texts) if _SHORTEST <= len(text) <= _LONGEST]
    fitting = fitting or [i for i, text in enumerate(texts) if len(text) > 1]
    keys = sentence_keys([texts[i].id for i in fitting], seed)
    drawn = [fitting[i] for i in np.argsort(keys, kind="stable")[:_HOW_MANY].tolist()]
    shown = []
    for i in drawn:
        batch = read(model, [texts[i].id], [texts[i].words], seed)
        n, predicted = len(texts[i]), int(batch.predicted[0])
        panels = [
            Highlight("attention", tuple(batch.scores[0, :n].tolist())),
            Highlight("gradient × input", tuple(gradient_importance(model, batch.texts)[0, :n].tolist())),
        ]
        if solvable(model):
            other = exact_attention(batch, 0, epsilon=epsilon)
            far = jsd(other, batch.alpha[0, 0, :n].double()).item()
            note = f"JSD {far:.2f}; the probability changes by {epsilon:g} at most"
            panels.append(Highlight("other attention, same output", tuple(other.tolist()), note))
        shown.append(
            HighlightedText(
                words=texts[i].words,
                label=model.classes[labels[i]],
                predicted=model.classes[predicted],
                probability=float(batch.probabilities[0, predicted]),
                panels=tuple(panels),
            )
        )
    return tuple(shown)
