"""What the analysis of norms adds to the explorer: where attention goes by weight and by norm."""

from __future__ import annotations

from typing import Any

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Finding, Measure
from ...reports.format import head_name, rows_of
from ..shared.explored import address, share, values_of
from .shown_tables import NormResults, class_rows

_GROUPS = {
    "norm_share": (
        "Where attention goes by norm",
        "The share of what a head moves, by the norms of the weighted vectors.",
    ),
    "weight": ("Where attention goes by weight", "The share of attention weights that goes to this class of tokens."),
}


def explored_norms(results: NormResults) -> Contribution:
    """Return the shares of all heads by weight and by norm, and the class of tokens for which both differ most."""
    measures = tuple(
        Measure(
            id=f"norms/{column}/{name}",
            group=group,
            label=f"to {name}",
            kind=None,
            unit="%",
            values=values_of(results.shares[results.shares["class"] == name], column),
            note=note,
        )
        for column, (group, note) in _GROUPS.items()
        for name in dict.fromkeys(results.shares["class"])
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
