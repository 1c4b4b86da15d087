"""The best layers and heads: chosen on one half of the sentence pairs, and scored on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ..counting.held_out import HeldOutRate, gain_columns, split_deviations
from .accuracy import AlignmentCounts, Array, error_rate
from .series import Series


def best_table(counted: Mapping[Series, AlignmentCounts], baselines: Sequence[AlignmentCounts]) -> pd.DataFrame:
    """Return the best layer and head of each series."""
    return pd.DataFrame([best_row(series, counts, baselines) for series, counts in counted.items()])


def best_row(series: Series, counts: AlignmentCounts, baselines: Sequence[AlignmentCounts]) -> dict[str, object]:
    """Return the layer and head of a series with the lowest error rate, chosen in three ways, and its held-out gain.

    It is chosen on the same pairs that it is scored on; on one half, to be scored on the other; and by the largest mean
    of its values, which needs no gold links (Kobayashi et al. 2020).
    """
    rates = counts.error_rates()  # (1 + splits + replicates, layers, heads)
    corpus_rates = rates[0]
    layer, head = lowest(corpus_rates)
    by_size: dict[str, object] = dict.fromkeys(("largest_layer", "largest_head", "largest_error_rate"), float("nan"))
    if series.measure == "norm":  # all rows of attention weights have the same sum
        largest_layer, largest_head = map(int, np.unravel_index(int(counts.size.argmax()), counts.size.shape))
        by_size = {
            "largest_layer": largest_layer + 1,
            "largest_head": series.number(largest_head),
            "largest_error_rate": float(corpus_rates[largest_layer, largest_head]),
        }
    return {
        **series.columns(layer, head),
        "error_rate": float(corpus_rates[layer, head]),
        **counts.interval(rates[:, layer, head]),
        "heldout_error_rate": heldout_error_rate(counts).value,
        **by_size,
        "mean_error_rate": float(np.nanmean(corpus_rates)) if not np.isnan(corpus_rates).all() else float("nan"),
        **heldout_gain(counts, baselines),
    }


def heldout_error_rate(counts: AlignmentCounts) -> HeldOutRate:
    """Choose the layer and head on one half and score them on the other, both ways, over all splits."""
    corpus_links, corpus_sure = counts.links[0], counts.sure[0]
    # By split.
    scored_links, scored_sure = np.zeros((counts.splits, 3), dtype=np.int64), np.zeros(counts.splits, dtype=np.int64)
    chosen = []
    for split in range(1, 1 + counts.splits):
        half = counts.links[split], counts.sure[split]
        other_half = corpus_links - counts.links[split], corpus_sure - counts.sure[split]
        for (links_to_choose, sure_to_choose), (links_to_score, sure_to_score) in (
            (half, other_half),
            (other_half, half),
        ):
            rates = error_rate(links_to_choose, sure_to_choose)
            if not np.isnan(rates).all():
                layer, head = lowest(rates)
                chosen.append((layer, head))
                scored_links[split - 1] += links_to_score[layer, head]
                scored_sure[split - 1] += sure_to_score
    deviations = _deviations(counts, chosen)
    by_split = error_rate(scored_links, scored_sure)
    of_halves = split_deviations(by_split[~np.isnan(by_split)], len(deviations))
    return HeldOutRate(float(error_rate(scored_links.sum(0), scored_sure.sum())), deviations + of_halves)


def _deviations(counts: AlignmentCounts, chosen: Sequence[tuple[int, int]]) -> Array:
    """Return how far the held-out error rate deviates in each replicate, by the scores of heads and by their choice.

    These are the first two sources of `attentionology.analyses.counting.held_out`.
    """
    # The counts are those of the corpus, of its halves, and of replicates.
    in_corpus, in_replicates = 0, slice(1 + counts.splits, None)
    links_of_chosen = np.zeros((len(counts.links), 3), dtype=np.int64)  # links, and hits of sure and possible ones
    for layer, head in chosen:
        links_of_chosen += counts.links[:, layer, head]
    rates_of_chosen = error_rate(links_of_chosen, len(chosen) * counts.sure)
    of_score = rates_of_chosen[in_replicates] - rates_of_chosen[in_corpus]

    # The rate in the whole corpus of the head that each replicate would choose.
    rates = counts.error_rates()
    rates_of_choices = np.full(len(of_score), np.nan)
    for replicate, rates_of_heads in enumerate(rates[in_replicates]):
        if not np.isnan(rates_of_heads).all():
            rates_of_choices[replicate] = rates[in_corpus][lowest(rates_of_heads)]
    defined = rates_of_choices[~np.isnan(rates_of_choices)]
    of_choice = rates_of_choices - (defined.mean() if defined.size else np.nan)  # from the rate of the usual choice
    return np.asarray(of_score + of_choice)


def heldout_gain(counts: AlignmentCounts, baselines: Sequence[AlignmentCounts]) -> dict[str, float]:
    """Return how far the held-out error rate is below that of the best baseline, with its 95 % interval."""
    # The baseline is chosen on one half and scored on the other, too. The interval is paired.
    if not baselines:
        return gain_columns(float("nan"), np.empty(0))
    as_heads = baselines[0]._replace(links=np.concatenate([baseline.links for baseline in baselines], axis=2))
    of_heads, of_baselines = heldout_error_rate(counts), heldout_error_rate(as_heads)
    # Copies with random weights have no replicates, and hence no interval.
    replicates = min(len(of_baselines.deviations), len(of_heads.deviations))
    deviations = of_baselines.deviations[:replicates] - of_heads.deviations[:replicates]
    return gain_columns(of_baselines.value - of_heads.value, deviations)


def lowest(rates: Array) -> tuple[int, int]:
    """Return the layer and head with the lowest error rate; ties go to the first."""
    layer, head = np.unravel_index(int(np.nan_to_num(rates, nan=np.inf).argmin()), rates.shape)
    return int(layer), int(head)
