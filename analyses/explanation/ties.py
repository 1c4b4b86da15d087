"""Which scores of the words of a text are ties, because they differ only by floating-point noise.

Scores are computed in float32. Their last digits depend on the order of the texts and on their batches, and so does the
order of words whose scores would be equal in exact arithmetic, such as those of a word that occurs twice in a model
without context. A rank correlation must not depend on this, so scores that are closer than the noise share a rank. How
large the noise is depends on how a score is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...extractors.maps.map_batch import FLOAT32_NOISE
from .batch import Values


class Noise(NamedTuple):
    """The largest difference between two scores of a text that can be noise."""

    # The larger one of two bounds counts.

    relative: float = 0.0  # the bound as a share of the larger score in magnitude
    absolute: float = 0.0  # the bound itself


WEIGHTS = Noise(FLOAT32_NOISE, float(np.finfo(np.float32).tiny))
"""The noise of weights of a softmax and of norms of vectors. They all have the same number of correct digits, however
small they are, down to the smallest number that float32 holds with full precision."""

GRADIENTS = Noise(absolute=2e-6)
"""The noise of gradient × input, whose scores sum to 1 in each text. A score is a sum over dimensions with both signs,
so the error of a score near 0 is as large as that of a large score."""

LEFT_OUT = Noise(absolute=2e-7)
"""The noise of differences of probabilities. The error of a tiny difference is as large as that of the
probabilities."""


def levels(scores: Values, noise: Noise) -> Values:
    """Rank scores from 0 upwards; ties share a rank."""
    # The scores are sorted and cut wherever two neighbors are farther apart than the noise. The scores between two cuts
    # are ties. This relation is transitive and does not depend on the order of the scores.
    order = np.argsort(scores, kind="stable")
    ascending = scores[order]
    larger = np.maximum(np.abs(ascending[1:]), np.abs(ascending[:-1]))
    cut = np.diff(ascending) > np.maximum(noise.relative * larger, noise.absolute)
    ranks = np.empty(len(scores))
    ranks[order] = np.concatenate([np.zeros(min(len(scores), 1)), np.cumsum(cut)])
    return ranks
