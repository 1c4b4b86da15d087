"""The report as one HTML page that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from analyses.linguistic import DIRECTIONS, TOTALS
from reports.format import ARROWS, best_direction, best_head, best_offset, interval, percent, shown_rows
from reports.json_text import to_json


def write_page(
    path: Path,
    *,
    run: dict[str, Any],
    cells: pd.DataFrame,
    best: pd.DataFrame,
    figure_svg: str,
    min_count: int,
) -> None:
    """Write ``report.html``.

    Args:
        path: the file to write.
        run: the run record, as in ``run.json``.
        cells, best: `analyses.linguistic.DependencyTables`, ``best`` perhaps with the control's columns.
        figure_svg: the best-heads figure as SVG text, put into the page.
        min_count: relations with fewer words are greyed.
    """
    environment = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "interval": interval,
        "best_head": best_head,
        "best_direction": best_direction,
        "best_offset": best_offset,
    }
    rows = list(shown_rows(best, min_count))
    single = [row for row, frequent in rows if frequent and row["relation"] not in (*TOTALS, "punct")]
    page = environment.get_template("report.html.j2").render(
        run=run,
        rows=rows,
        totals=TOTALS,
        example=single[0] if single else None,
        has_control="control_accuracy" in best,
        has_intervals=bool(best["accuracy_low"].notna().any()),
        heatmaps=heatmap_data(cells, best),
        figure_svg=figure_svg[figure_svg.index("<svg") :],
        min_count=min_count,
        record=to_json(run),
    )
    path.write_text(page, encoding="utf-8")


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
    return {"layers": n_layers, "heads": n_heads, "directions": list(ARROWS.values()), "relations": relations}
