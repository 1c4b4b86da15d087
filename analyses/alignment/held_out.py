"""The error rate of layers and heads that were chosen on other sentence pairs, and their gain over the baselines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..shared.held_out import HeldOutRate, gain_columns
from .accuracy import AlignmentCounts, Array, error_rate


def heldout_error_rate(counts: AlignmentCounts) -> HeldOutRate:
    """Choose the layer and head on one half and score them on the other, both ways, over all splits."""
    # The deviations are from the two sources of `attentionology.analyses.shared.held_out`.
    links, sure = np.zeros(3, dtype=np.int64), 0
    chosen = []
    for split in range(1, 1 + counts.splits):
        first = counts.links[split], int(counts.sure[split])
        second = counts.links[0] - counts.links[split], int(counts.sure[0] - counts.sure[split])
        for choosing, scoring in ((first, second), (second, first)):
            rates = error_rate(choosing[0], np.array(choosing[1]))
            if not np.isnan(rates).all():
                chosen.append(lowest(rates))
                links = links + scoring[0][chosen[-1]]
                sure += scoring[1]
    return HeldOutRate(float(error_rate(links, np.array(sure))), _deviations(counts, chosen))


def _deviations(counts: AlignmentCounts, chosen: Sequence[tuple[int, int]]) -> Array:
    """Return how far the error rate deviates in each replicate: of the heads that were chosen, and by the choice."""
    drawn = slice(1 + counts.splits, None)
    scored = np.zeros((len(counts.links), 3), dtype=np.int64)
    for layer, head in chosen:
        scored += counts.links[:, layer, head]
    rates = error_rate(scored, len(chosen) * counts.sure)
    all_rates = counts.error_rates()
    of_choices = np.full(len(rates[drawn]), np.nan)
    for replicate, of_heads in enumerate(all_rates[drawn]):
        if not np.isnan(of_heads).all():
            of_choices[replicate] = all_rates[0][lowest(of_heads)]
    known = of_choices[~np.isnan(of_choices)]
    return np.asarray(rates[drawn] - rates[0] + of_choices - (known.mean() if known.size else np.nan))


def heldout_gain(counts: AlignmentCounts, baselines: Sequence[AlignmentCounts]) -> dict[str, float]:
    """Return how far the held-out error rate is below that of the best baseline, with its 95 % interval."""
    # The baseline is chosen on one half and scored on the other, too. The interval is paired.
    if not baselines:
        return gain_columns(float("nan"), np.empty(0))
    as_heads = baselines[0]._replace(links=np.concatenate([each.links for each in baselines], axis=2))
    of_heads, of_baselines = heldout_error_rate(counts), heldout_error_rate(as_heads)
    # Copies with random weights have no replicates, and hence no interval.
    replicates = min(len(of_baselines.deviations), len(of_heads.deviations))
    deviations = of_baselines.deviations[:replicates] - of_heads.deviations[:replicates]
    return gain_columns(of_baselines.value - of_heads.value, deviations)


def lowest(rates: Array) -> tuple[int, int]:
    """Return the layer and head with the lowest error rate; ties go to the first."""
    layer, head = np.unravel_index(int(np.nan_to_num(rates, nan=np.inf).argmin()), rates.shape)
    return int(layer), int(head)
