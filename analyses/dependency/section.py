"""The dependency analysis on disk and in the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from attentionology.analyses.dependency.figures import best_heads_figure, heads_figure
from attentionology.analyses.dependency.tables import TOTALS
from attentionology.extractors import DIRECTIONS
from attentionology.reports.format import ARROWS, shown_rows
from attentionology.reports.json_text import records
from attentionology.reports.page import Section, save_figures
from attentionology.reports.tables import write_controls, write_csv


def write_dependency(
    folder: Path,
    *,
    cells: pd.DataFrame,
    best: pd.DataFrame,
    controls: Sequence[pd.DataFrame] = (),
    min_count: int = 50,
    model: str = "",
    corpus: str = "",
    map_facts: Sequence[str] = (),
) -> Section:
    """Write tables and figures; returns the section of the report.

    Args:
        folder: an existing folder.
        cells, best: `attentionology.analyses.linguistic.DependencyTables`, ``best`` perhaps with the control's columns.
        controls: the best-heads table of each randomly initialised copy.
        min_count: relations with fewer words are left out of the first figure and greyed in the page.
        model, corpus: names for the titles.
        map_facts: what the maps are, a phrase each.
    """
    tables = folder / "tables"
    title = f"{model} on {corpus}" if model else ""
    write_csv(cells, tables / "dependency.csv")
    write_csv(best, tables / "dependency_best.csv")
    write_controls(controls, ("relation",), tables / "dependency_control.csv")
    svgs = save_figures(
        folder,
        {
            "dependency_best": best_heads_figure(best, min_count=min_count, title=title),
            "dependency_heads": heads_figure(cells, best, title=title),
        },
    )
    rows = list(shown_rows(best, min_count))
    single = [row for row, frequent in rows if frequent and row["relation"] not in (*TOTALS, "punct")]
    return Section(
        title=f"What the attention heads of {model} know about dependency syntax",
        template="dependency.html.j2",
        context={
            "rows": rows,
            "totals": TOTALS,
            "example": single[0] if single else None,
            "has_control": "control_accuracy" in best,
            "has_intervals": bool(best["accuracy_low"].notna().any()),
            "heatmaps": heatmap_data(cells, best),
            "figure_svg": svgs["dependency_best"],
            "min_count": min_count,
            "map_facts": list(map_facts),
            "choices": len(DIRECTIONS) * int(cells["layer"].max()) * int(cells["head"].max()),
        },
        summary={"dependency_best": records(best)},
    )


def heatmap_data(cells: pd.DataFrame, best: pd.DataFrame) -> dict[str, Any]:
    """What the page's script needs to draw any relation's heads: counts per direction, layer and head."""
    n_layers, n_heads = int(cells["layer"].max()), int(cells["head"].max())
    relations = []
    for row in best[best["relation"] != "root"].to_dict("records"):
        own = cells[cells["relation"] == row["relation"]]
        counts = own.sort_values(["layer", "head"]).groupby("direction")["correct"]
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
