"""From counts to tables: scores per layer and head, the best of them, where rows rest, contrasts and correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from ..counting.best_head import interval
from ..counting.held_out import HeldOutRate, gain_columns, split_deviations
from ..counting.resampling import effective_number_drawn
from ..shared.correlation import FEWEST_POINTS
from .accuracy import RESTS, AlignmentCounts, Array, error_rate
from .scores import LinkCounts
from .series import FORWARD, TOGETHER, Series


@dataclass(frozen=True)
class AlignmentTables:
    """The tables of the analysis, whose columns `attentionology.analyses.alignment.columns` declares."""

    cells: pd.DataFrame
    best: pd.DataFrame
    contrasts: pd.DataFrame
    correlations: pd.DataFrame
    baselines: pd.DataFrame
    units: float = math.nan  # the effective number of sentence pairs, which claims need; NaN if it is unknown


def tables(
    counted: Mapping[Series, AlignmentCounts], baselines: Mapping[str, AlignmentCounts], *, has_gold: bool = True
) -> AlignmentTables:
    """Make all tables of the counts of a run."""
    cells = [cell_rows(series, counts, has_gold=has_gold) for series, counts in counted.items()]
    scored = counted if has_gold else {}
    return AlignmentTables(
        cells=pd.concat(cells, ignore_index=True),
        best=pd.DataFrame([best_row(series, counts, list(baselines.values())) for series, counts in scored.items()]),
        contrasts=pd.DataFrame(contrast_rows(scored)),
        correlations=pd.DataFrame(correlation_rows(scored)),
        baselines=pd.DataFrame([baseline_row(name, counts) for name, counts in baselines.items()]),
        units=_units(next(iter(scored.values()))) if scored else math.nan,
    )


def _units(counts: AlignmentCounts) -> float:
    """Return the effective number of sentence pairs, by their sure links."""
    return effective_number_drawn(int(counts.sure[0]), counts.sure[1 + counts.splits :])


def cell_rows(series: Series, counts: AlignmentCounts, *, has_gold: bool = True) -> pd.DataFrame:
    """Return the scores of every layer and head of a series."""
    rates = counts.error_rates()  # (1 + splits + replicates, layers, heads)
    rows: list[dict[str, object]] = []
    for layer, head in np.ndindex(rates.shape[1:]):
        row = _names(series, layer, head)
        if has_gold:
            row |= {**_scores(counts, layer, head), **_interval(rates[:, layer, head], counts.splits)}
        else:
            row["links"] = int(counts.links[0, layer, head, 0])
        words_on = counts.rests[layer, head]  # how many words have their largest value on each of `RESTS`
        n_words = int(words_on.sum()) or float("nan")  # none are counted unless each target word has a row of its own
        row |= {f"on_{name}": int(count) / n_words for name, count in zip(RESTS, words_on, strict=True)}
        rows.append({**row, "size": float(counts.size[layer, head])})
    return pd.DataFrame(rows)


def baseline_row(name: str, counts: AlignmentCounts) -> dict[str, object]:
    """Return the scores of an alignment that was not read off the model, which counts as one layer with one head."""
    return {"name": name, **_scores(counts, 0, 0), **_interval(counts.error_rates()[:, 0, 0], counts.splits)}


def correlation_rows(counted: Mapping[Series, AlignmentCounts]) -> list[dict[str, object]]:
    """Return Spearman's ρ between mean norms and error rates over layers or heads, with intervals.

    A norm that tells which layer or head aligns words best without gold links has a negative ρ. ρ and its interval are
    NaN for fewer than `FEWEST_POINTS` layers or heads.
    """
    rows: list[dict[str, object]] = []
    for series, counts in counted.items():
        mean_norms = counts.size.ravel()
        if series.measure != "norm" or series.direction != FORWARD or len(mean_norms) < 2:
            continue
        rates = counts.error_rates().reshape(len(counts.links), -1)  # (1 + splits + replicates, layers × heads)
        # Replicates have error rates of their own, but the mean norms of the whole corpus.
        enough = len(mean_norms) >= FEWEST_POINTS
        rho = spearman(mean_norms, rates) if enough else np.full(len(rates), np.nan)
        over = "layers" if series.heads == TOGETHER else "heads"
        row = {"setting": series.setting, "over": over, "n": len(mean_norms), "rho": rho[0]}
        rows.append({**row, **_interval(rho, counts.splits)})
    return rows


def spearman(values: Array, table: Array) -> Array:
    """Compute Spearman's ρ between values and each row of a table; ties have the mean of their ranks."""
    ranks = pd.Series(values).rank().to_numpy()
    row_ranks = pd.DataFrame(table).rank(axis=1).to_numpy()
    ranks, row_ranks = ranks - ranks.mean(), row_ranks - row_ranks.mean(1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray((row_ranks @ ranks) / np.sqrt((ranks @ ranks) * (row_ranks**2).sum(1)))


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
            "largest_head": _head(series, largest_head),
            "largest_error_rate": float(corpus_rates[largest_layer, largest_head]),
        }
    return {
        **_names(series, layer, head),
        "error_rate": float(corpus_rates[layer, head]),
        **_interval(rates[:, layer, head], counts.splits),
        "heldout_error_rate": heldout_error_rate(counts).value,
        **by_size,
        "mean_error_rate": float(np.nanmean(corpus_rates)) if not np.isnan(corpus_rates).all() else float("nan"),
        **heldout_gain(counts, baselines),
    }


def contrast_rows(counted: Mapping[Series, AlignmentCounts]) -> list[dict[str, object]]:
    """Return differences of error rates of all heads together, layer by layer, with paired intervals."""
    rows: list[dict[str, object]] = []
    for setting in dict.fromkeys(series.setting for series in counted):
        rows += _contrast(counted, "norm − weight", Series(setting, "norm"), Series(setting, "weight"))
    for measure in ("weight", "norm"):
        rows += _contrast(counted, "AWI − AWO", Series("AWI", measure), Series("AWO", measure))
    return rows


def _contrast(
    counted: Mapping[Series, AlignmentCounts], name: str, first: Series, second: Series
) -> list[dict[str, object]]:
    """Return the differences of two series, layer by layer; none if one of them was not counted."""
    if first not in counted or second not in counted:
        return []
    differences = counted[first].error_rates() - counted[second].error_rates()  # (1 + splits + replicates, layers, 1)
    held_fixed = first.setting if first.setting == second.setting else first.measure
    rows: list[dict[str, object]] = []
    for layer in range(differences.shape[1]):
        row = {"contrast": name, "of": held_fixed, "layer": layer + 1, "difference": float(differences[0, layer, 0])}
        rows.append({**row, **_interval(differences[:, layer, 0], counted[first].splits)})
    return rows


def _names(series: Series, layer: int, head: int) -> dict[str, object]:
    """Return the columns that say what a row is about, given the 0-based layer and head."""
    names: dict[str, object] = {"setting": series.setting, "measure": series.measure, "heads": series.heads}
    return {**names, "direction": series.direction, "layer": layer + 1, "head": _head(series, head)}


def _head(series: Series, head: int) -> int:
    """Return the number of a head, from 1; 0 stands for all heads together."""
    return 0 if series.heads == TOGETHER else head + 1


def _scores(counts: AlignmentCounts, layer: int, head: int) -> dict[str, object]:
    """Return the counts and scores of one layer and head in the whole corpus."""
    links, hits_sure, hits_possible = map(int, counts.links[0, layer, head])
    whole = LinkCounts(links, int(counts.sure[0]), hits_sure, hits_possible)
    scores = {name: getattr(whole, name) for name in ("error_rate", "precision", "recall", "f1")}
    return {**asdict(whole), **scores}


def _interval(values: Array, splits: int) -> dict[str, float]:
    """Return the 95 % interval of a statistic, given its values in the corpus, the halves and the replicates."""
    drawn = values[1 + splits :]
    low, high = interval(drawn[~np.isnan(drawn)])
    return {"low": low, "high": high}


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
