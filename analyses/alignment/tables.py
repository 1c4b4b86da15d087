"""From counts to tables: scores per layer and head, the best of them, where rows rest, and paired contrasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attentionology.analyses.alignment.accuracy import RESTS, AlignmentCounts, Array, error_rate
from attentionology.analyses.alignment.scores import LinkCounts
from attentionology.analyses.shared.best_head import interval

TOGETHER = "all"
"""The name of the series of all heads of a layer together."""


@dataclass(frozen=True, order=True)
class Series:
    """What a series of maps shows.

    Attributes:
        setting: ``"AWI"`` or ``"AWO"``.
        measure: ``"weight"`` or ``"norm"``.
        heads: ``"all"`` for all heads of a layer together, ``"single"`` for each head by itself.
    """

    setting: str
    measure: str
    heads: str = TOGETHER


@dataclass(frozen=True)
class AlignmentTables:
    """The tables of the analysis.

    Attributes:
        cells: the scores of each layer (and head) in each series.
        best: the best layer (and head) of each series, with its interval, its held-out error rate, and the error rate
            of the one with the largest mean norm.
        contrasts: differences between norms and weights, and between AWI and AWO, for all heads of a layer together.
        baselines: the scores of baselines and of given hypotheses.
    """

    cells: pd.DataFrame
    best: pd.DataFrame
    contrasts: pd.DataFrame
    baselines: pd.DataFrame


def tables(counted: Mapping[Series, AlignmentCounts], baselines: Mapping[str, LinkCounts]) -> AlignmentTables:
    """Make all tables of the counts of a run."""
    return AlignmentTables(
        cells=pd.concat([cell_rows(series, counts) for series, counts in counted.items()], ignore_index=True),
        best=pd.DataFrame([best_row(series, counts) for series, counts in counted.items()]),
        contrasts=pd.DataFrame(contrast_rows(counted)),
        baselines=pd.DataFrame([{"name": name, **_scores(counts)} for name, counts in baselines.items()]),
    )


def cell_rows(series: Series, counts: AlignmentCounts) -> pd.DataFrame:
    """Return the scores of every layer and head of a series."""
    rates = counts.error_rates()
    rows: list[dict[str, object]] = []
    for layer, head in np.ndindex(rates.shape[1:]):
        links, hits_sure, hits_possible = map(int, counts.links[0, layer, head])
        low, high = interval(_known(rates[1 + counts.splits :, layer, head]))
        words = max(1, int(counts.rests[layer, head].sum()))
        rows.append(
            {
                **_names(series, layer, head),
                **_scores(LinkCounts(links, int(counts.sure[0]), hits_sure, hits_possible)),
                "low": low,
                "high": high,
                **{f"on_{name}": int(n) / words for name, n in zip(RESTS, counts.rests[layer, head], strict=True)},
                "size": float(counts.size[layer, head]),
            }
        )
    return pd.DataFrame(rows)


def best_row(series: Series, counts: AlignmentCounts) -> dict[str, object]:
    """Return the layer and head of a series with the lowest error rate, chosen in three ways.

    It is chosen on the same pairs that it is scored on; on one half, to be scored on the other; and by the largest
    mean of its values, which needs no gold links (Kobayashi et al. 2020).
    """
    rates = counts.error_rates()
    layer, head = _lowest(rates[0])
    low, high = interval(_known(rates[1 + counts.splits :, layer, head]))
    largest = np.unravel_index(int(counts.size.argmax()), counts.size.shape)
    by_size: dict[str, object] = {}
    if series.measure == "norm":  # all rows of attention weights have the same sum
        by_size = {
            "largest_layer": int(largest[0]) + 1,
            "largest_head": _head(series, int(largest[1])),
            "largest_error_rate": float(rates[0][largest]),
        }
    return {
        **_names(series, layer, head),
        "error_rate": float(rates[0, layer, head]),
        "low": low,
        "high": high,
        "heldout_error_rate": heldout_error_rate(counts),
        **by_size,
        "mean_error_rate": float(np.nanmean(rates[0])) if not np.isnan(rates[0]).all() else float("nan"),
    }


def heldout_error_rate(counts: AlignmentCounts) -> float:
    """Choose the layer and head on one half and score them on the other, both ways, over all splits."""
    links, sure = np.zeros(3, dtype=np.int64), 0
    for split in range(1, 1 + counts.splits):
        first = counts.links[split], int(counts.sure[split])
        second = counts.links[0] - counts.links[split], int(counts.sure[0] - counts.sure[split])
        for choosing, scoring in ((first, second), (second, first)):
            rates = error_rate(choosing[0], np.array(choosing[1]))
            if not np.isnan(rates).all():
                links = links + scoring[0][_lowest(rates)]
                sure += scoring[1]
    return float(error_rate(links, np.array(sure)))


def contrast_rows(counted: Mapping[Series, AlignmentCounts]) -> list[dict[str, object]]:
    """Return differences of error rates of all heads together, layer by layer, with paired intervals."""
    rows: list[dict[str, object]] = []
    for setting in ("AWI", "AWO"):
        rows += _contrast(counted, "norm − weight", Series(setting, "norm"), Series(setting, "weight"))
    for measure in ("weight", "norm"):
        rows += _contrast(counted, "AWI − AWO", Series("AWI", measure), Series("AWO", measure))
    return rows


def _contrast(
    counted: Mapping[Series, AlignmentCounts], name: str, first: Series, second: Series
) -> list[dict[str, object]]:
    if first not in counted or second not in counted:
        return []
    differences = counted[first].error_rates() - counted[second].error_rates()
    held_fixed = first.setting if first.setting == second.setting else first.measure
    rows: list[dict[str, object]] = []
    for layer in range(differences.shape[1]):
        low, high = interval(_known(differences[1 + counted[first].splits :, layer, 0]))
        difference = float(differences[0, layer, 0])
        compared = {"contrast": name, "of": held_fixed, "layer": layer + 1}
        rows.append({**compared, "difference": difference, "low": low, "high": high})
    return rows


def _names(series: Series, layer: int, head: int) -> dict[str, object]:
    names: dict[str, object] = {"setting": series.setting, "measure": series.measure, "heads": series.heads}
    return {**names, "layer": layer + 1, "head": _head(series, head)}


def _head(series: Series, head: int) -> int:
    """The number of a head, from 1; 0 stands for all heads together."""
    return 0 if series.heads == TOGETHER else head + 1


def _scores(counts: LinkCounts) -> dict[str, object]:
    return {
        "links": counts.links,
        "sure": counts.sure,
        "hits_sure": counts.hits_sure,
        "hits_possible": counts.hits_possible,
        "error_rate": counts.error_rate,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
    }


def _lowest(rates: Array) -> tuple[int, int]:
    """Return the layer and head with the lowest error rate; ties go to the first."""
    layer, head = np.unravel_index(int(np.nan_to_num(rates, nan=np.inf).argmin()), rates.shape)
    return int(layer), int(head)


def _known(rates: Array) -> Array:
    known: Array = rates[~np.isnan(rates)]
    return known
