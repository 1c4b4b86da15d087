"""How many target words rest on special tokens, so that they have no link?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ...reports.explorer.contribution import Contribution
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ..shared.measures import address, share
from .rows import SPECIAL, Aligned, AlignmentQuestion, AlignmentResults, measure_id


class Rests(AlignmentQuestion):
    """How many target words rest on special tokens?"""

    name = "rests"
    needs = ("layers",)

    def find(self, counts: Aligned, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the cells, in which columns that begin with ``on_`` say it; None without gold links."""
        cells: pd.DataFrame | None = earlier["layers"] if counts.has_gold else None
        return cells

    def explore(self, answer: pd.DataFrame, counts: Aligned, results: AlignmentResults, kind: str) -> Contribution:
        """Say in which layer most target words rest on special tokens."""
        return Contribution(findings=tuple(_findings(results.together)))


def _findings(together: pd.DataFrame) -> Iterator[Finding]:
    """Say in which layer most target words rest on special tokens by weight, and how many do so by norm."""
    weights = together[together["measure"] == "weight"].dropna(subset=["on_special"])
    if not weights["on_special"].any():
        return
    row = rows_of(weights.nlargest(1, "on_special"))[0]
    is_same_layer = (together["layer"] == row["layer"]) & (together["setting"] == row["setting"])
    norms = rows_of(together[is_same_layer & (together["measure"] == "norm")])
    by_norm = f", and {share(norms[0]['on_special'])} by norm" if norms else ""
    text = (
        f"{share(row['on_special'])} of the target words rest on special tokens by weight{by_norm}, in layer "
        f"{row['layer']} ({row['setting']}). These words have no link."
    )
    yield Finding(text, address(head=head_name(row["layer"], 1), measure=measure_id(SPECIAL, row)))
