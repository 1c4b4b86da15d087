"""The page of a grid: the number that is compared, cell by cell, and all cells, which lead to their own pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..reports.columns import Row, TableColumn
from ..reports.finding import Finding
from ..reports.format import number, rows_of
from ..reports.page import outline, read_bundle, template_environment
from ..reports.page.svg import palette_styles
from ..reports.provenance import versions
from ..reports.table import ShownTable
from ..storage.characters import in_document
from ..storage.durable import write_durably
from .grid import DONE, Grid, numeric

_ALL = "#grid-all-runs"

_DARKEST = 0.25  # of a shade, on which text is still legible


def write_page(
    grid: Grid, table: pd.DataFrame, tables: Sequence[ShownTable], findings: Sequence[Finding], command: str
) -> Path:
    """Write ``index.html`` into the folder of a grid, and return its path.

    Args:
        grid: the cells.
        table: what `attentionology.engine.grid.in_short` returned.
        tables: the tables that people read, of which the first one has the cells.
        findings: what `grid_findings` returned.
        command: the command line of the grid.
    """
    cells, *others = tables
    page = (
        template_environment()
        .get_template("grid.html.j2")
        .render(
            command=command,
            of_cells=grid.command,
            n_cells=len(table),
            findings=findings,
            failed=[row for row in rows_of(table) if row["status"] != DONE],
            matrix=matrix(table, list(grid.varied)),
            cells=with_links(cells, table),
            others=others,
            version=versions()["attentionology"],
            page_styles=Markup(palette_styles() + read_bundle("page.css")),  # noqa: S704  # a file of this package
            styles=Markup(read_bundle("explorer.css")),  # noqa: S704  # a file of this package
            script=Markup(read_bundle("explorer.js")),  # noqa: S704  # a file of this package
        )
    )
    path = grid.folder / "index.html"
    write_durably(path, in_document(outline(page, prefix="grid")[0]).encode())
    return path


def compared_number(table: pd.DataFrame, varied: Sequence[str]) -> str:
    """Return the first number that is not the same in all cells; the first one if all are; empty if there is none."""
    numbers = numeric(table, varied)
    return next((name for name in numbers if table[name].min() < table[name].max()), numbers[0] if numbers else "")


def grid_findings(
    table: pd.DataFrame, varied: Sequence[str], over: pd.DataFrame | None = None, name: str = ""
) -> list[Finding]:
    """Say which cells have the largest and the smallest of the compared numbers, or which means over an option do.

    Args:
        table: what `attentionology.engine.grid.in_short` returned.
        varied: the options that vary.
        over: means and standard deviations over one of them; None if there are none.
        name: the option that ``over`` is over.
    """
    compared = compared_number(table, varied)
    runs = [row for row in rows_of(table) if row["status"] == DONE and not math.isnan(row.get(compared, math.nan))]
    options, values = list(varied), [(row[compared], number(row[compared]), row) for row in runs]
    what = f"{compared} of {len(runs):,} runs"
    if over is not None and len(options) > 1:
        options.remove(name)
        means = [row for row in rows_of(over) if row["quantity"] == compared]
        values = [
            (row["mean"], f"{number(row['mean'])} ± {number(row['sd'])} (n = {row['n']:,})", row) for row in means
        ]
        what = f"mean {compared} over {name}, of {len(means):,} means"
    if len(values) < 2:
        return []
    smallest, *_, largest = sorted(values, key=itemgetter(0))
    if smallest[0] == largest[0]:
        return [Finding(f"{largest[1]} is the {what}, which are all alike.", _ALL)]

    def at(row: Row) -> str:
        return ", ".join(f"{option} {row[option]}" for option in options)

    text = (
        f"{largest[1]} is the largest {what}, that of {at(largest[2])}; the smallest is {smallest[1]}, that of "
        f"{at(smallest[2])}. No difference is tested: attentionology compare does this for two runs, and their pages "
        "name the baselines."
    )
    return [Finding(text, page_of(largest[2]) if "folder" in largest[2] else _ALL)]


def matrix(table: pd.DataFrame, varied: Sequence[str]) -> ShownTable | None:
    """Return the compared number: the last varied option as columns, the others as rows; None without a number."""
    name = compared_number(table, varied)
    if not name:
        return None
    *others, last = varied
    low, high = float(table[name].min()), float(table[name].max())
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for cell in rows_of(table):
        row = rows.setdefault(tuple(cell[option] for option in others), {option: cell[option] for option in others})
        row[f"of {cell[last]}"] = cell
    values = dict.fromkeys(str(value) for value in table[last])
    columns = [
        *(TableColumn(option, "text", "", option) for option in others),
        *(_number_column(f"of {value}", name, f"{last} {value}", low, high) for value in values),
    ]
    title = f"{name} by {', '.join(varied)}"
    return ShownTable("grid_matrix", title, columns, list(rows.values()))


def _number_column(key: str, name: str, heading: str, low: float, high: float) -> TableColumn:
    """Return the column of the cells that rows have under a key, with a number of this name."""

    def cell_of(row: Row) -> Mapping[str, Any]:
        cell: Mapping[str, Any] = row[key]
        return cell

    def text(row: Row) -> str:
        return number(cell_of(row)[name]) if cell_of(row)["status"] == DONE else "failed"

    def shade(row: Row) -> float:
        value = cell_of(row)[name]
        return 0.0 if math.isnan(value) or high == low else round(_DARKEST * (value - low) / (high - low), 2)

    return TableColumn("", "number", "", heading, cell=text, shade=shade, link=lambda row: page_of(cell_of(row)))


def with_links(cells: ShownTable, table: pd.DataFrame) -> ShownTable:
    """Return the table of cells with a last column that leads to their pages."""
    rows = [{**shown, "page": page_of(row)} for shown, row in zip(cells.rows, rows_of(table), strict=True)]
    text, link = partial(_text_if_any, "page", "report"), partial(_text_if_any, "page", "")
    column = TableColumn("page", "text", "", "page", cell=text, link=link)
    return replace(cells, columns=[*cells.columns, column], rows=rows)


def _text_if_any(key: str, text: str, row: Row) -> str:
    """Return a text if a row has something under a key, which is the text if none is given."""
    return (text or str(row[key])) if row[key] else ""


def page_of(cell: Mapping[str, Any]) -> str:
    """Return the address of the page of a cell from that of the grid; empty if the cell failed."""
    return f"{cell['folder']}/report.html" if cell["status"] == DONE else ""
