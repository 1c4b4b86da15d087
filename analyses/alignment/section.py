"""The section of the alignment analysis: its tables, its figures and its part of the page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Group, RenderableType

from ...reports.format import rows_of
from ...reports.page import Section
from ...reports.table import ShownTable
from ...reports.tables import records
from ..contract import Titles
from ..shared.correlation import FEWEST_POINTS
from .columns import BASELINES, BEST, CELLS, CONTRASTS, CORRELATIONS
from .figures import alignment_figures
from .results import AlignmentResults
from .series import FORWARD, TOGETHER

_WIDE, _WIDEST = 100, 120
"""The columns of a terminal from which on error rates have intervals, and held-out gains have them, too."""

_LAYER_HEADINGS = (
    *("layer", "setting", "measure", "error rate", "precision", "recall"),
    *("on special tokens", "on punctuation", "mean norm"),
)


def alignment_section(results: AlignmentResults, titles: Titles) -> Section:
    """Make the section of the page."""
    tables, choice, example = results.tables, results.chosen, results.example
    chosen_by_norm = choice.series.measure == "norm"
    written = {"alignment": tables.cells}
    if results.has_gold:
        written |= {
            "alignment_best": tables.best,
            "alignment_contrasts": tables.contrasts,
            "alignment_correlations": tables.correlations,
            "alignment_baselines": tables.baselines,
        }
    if results.controls:
        copies = [best.assign(copy=number) for number, best in enumerate(results.controls, start=1)]
        written["alignment_controls"] = pd.concat(copies, ignore_index=True)
    return Section(
        title=f"Word alignment by {results.method}",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "method": results.method,
            "has_gold": results.has_gold,
            "both": bool((tables.cells["direction"] != FORWARD).any()),
            "correlations": len(tables.correlations),
            "chosen": {
                "layer": choice.layer + 1,
                "setting": choice.series.setting,
                "measure": choice.series.measure,
                "reason": "whose mean norm is the largest" if chosen_by_norm else "which is two thirds of the way up",
            },
            "example": None if example is None else {"id": example.id, "layer": example.layer + 1},
            "fewest_points": FEWEST_POINTS,
        },
        shown=shown_tables(results),
        summary={name: records(table) for name, table in written.items()},
        tables=written,
        figures=alignment_figures(results, titles.figure),
    )


def in_terminal(results: AlignmentResults, width: int) -> RenderableType:
    """Return tables of the error rates by layer, of the best layers and heads, and of the baselines."""
    tables = {table.name: table for table in shown_tables(results)}
    shown = [tables[name] for name in ("alignment_layers", "alignment_best", "alignment_baselines") if name in tables]
    parts = [part for table in shown for part in ("", table.terminal(width))]  # an empty line before each table
    return Group(*parts[1:])


def shown_tables(results: AlignmentResults) -> list[ShownTable]:
    """Return the tables of the page. Without gold links, there is only that of the layers."""
    if not results.has_gold:
        return [_layers(results)]
    contrasts, correlations = rows_of(results.tables.contrasts), rows_of(results.tables.correlations)
    return [
        _layers(results),
        _best(results),
        ShownTable("alignment_correlations", "Norms and error rates", CORRELATIONS.columns, correlations),
        _baselines(results),
        ShownTable("alignment_contrasts", "Differences (points)", CONTRASTS.columns, contrasts),
    ]


def _layers(results: AlignmentResults) -> ShownTable:
    """Return the scores of all heads together, layer by layer."""
    cells = results.tables.cells
    rows = rows_of(cells[(cells["heads"] == TOGETHER) & (cells["direction"] == FORWARD)])
    scored = "Alignment error rate" if results.has_gold else "Target words on special tokens"
    title = f"{scored} of all heads of a layer together (%)"
    return ShownTable("alignment_layers", title, CELLS.only(*_LAYER_HEADINGS), rows, wide=_WIDE)


def _best(results: AlignmentResults) -> ShownTable:
    """Return the best layers and heads. The direction of links is left out if there is only one."""
    has_directions = bool((results.tables.cells["direction"] != FORWARD).any())
    columns = [column for column in BEST.columns if has_directions or column.heading != "links"]
    title = "Best layer, or layer and head (error rates in %)"
    return ShownTable("alignment_best", title, columns, rows_of(results.tables.best), wide=_WIDEST)


def _baselines(results: AlignmentResults) -> ShownTable:
    """Return the baselines, and the lowest error rate of each copy with random weights."""
    undefined = dict.fromkeys(("links", "low", "high", "precision", "recall"), float("nan"))
    copies = [
        {**undefined, "name": f"random weights, copy {number}, best of all", "error_rate": best["error_rate"].min()}
        for number, best in enumerate(results.controls, start=1)
    ]
    rows = [*rows_of(results.tables.baselines), *copies]
    uncertain = "is that of random weights, which have no replicates, or does not vary in the text"
    return ShownTable("alignment_baselines", "Baselines (%)", BASELINES.columns, rows, wide=_WIDE, uncertain=uncertain)
