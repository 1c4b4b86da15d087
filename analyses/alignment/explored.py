"""What the alignment analysis adds to the explorer: the error rate of every head, and where its rows rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from attentionology.analyses.alignment.results import AlignmentResults
from attentionology.analyses.alignment.series import SINGLE
from attentionology.analyses.shared.explored import DIGITS, address, defined, share, values_of
from attentionology.reports.explorer.contribution import Contribution
from attentionology.reports.explorer.data import Fact, Finding, Measure
from attentionology.reports.format import head_name, rows_of

_SPECIAL_NOTE = "The share of target words whose largest value is on a special token, so that they have no link."
_ERROR_NOTE = "The alignment error rate of the links of this head (Och & Ney 2003); 0 is a perfect alignment."


def explored_alignment(results: AlignmentResults) -> Contribution:
    """Return the measures of all heads, a line for the card of each, and the best head."""
    cells = results.tables.cells
    single = cells[cells["heads"] == SINGLE]
    measures = [measure for (setting, name), rows in single.groupby(["setting", "measure"])
                for measure in _measures(rows, str(setting), str(name))]  # fmt: skip
    if not results.has_gold:
        return Contribution(tuple(measures))
    facts = {}
    for head, rows in _by_head(single).items():
        row = min(rows, key=lambda each: each["error_rate"])
        name = f"{row['setting']}, {row['measure']}"
        text = f"{share(row['error_rate'], row['low'], row['high'])} by {name}"
        facts[head] = (Fact("alignment error rate", text, _id("error", row)),)
    return Contribution(tuple(measures), tuple(_findings(single)), facts=facts)


def _by_head(single: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    by_head: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(single):
        by_head.setdefault(head_name(row["layer"], row["head"]), []).append(row)
    return by_head


def _measures(rows: pd.DataFrame, setting: str, measure: str) -> Iterator[Measure]:
    row = {"setting": setting, "measure": measure}
    if "error_rate" in rows:
        known = rows["low"].notna().all()
        ordered = rows.sort_values(["layer", "head"])
        yield Measure(
            id=_id("error", row),
            group="Alignment error rate",
            label=f"{setting}, by {measure}",
            kind=None,
            unit="%",
            values=values_of(rows, "error_rate"),
            low=defined(ordered["low"], DIGITS) if known else None,
            high=defined(ordered["high"], DIGITS) if known else None,
            note=_ERROR_NOTE,
            low_is_best=True,
        )
    yield Measure(
        id=_id("special", row),
        group="Target words on special tokens",
        label=f"{setting}, by {measure}",
        kind=None,
        unit="%",
        values=values_of(rows, "on_special"),
        note=_SPECIAL_NOTE,
    )


def _findings(single: pd.DataFrame) -> Iterator[Finding]:
    if single["error_rate"].notna().any():
        row = rows_of(single.nsmallest(1, "error_rate"))[0]
        head = head_name(row["layer"], row["head"])
        rate = share(row["error_rate"], row["low"], row["high"])
        found = f"by {row['measure']} ({row['setting']})"
        text = f"Head {head} aligns words best: its alignment error rate is {rate} {found}."
        yield Finding(text, address(head=head, measure=_id("error", row)))


def _id(name: str, row: dict[str, Any]) -> str:
    return f"alignment/{name}/{row['setting']}/{row['measure']}"
