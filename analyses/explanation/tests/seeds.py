"""Do models that differ in the seed attend alike? (Wiegreffe & Pinter 2019, §3.3)"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attentionology.analyses.explanation.batch import Rows
from attentionology.analyses.explanation.readings import Reading, chance, divergences
from attentionology.extractors.replaceable.attention_model import Words


def seed_variance(
    base: Reading, others: Sequence[Reading], texts: Sequence[Words], *, draws: int = 100, seed: int = 0
) -> Rows:
    """How much models that differ in the seed alone differ from the base (Wiegreffe & Pinter 2019, §3.3).

    Args:
        base: the model that is tested.
        others: those with other seeds.
        texts: what all of them have read.
        draws: shuffles per text, for the floor.
        seed: of the shuffles.

    Returns:
        medians over the seeds: ``seed_jsd`` of the attention, ``seed_tvd`` of the output; ``seed_shuffled_jsd``: what
        the first would be by chance, see `chance`; ``seed_mean_tvd``: the mean over the seeds, which does not depend
        on how many there are but for noise.
    """
    pairs = [divergences(base, other) for other in others]
    outputs = [output for _, output in pairs]
    return {
        "seed_jsd": np.median([shape for shape, _ in pairs], axis=0),
        "seed_shuffled_jsd": chance(base, others, texts, draws=draws, seed=seed),
        "seed_tvd": np.median(outputs, axis=0),
        "seed_mean_tvd": np.mean(outputs, axis=0),
    }
