"""Do norms align words better than weights, and the rows that read a word better than those that predict it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.columns import Schema, TableColumn, bounds
from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...reports.table import ShownTable
from ...storage.writing import amount, verb
from ..counting.held_out import count_beside_zero
from ..counting.resampling import FEWEST_UNITS
from ..shared.measures import address, points
from .accuracy import AlignmentCounts
from .rows import ERROR, Aligned, AlignmentQuestion, AlignmentResults, measure_id
from .series import TOGETHER, Series

CONTRASTS = Schema(
    "alignment_contrasts",
    "One row per contrast and layer, for all heads of the layer together.",
    (
        TableColumn("contrast", "text", "`norm − weight` or `AWI − AWO`", "difference of error rates"),
        TableColumn("of", "text", "the setting or the measure that both sides share", "of"),
        TableColumn("layer", "number from 1", "the decoder layer", "layer"),
        TableColumn(
            "difference low high",
            "points",
            "the difference of the error rates; the interval is paired",
            "points",
            beside=bounds(),
        ),
    ),
)

_SIDES = {
    "norm − weight": ("norms", "weights"),
    "AWI − AWO": ("the rows of positions that read the target word (AWI)", "those of positions that predict it (AWO)"),
}


class Contrasts(AlignmentQuestion):
    """Which of two ways to read links off maps is better?"""

    name = "contrasts"
    tables = (CONTRASTS,)
    template = Path(__file__).with_name("contrasts.html.j2")

    def find(self, counts: Aligned, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the differences, layer by layer; None without gold links."""
        return pd.DataFrame(contrast_rows(counts.scored)) if counts.has_gold else None

    def frames(self, answer: pd.DataFrame, results: AlignmentResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {CONTRASTS.name: answer}

    def show(self, answer: pd.DataFrame, results: AlignmentResults) -> Sequence[ShownTable]:
        """Return the table."""
        return (ShownTable(CONTRASTS.name, "Differences (points)", CONTRASTS.columns, rows_of(answer)),)

    def explore(self, answer: pd.DataFrame, counts: Aligned, results: AlignmentResults, kind: str) -> Contribution:
        """Say how often norms align words better than weights, and AWI better than AWO, and the reverse."""
        return Contribution(findings=tuple(_findings(results)))


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
        rows.append({**row, **counted[first].interval(differences[:, layer, 0])})
    return rows


def _findings(results: AlignmentResults) -> Iterator[Finding]:
    """Say how often norms align words better than weights, and AWI better than AWO, and the reverse."""
    table = results.contrasts
    if table.empty or not results.units >= FEWEST_UNITS:  # an empty one has no columns
        return
    for name, (first, second) in _SIDES.items():
        rows = table[table["contrast"] == name].dropna(subset=["low", "high"])
        if rows.empty:
            continue
        worse, better = count_beside_zero(rows)
        row = rows_of(rows.loc[[rows["difference"].abs().idxmax()]])[0]  # the finding leads to the largest difference
        n_unclear = len(rows) - better - worse
        others = "the other has" if n_unclear == 1 else "the others have"
        unclear = f"; {others} an interval that includes 0" if n_unclear else ""
        text = (
            f"{better} of {amount(len(rows), 'comparisons')} {verb(better, 'show', of=len(rows))} that {first} align "
            f"words better than {second}, and {worse} that they do worse{unclear}; the differences of error rates lie "
            f"between {points(rows['difference'].min())} and {points(rows['difference'].max())}."
        )
        setting, measure = (row["of"], "norm") if name == "norm − weight" else ("AWI", row["of"])
        shown = {"heads": TOGETHER, "setting": setting, "measure": measure}
        yield Finding(text, address(head=head_name(row["layer"], 1), measure=measure_id(ERROR, shown)))
