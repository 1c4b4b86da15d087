"""What the analysis of norms adds to the explorer: where attention goes by weight and by norm."""

from __future__ import annotations

from typing import Any

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Finding
from ...reports.format import head_name, rows_of
from ..shared.explored import address, head_measures, share
from .columns import SHARES
from .shown_tables import NormResults, class_rows


def explored_norms(results: NormResults) -> Contribution:
    """Return the shares of all heads by weight and by norm, and the class of tokens for which both differ most."""
    measures = tuple(
        measure
        for name, heads in results.shares.groupby("class", sort=False)
        for measure in head_measures(SHARES, heads, "norms/{column}/{class}", {"class": str(name)})
    )
    facts = {}
    by_head: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(results.shares):
        by_head.setdefault(head_name(row["layer"], row["head"]), []).append(row)
    for head, rows in by_head.items():
        row = max(rows, key=lambda each: abs(each["weight"] - each["norm_share"]))
        text = f"to {row['class']}: {share(row['weight'])} by weight, {share(row['norm_share'])} by norm"
        facts[head] = (Fact("weight and norm", text, f"norms/norm_share/{row['class']}"),)
    return Contribution(measures, _findings(results), facts=facts)


def _findings(results: NormResults) -> tuple[Finding, ...]:
    """Return the class of tokens for which weight and norm differ most."""
    rows = class_rows(results.shares)
    if not rows:
        return ()
    row = max(rows, key=lambda each: abs(each["weight"] - each["norm_share"]))
    less = "less" if row["norm_share"] < row["weight"] else "more"
    text = (
        f"Attention to {row['class']} moves {less} than its weights suggest: it has {share(row['weight'])} of the "
        f"weights and {share(row['norm_share'])} of what is moved by norm, on average over all heads."
    )
    return (Finding(text, address(measure=f"norms/norm_share/{row['class']}")),)
