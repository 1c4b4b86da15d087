"""The results of the dependency analysis, and their section of the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...extractors import DIRECTIONS
from ...reports.format import ARROWS, shown_rows
from ...reports.json_text import records
from ...reports.page import Section
from ..contract import Titles
from ..shared.controls import control_table
from ..shared.previews import Previewed
from .figures import best_heads_figure, heads_figure
from .tables import TOTALS


@dataclass(frozen=True, repr=False)
class DependencyResults(Previewed):
    """The results of the analysis ``dependency``.

    Attributes:
        cells: `attentionology.analyses.dependency.tables.DependencyTables.cells`.
        best: `attentionology.analyses.dependency.tables.DependencyTables.best`, with the columns of the control if
            there is one.
        controls: the table of best heads of each randomly initialized copy.
        min_count: relations with fewer words are left out of the first figure and grayed in the page.
        map_facts: phrases that describe the maps.
    """

    cells: pd.DataFrame
    best: pd.DataFrame
    controls: tuple[pd.DataFrame, ...] = ()
    min_count: int = 50
    map_facts: tuple[str, ...] = ()


def dependency_section(results: DependencyResults, titles: Titles | None = None) -> Section:
    """Make the tables, the figures and the section of the page."""
    titles = titles or Titles()
    cells, best, min_count, title = results.cells, results.best, results.min_count, titles.figure
    rows = list(shown_rows(best, min_count))
    single = [row for row, frequent in rows if frequent and row["relation"] not in (*TOTALS, "punct")]
    return Section(
        title=f"What the attention heads of {titles.model} know about dependency syntax",
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "rows": rows,
            "totals": TOTALS,
            "example": single[0] if single else None,
            "has_control": "control_accuracy" in best,
            "has_intervals": bool(best["accuracy_low"].notna().any()),
            "heatmaps": heatmap_data(cells, best),
            "min_count": min_count,
            "map_facts": list(results.map_facts),
            "choices": len(DIRECTIONS) * int(cells["layer"].max()) * int(cells["head"].max()),
        },
        summary={"dependency_best": records(best)},
        tables={
            "dependency": cells,
            "dependency_best": best,
            **control_table(results.controls, ("relation",), "dependency_control"),
        },
        figures={
            "dependency_best": best_heads_figure(best, min_count=min_count, title=title),
            "dependency_heads": heads_figure(cells, best, title=title),
        },
    )


def heatmap_data(cells: pd.DataFrame, best: pd.DataFrame) -> dict[str, Any]:
    """Return the counts per relation, direction, layer and head from which the page's script draws the heatmaps."""
    n_layers, n_heads = int(cells["layer"].max()), int(cells["head"].max())
    relations = []
    for row in best[best["relation"] != "root"].to_dict("records"):
        of_relation = cells[cells["relation"] == row["relation"]]
        counts = of_relation.sort_values(["layer", "head"]).groupby("direction")["correct"]
        relations.append(
            {
                "name": row["relation"],
                "total": int(row["total"]),
                "correct": [counts.get_group(direction).tolist() for direction in DIRECTIONS],
                "offset": int(row["offset"]),
                "offset_correct": int(row["offset_correct"]),
                "group": "totals" if row["relation"] in TOTALS else "relations",
            }
        )
    return {
        "layers": n_layers,
        "heads": n_heads,
        "directions": [ARROWS[direction] for direction in DIRECTIONS],
        "relations": relations,
    }
