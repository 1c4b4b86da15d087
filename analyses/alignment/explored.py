"""What the alignment analysis adds to the explorer: the error rate of every head, and where its rows rest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from ...reports.explorer.contribution import Contribution
from ...reports.explorer.data import Fact, Measure
from ...reports.finding import Finding
from ...reports.format import head_name, rows_of
from ...storage.writing import amount
from ..counting.held_out import NO_CLAIM, beside_zero, side_of_baseline
from ..counting.resampling import FEWEST_UNITS
from ..shared.explored import address, head_measures, points, share
from .columns import CELLS
from .drawn import TO_SOURCE
from .results import AlignmentResults
from .series import FORWARD, SINGLE, TOGETHER, Series

_VERDICTS = {1: "better than", -1: "worse than", 0: "neither clearly better nor clearly worse than"}
"""How the best heads compare with the best baseline, by `side_of_baseline`."""

_CONTRASTS = {
    "norm − weight": ("Norms", "weights"),
    "AWI − AWO": ("The rows of positions that read the target word (AWI)", "those of positions that predict it (AWO)"),
}

_ERROR, _SPECIAL = "error_rate", "on_special"
_FACTS = {_ERROR: "alignment error rate", _SPECIAL: "rests on special tokens"}
"""The columns of the table of cells that the cards of heads have, with their names there."""


def explored_alignment(results: AlignmentResults) -> Contribution:
    """Return the measures of all heads, of each by itself and of those of a layer together, and what was found."""
    cells = results.tables.cells
    forward = cells[cells["direction"] == FORWARD]
    by_heads = {heads: forward[forward["heads"] == heads] for heads in (SINGLE, TOGETHER)}
    measures: list[Measure] = []
    for heads, table in by_heads.items():
        for (setting, measure), rows in table.groupby(["setting", "measure"]):
            measures += _measures(rows, Series(str(setting), str(measure), heads))
    facts: dict[str, tuple[Fact, ...]] = {}  # by the name of the head
    for column, name in _FACTS.items():
        for row in rows_of(by_heads[SINGLE]) if column in cells else ():
            head = head_name(row["layer"], row["head"])
            facts[head] = (*facts.get(head, ()), Fact(name, _text(column, row), _id(column, row)))
    if not results.has_gold:
        return Contribution(tuple(measures), facts=facts)
    findings = (
        *_best(by_heads, results),
        *_baseline(by_heads, results),
        *_contrasts(results),
        *_rests(by_heads[TOGETHER]),
    )
    return Contribution(tuple(measures), findings, _phrases(by_heads[SINGLE]), facts)


def _measures(rows: pd.DataFrame, series: Series) -> Iterator[Measure]:
    """Yield the measures of a series, given its rows of the table of cells."""
    together = ", all heads together" if series.heads == TOGETHER and series.measure != "cosine" else ""
    facts = {**vars(series), "together": together}
    id_of = partial(_id, row=vars(series))
    yield from head_measures(CELLS, rows, id_of, facts, kind=series.kind, relation="alignment", direction=TO_SOURCE)


def _phrases(single: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return what the summary of each head says: its lowest error rate."""
    phrases: dict[str, tuple[str, ...]] = {}
    known = single.dropna(subset=["error_rate"])
    for row in rows_of(known.sort_values("error_rate", ascending=False)):  # the last row of a head has the lowest
        lowest = f"has an alignment error rate of {_text(_ERROR, row)} at best, by {row['measure']} ({row['setting']})"
        phrases[head_name(row["layer"], row["head"])] = (lowest,)
    return phrases


def _best(by_heads: dict[str, pd.DataFrame], results: AlignmentResults) -> Iterator[Finding]:
    """Say which head, and which layer, has the lowest error rate, and that of those chosen on other pairs."""
    for heads, table in by_heads.items():
        for row in rows_of(table.dropna(subset=["error_rate"]).nsmallest(1, "error_rate")):  # none if none is defined
            head = head_name(row["layer"], row["head"] or 1)
            rate = f"{_text(_ERROR, row)} by {row['measure']} ({row['setting']})"
            heldout_rate = _row_of_best(results, row)["heldout_error_rate"]
            held_out = "" if math.isnan(heldout_rate) else f"; held out, the best ones have {share(heldout_rate)}"
            if heads == SINGLE:
                text = f"Head {head} has the lowest alignment error rate of all heads, {rate}{held_out}."
            else:
                compared = "all word vectors" if row["measure"] == "cosine" else "all heads of a layer together"
                text = f"Of {compared}, those of layer {row['layer']} have the lowest: {rate}{held_out}."
            yield Finding(text, address(head=head, measure=_id(_ERROR, row)))


def _row_of_best(results: AlignmentResults, row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of the table of best heads that is about the series of a row."""
    best = results.tables.best
    for name in ("setting", "measure", "heads", "direction"):
        best = best[best[name] == row[name]]
    return rows_of(best)[0]


def _baseline(by_heads: dict[str, pd.DataFrame], results: AlignmentResults) -> Iterator[Finding]:
    """Say how many heads have an interval below the best baseline, and whether the best head is better held out."""
    baselines = results.tables.baselines.dropna(subset=["error_rate"])
    heads = by_heads[SINGLE].dropna(subset=["low", "high"])
    if baselines.empty or heads.empty:
        return
    baseline = rows_of(baselines.nsmallest(1, "error_rate"))[0]
    head = rows_of(heads.nsmallest(1, "error_rate"))[0]
    rows = heads[(heads["setting"] == head["setting"]) & (heads["measure"] == head["measure"])]
    better = int((rows["high"] < baseline["error_rate"]).sum())
    text = f"The best baseline, {baseline['name']}, has an alignment error rate of {_text(_ERROR, baseline)}."
    best = _row_of_best(results, head)
    if not results.tables.units >= FEWEST_UNITS:
        text += f" Heads are not compared with it: {NO_CLAIM.format(units='pairs')}."
        yield Finding(text, address(head=head_name(head["layer"], head["head"]), measure=_id(_ERROR, head)))
        return
    text += (
        f" By {head['measure']} ({head['setting']}), the interval is below this rate for {better} of "
        f"{amount(len(rows), 'heads')}."
    )
    if not math.isnan(best["heldout_gain"]):
        gain = points(best["heldout_gain"], best["heldout_gain_low"], best["heldout_gain_high"])
        text += f" Held out, the best heads are {_VERDICTS[side_of_baseline(best)]} the best baseline ({gain})."
    yield Finding(text, address(head=head_name(head["layer"], head["head"]), measure=_id(_ERROR, head)))


def _contrasts(results: AlignmentResults) -> Iterator[Finding]:
    """Say how often norms align words better than weights, and AWI better than AWO, and the reverse."""
    table = results.tables.contrasts
    if table.empty or not results.tables.units >= FEWEST_UNITS:  # an empty one has no columns
        return
    for name, (first, second) in _CONTRASTS.items():
        rows = table[table["contrast"] == name].dropna(subset=["low", "high"])
        if rows.empty:
            continue
        worse, better = beside_zero(rows)
        row = rows_of(rows.loc[[rows["difference"].abs().idxmax()]])[0]  # the finding leads to the largest difference
        unclear = "; the others have an interval that includes 0" if better + worse < len(rows) else ""
        text = (
            f"{first} align words better than {second} in {better} of {amount(len(rows), 'comparisons')}, and worse in "
            f"{worse}{unclear}. The differences of error rates lie between {points(rows['difference'].min())} and "
            f"{points(rows['difference'].max())}."
        )
        setting, measure = (row["of"], "norm") if name == "norm − weight" else ("AWI", row["of"])
        shown = {"heads": TOGETHER, "setting": setting, "measure": measure}
        yield Finding(text, address(head=head_name(row["layer"], 1), measure=_id(_ERROR, shown)))


def _rests(together: pd.DataFrame) -> Iterator[Finding]:
    """Say in which layer most target words rest on special tokens by weight, and how many do so by norm."""
    weights = together[together["measure"] == "weight"].dropna(subset=["on_special"])
    if not weights["on_special"].any():
        return
    row = rows_of(weights.nlargest(1, "on_special"))[0]
    is_same_layer = (together["layer"] == row["layer"]) & (together["setting"] == row["setting"])
    norms = rows_of(together[is_same_layer & (together["measure"] == "norm")])
    by_norm = f", and {share(norms[0]['on_special'])} by norm" if norms else ""
    text = (
        f"In layer {row['layer']} ({row['setting']}), {share(row['on_special'])} of the target words rest on special "
        f"tokens by weight{by_norm}. These words have no link."
    )
    yield Finding(text, address(head=head_name(row["layer"], 1), measure=_id(_SPECIAL, row)))


def _text(column: str, row: dict[str, Any]) -> str:
    """Return the value of a column for readers, that of an error rate with its interval."""
    interval = (row["low"], row["high"]) if column == _ERROR else ()
    return share(row[column], *interval)


def _id(column: str, row: dict[str, Any]) -> str:
    """Return the id of the measure of a column for the series of a row."""
    together = f"/{TOGETHER}" if row["heads"] == TOGETHER else ""
    return f"alignment/{column}/{row['setting']}/{row['measure']}{together}"
