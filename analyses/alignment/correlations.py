"""Do norms show which layers and heads align words? Rank correlations of mean norms and error rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...reports.columns import Schema, TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ..shared.correlation import FEWEST_POINTS
from .rows import Aligned, AlignmentQuestion, AlignmentResults
from .series import FORWARD, TOGETHER

Array = npt.NDArray[Any]

CORRELATIONS = Schema(
    "alignment_correlations",
    "One row per setting, and per set of layers or heads.",
    (
        TableColumn("setting", "text", "as in `alignment.csv`", "setting"),
        TableColumn(
            "over",
            "text",
            "`layers` for all heads of each layer together, or `heads`",
            "over",
            cell=lambda row: f"{row['n']} {row['over']}",
        ),
        TableColumn("n", "count", "the layers or heads"),
        TableColumn(
            "rho low high",
            "number, −1 to 1",
            "Spearman's correlation of mean norms and the error rates of norms; empty for fewer than five layers or "
            "heads. The interval covers the choice of sentence pairs alone",
            "Spearman’s ρ",
            digits=2,
            beside=lambda row: "" if math.isnan(row["low"]) else f"[{row['low']:.2f}, {row['high']:.2f}]",
        ),
    ),
)


class Correlations(AlignmentQuestion):
    """Do norms show which layers and heads align words?"""

    name = "correlations"
    tables = (CORRELATIONS,)
    template = Path(__file__).with_name("correlations.html.j2")

    def find(self, counts: Aligned, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the correlations; None without gold links."""
        return pd.DataFrame(correlation_rows(counts)) if counts.has_gold else None

    def frames(self, answer: pd.DataFrame, results: AlignmentResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {CORRELATIONS.name: answer}

    def show(self, answer: pd.DataFrame, results: AlignmentResults) -> Sequence[ShownTable]:
        """Return the table."""
        return (ShownTable(CORRELATIONS.name, "Norms and error rates", CORRELATIONS.columns, rows_of(answer)),)

    def values(self, answer: pd.DataFrame, results: AlignmentResults) -> Mapping[str, Any]:
        """Return how many correlations there are, and the fewest layers or heads of one."""
        return {"correlations": len(answer), "fewest_points": FEWEST_POINTS}


def correlation_rows(aligned: Aligned) -> list[dict[str, object]]:
    """Return Spearman's ρ between mean norms and error rates over layers or heads, with intervals.

    A norm that tells which layer or head aligns words best without gold links has a negative ρ. ρ and its interval are
    NaN for fewer than `FEWEST_POINTS` layers or heads.
    """
    rows: list[dict[str, object]] = []
    for series, counts in aligned.scored.items():
        mean_norms = counts.size.ravel()
        if series.measure != "norm" or series.direction != FORWARD or len(mean_norms) < 2:
            continue
        rates = counts.error_rates().reshape(len(counts.links), -1)  # (1 + splits + replicates, layers × heads)
        # Replicates have error rates of their own, but the mean norms of the whole corpus.
        enough = len(mean_norms) >= FEWEST_POINTS
        rho = spearman(mean_norms, rates) if enough else np.full(len(rates), np.nan)
        over = "layers" if series.heads == TOGETHER else "heads"
        row = {"setting": series.setting, "over": over, "n": len(mean_norms), "rho": rho[0]}
        rows.append({**row, **counts.interval(rho)})
    return rows


def spearman(values: Array, table: Array) -> Array:
    """Compute Spearman's ρ between values and each row of a table; ties have the mean of their ranks."""
    ranks = pd.Series(values).rank().to_numpy()
    row_ranks = pd.DataFrame(table).rank(axis=1).to_numpy()
    ranks, row_ranks = ranks - ranks.mean(), row_ranks - row_ranks.mean(1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray((row_ranks @ ranks) / np.sqrt((ranks @ ranks) * (row_ranks**2).sum(1)))
