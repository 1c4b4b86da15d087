"""The section of the alignment analysis: its tables, its figures and its part of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from attentionology.analyses.alignment.figures import error_figure
from attentionology.analyses.alignment.run import AlignmentResults
from attentionology.analyses.alignment.tables import TOGETHER
from attentionology.analyses.contract import Titles
from attentionology.reports.format import interval
from attentionology.reports.json_text import records
from attentionology.reports.page import Section


def alignment_section(results: AlignmentResults, titles: Titles) -> Section:
    """Make the section of the page."""
    tables = results.tables
    written = {
        "alignment": tables.cells,
        "alignment_best": tables.best,
        "alignment_contrasts": tables.contrasts,
        "alignment_baselines": tables.baselines,
    }
    if results.controls:
        copies = [copy.best.assign(copy=number) for number, copy in enumerate(results.controls, start=1)]
        written["alignment_controls"] = pd.concat(copies, ignore_index=True)
    return Section(
        title="Word alignment by cross-attention",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "layers": tables.cells[tables.cells["heads"] == TOGETHER].to_dict("records"),
            "best": [_known(row) for row in tables.best.to_dict("records")],
            "baselines": tables.baselines.to_dict("records"),
            "contrasts": tables.contrasts.to_dict("records"),
            "random": [float(copy.best["error_rate"].min()) for copy in results.controls],
            "interval": lambda row: interval(row["low"], row["high"]),
        },
        summary={name: records(table) for name, table in written.items()},
        tables=written,
        figures={"alignment_layers": error_figure(tables.cells, title=titles.figure)},
    )


def _known(row: dict[Any, Any]) -> dict[Any, Any]:
    """The columns that have a value in a row."""
    return {name: value for name, value in row.items() if not pd.isna(value)}
