"""The section of the alignment analysis: its tables, its figures and its part of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ...reports.json_text import records
from ...reports.page import Section
from ..contract import Titles
from ..shared.correlation import FEWEST_POINTS
from .figures import alignment_figures
from .results import AlignmentResults
from .series import FORWARD
from .shown_tables import shown_tables


def alignment_section(results: AlignmentResults, titles: Titles) -> Section:
    """Make the section of the page."""
    tables, cells = results.tables, results.tables.cells
    written = {"alignment": cells}
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
        context=_context(results),
        shown=shown_tables(results),
        summary={name: records(table) for name, table in written.items()},
        tables=written,
        figures=alignment_figures(results, titles.figure),
    )


def _context(results: AlignmentResults) -> dict[str, Any]:
    tables, cells, choice, example = results.tables, results.tables.cells, results.chosen, results.example
    norm_chose = choice.series.measure == "norm"
    return {
        "method": results.method,
        "has_gold": results.has_gold,
        "both": bool((cells["direction"] != FORWARD).any()),
        "correlations": len(tables.correlations),
        "chosen": {
            "layer": choice.layer + 1,
            "setting": choice.series.setting,
            "measure": choice.series.measure,
            "reason": "whose mean norm is the largest" if norm_chose else "which is two thirds of the way up",
        },
        "example": None if example is None else {"id": example.id, "layer": example.layer + 1},
        "fewest_points": FEWEST_POINTS,
    }
