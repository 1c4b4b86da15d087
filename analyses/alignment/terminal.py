"""The table of alignment error rates for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from ...reports.format import interval, percent
from .results import AlignmentResults
from .series import FORWARD, TOGETHER

_WIDE = 100
"""The columns of a terminal from which on error rates have intervals."""

_WIDEST = 120
"""The columns from which on held-out gains have them, too."""


def alignment_table(results: AlignmentResults, width: int) -> RenderableType:
    """Return tables of the error rates by layer, of the best layers and heads, and of the baselines.

    Args:
        results: the results.
        width: the columns of the terminal; intervals are left out of narrow ones.
    """
    parts = [_layers(results, width)]
    if results.has_gold:
        parts += [_best(results, width), _baselines(results)]
    brackets = [] if width < _WIDE or not results.has_gold else ["In square brackets: 95 % intervals."]
    return Group(parts[0], *(renderable for part in parts[1:] for renderable in ("", part)), *brackets)


def _layers(results: AlignmentResults, width: int) -> Table:
    cells = results.tables.cells
    together = cells[(cells["heads"] == TOGETHER) & (cells["direction"] == FORWARD)]
    measures = sorted(together["measure"].unique(), reverse=True)
    scored = "Alignment error rate" if results.has_gold else "Target words on special tokens"
    layers = _table(f"{scored} of all heads of a layer together (%)", ["layer", "setting"])
    headings = list(measures) if results.has_gold else []
    for heading in [*headings, *(f"on special: {measure}" for measure in measures)]:
        layers.add_column(heading, justify="right", no_wrap=True)
    for (setting, layer), rows in together.groupby(["setting", "layer"]):
        by_measure = {row["measure"]: row for row in rows.to_dict("records")}
        shown = [_rate(by_measure[measure], width) for measure in headings]
        rests = [percent(by_measure[measure]["on_special"]) for measure in measures]
        layers.add_row(str(layer), str(setting), *shown, *rests)
    return layers


def _best(results: AlignmentResults, width: int) -> Table:
    best = _table("Best layer, or layer and head (error rates in %)", ["setting", "measure", "heads", "links"])
    for heading in ("best", "error\nrate", "held-out", "held-out\ngain", "by largest\nnorm"):
        best.add_column(heading, justify="right", no_wrap=True)
    for row in results.tables.best.to_dict("records"):
        largest = row.get("largest_error_rate", float("nan"))
        chosen = f"{row['layer']}-{row['head']}" if row["head"] else str(row["layer"])
        gain = percent(row["heldout_gain"], sign=True)
        if width >= _WIDEST:
            gain += " " + interval(row["heldout_gain_low"], row["heldout_gain_high"])
        rates = [_rate(row, width), percent(row["heldout_error_rate"]), gain.strip(), percent(largest)]
        best.add_row(row["setting"], row["measure"], row["heads"], row["direction"], chosen, *rates)
    return best


def _baselines(results: AlignmentResults) -> Table:
    others = _table("Baselines (%)", ["name"])
    for heading in ("error rate", "precision", "recall"):
        others.add_column(heading, justify="right", no_wrap=True)
    for row in results.tables.baselines.to_dict("records"):
        scores = [percent(row[name]) for name in ("error_rate", "precision", "recall")]
        others.add_row(escape(str(row["name"])), *scores)
    for number, best in enumerate(results.controls, start=1):
        others.add_row(f"random weights {number}, best", percent(float(best["error_rate"].min())), "", "")
    return others


def _table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _rate(row: Mapping[Any, Any], width: int) -> str:
    bounds = interval(row["low"], row["high"]) if width >= _WIDE else ""
    return f"{percent(row['error_rate'])} {bounds}".strip()
