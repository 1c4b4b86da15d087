"""Everything a dependency run leaves on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reports.figures import best_heads_figure, heads_figure, save
from reports.json_text import records, to_json
from reports.page import write_page
from reports.run_folder import RUN_RECORD


def write_dependency_tables(
    folder: Path,
    *,
    cells: pd.DataFrame,
    best: pd.DataFrame,
    controls: Sequence[pd.DataFrame] = (),
    min_count: int = 50,
    title: str = "",
) -> None:
    """Write ``tables/`` and ``figures/``.

    Args:
        folder: an existing folder.
        cells, best: `analyses.linguistic.DependencyTables`, ``best`` perhaps with the control's columns.
        controls: the best-heads table of each randomly initialised copy.
        min_count: relations with fewer words are left out of the first figure.
        title: of the figures; what was analysed on what.
    """
    tables, figures = folder / "tables", folder / "figures"
    tables.mkdir()
    _write_csv(cells, tables / "dependency.csv")
    _write_csv(best, tables / "dependency_best.csv")
    if controls:
        numbered = [control.assign(copy=k) for k, control in enumerate(controls, start=1)]
        columns = ["copy", "relation", "direction", "layer", "head", "correct", "total", "accuracy"]
        _write_csv(pd.concat(numbered)[columns], tables / "dependency_control.csv")
    save(best_heads_figure(best, min_count=min_count, title=title), figures, "dependency_best")
    save(heads_figure(cells, best, title=title), figures, "dependency_heads")


def write_dependency_record(
    folder: Path, *, run: dict[str, Any], cells: pd.DataFrame, best: pd.DataFrame, min_count: int = 50
) -> None:
    """Write the page, the summary and the run record, after `write_dependency_tables` in the same folder.

    Args:
        folder: where the tables and figures are.
        run: the run record.
        cells, best: as there.
        min_count: relations with fewer words are greyed in the page.
    """
    svg = (folder / "figures" / "dependency_best.svg").read_text(encoding="utf-8")
    write_page(folder / "report.html", run=run, cells=cells, best=best, figure_svg=svg, min_count=min_count)
    summary = {"run": run, "dependency_best": records(best)}
    (folder / "summary.json").write_text(to_json(summary), encoding="utf-8")
    (folder / RUN_RECORD).write_text(to_json(run), encoding="utf-8")


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False, lineterminator="\n")
