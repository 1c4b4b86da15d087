"""Which scores of the words of a text are ties: those that floating-point noise cannot tell apart.

Scores are computed in float32. In which order and in which batches texts are read changes their last digits, and with
them the order of words whose scores are equal, such as those of a word that occurs twice where context plays no part.
A rank correlation must not depend on that, so scores that are closer than the noise share a rank. How large the noise
is depends on how a score is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attentionology.analyses.explanation.batch import Values
from attentionology.extractors.maps.map_batch import FLOAT32_NOISE


class Noise(NamedTuple):
    """How close two scores of a text are if only noise keeps them apart.

    Attributes:
        relative: share of the larger of the two, in magnitude.
        absolute: difference.
    """

    relative: float = 0.0
    absolute: float = 0.0


WEIGHTS = Noise(FLOAT32_NOISE, float(np.finfo(np.float32).tiny))
"""Weights of a softmax and norms of vectors: every one has the same number of correct digits, however small it is,
down to the smallest number that float32 holds in full."""

GRADIENTS = Noise(absolute=2e-6)
"""Gradient × input, of which the scores of a text sum to 1: a sum over dimensions with both signs, so a score that is
almost 0 is as wrong as one that is large."""

LEFT_OUT = Noise(absolute=2e-7)
"""Differences of probabilities: a tiny difference is as wrong as the two probabilities."""


def levels(scores: Values, noise: Noise) -> Values:
    """Ranks from 0 upwards; ties share a rank.

    The scores are sorted and cut wherever two neighbors are farther apart than the noise. What lies between two cuts is
    a tie. This is transitive and does not depend on the order in which the scores are given.

    Args:
        scores: of the words of a text; shape (words,).
        noise: of these scores.
    """
    order = np.argsort(scores, kind="stable")
    ascending = scores[order]
    larger = np.maximum(np.abs(ascending[1:]), np.abs(ascending[:-1]))
    cut = np.diff(ascending) > np.maximum(noise.relative * larger, noise.absolute)
    ranks = np.empty(len(scores))
    ranks[order] = np.concatenate([np.zeros(min(len(scores), 1)), np.cumsum(cut)])
    return ranks
