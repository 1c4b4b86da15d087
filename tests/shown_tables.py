"""Reads tables as people see them, on the page, in a terminal and in LaTeX, to compare them with the CSV file."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import pandas as pd
from rich.console import Console, RenderableType

from attentionology.analyses.counting.best_head import control_columns
from attentionology.reports.columns import Schema
from attentionology.reports.table import ShownTable
from tests import renew
from tests.renew import HINT, rows_of

Cells = list[dict[str, str]]
"""The texts of the cells of each row by the headings of the columns."""

Columns = dict[str, str | Callable[[Any], str]]
"""What stands below each heading; see `cells`."""


HEADERS = {name: columns for name, *columns in rows_of(renew.HEADERS)}
"""The columns of every CSV and LaTeX file in their order, some of which not every run has; see `assert_order`."""


class _Page(HTMLParser):
    """Collects the texts of the cells of one table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def on_page(table: ShownTable) -> Cells:
    """Read the table on the page."""
    page = _Page()
    page.feed(str(table))
    return _by_heading([[cell.strip() for cell in row] for row in page.rows], f"{table.name}.tex")


def in_latex(table: ShownTable) -> Cells:
    """Read the table in LaTeX."""
    rows = [line for line in table.latex().splitlines() if line.endswith(r"\\")]
    rows = [line for line in rows if not line.startswith(r"\multicolumn")]  # footnotes
    lines = [line.removesuffix(r" \\").removeprefix("{}") for line in rows]
    cells = [re.split(r"(?<!\\)&", line) for line in lines]
    return _by_heading([[_plain(cell.strip()) for cell in row] for row in cells], f"{table.name}.tex")


def _plain(latex: str) -> str:
    symbols = (
        (r"$\rightarrow$", "→"), (r"$\leftarrow$", "←"), (r"$\leftrightarrow$", "↔"), (r"$\|$", "‖"),
        (r"$\alpha$", "α"), (r"$\gamma$", "γ"), (r"$\rho$", "ρ"), (r"$\partial$", "∂"), (r"$\pm$", "±"),
        (r"$\surd$", "✓"), (r"$\times$", "✗"), (r"$^\circ$", "°"),
    )  # fmt: skip
    for code, text in (*symbols, ("$-$", "-"), ("--", "–"), (r"\%", "%"), (r"\_", "_"), (r"\&", "&")):
        latex = latex.replace(code, text)
    return latex


def read_terminal(content: RenderableType, width: int) -> str:
    """Read what a terminal of this width shows."""
    shown = io.StringIO()
    Console(width=width, file=shown).print(content)
    return shown.getvalue()


def in_terminal(table: ShownTable, width: int) -> Cells:
    """Read the table in a terminal that is wide enough for boxes, in which headings take one line."""
    lines = [line for line in read_terminal(table.terminal(width), width).splitlines() if line[:1] in "┃│"]
    return _by_heading([[cell.strip() for cell in re.split("[┃│]", line)[1:-1]] for line in lines])


def _by_heading(rows: list[list[str]], file: str = "") -> Cells:
    """Return the rows by the headings, of which those that a file has with all data must be in their order."""
    headings, *others = rows
    listed = {_plain(name): name for name in HEADERS.get(file, ())}
    assert_order(file, [listed[heading] for heading in headings if heading in listed])
    return [dict(zip(headings, row, strict=True)) for row in others]


def percent(value: float, sign: str = "") -> str:
    """Write a share or a difference of shares as tables show it, without the code of the toolkit."""
    return "–" if math.isnan(value) else format(100 * value, f"{sign}.1f")


def in_brackets(low: float, high: float) -> str:
    """Write an interval as tables show it; without width, it is left out."""
    return "" if math.isnan(low) or low == high else f" [{percent(low)}, {percent(high)}]"


def as_shown(row: Mapping[str, Any], columns: str, sign: str = "") -> str:
    """Write the value in the first of some columns, with the interval in the other two if there are any."""
    value, *ends = (row[name] for name in columns.split())
    return percent(value, sign) + (in_brackets(*ends) if ends else "")


def with_unit(row: Mapping[Any, Any], columns: str, unit: str, sign: str = "") -> str:
    """Write what `as_shown` does as sentences have it, with a unit between the value and the interval."""
    value, _, ends = as_shown(row, columns, sign).partition(" ")
    return f"{value} {unit} {ends}".rstrip()


def numbers(text: str) -> list[str]:
    """Return the numbers in a text and the names of heads, without signs."""
    return re.findall(r"\d+(?:[.,-]\d+)*", text)


def cells(rows: Iterable[Mapping[Any, Any]], columns: Columns, unit: str = " %") -> Cells:
    """Write what a table must show of some rows, without the code of the toolkit.

    Args:
        rows: rows of the CSV file.
        columns: what stands below each heading: ``"% VALUE LOW HIGH"`` for the columns of a share, with or without an
            interval, ``"+ VALUE LOW HIGH"`` for a difference of shares, ``".2f VALUE"`` or another format for a number,
            the name of a column of texts alone, or a function of the row.
        unit: how the headings of shares end; nothing in a terminal.
    """
    return [dict(_cell(row, heading, shown, unit) for heading, shown in columns.items()) for row in rows]


def _cell(row: Mapping[Any, Any], heading: str, shown: str | Callable[[Any], str], unit: str) -> tuple[str, str]:
    if callable(shown):
        return heading, shown(row)
    kind, _, names = shown.partition(" ")
    if not names:
        return heading, str(row[kind])
    if kind == "%":
        return heading + unit, as_shown(row, names)
    return heading, as_shown(row, names, "+") if kind == "+" else format(row[names], kind)


def with_control(
    best: pd.DataFrame, controls: Sequence[pd.DataFrame], key: Sequence[str] = ("relation",)
) -> pd.DataFrame:
    """Return the best heads with what the question about copies with random weights adds."""
    return best.join(control_columns(controls, key), on=list(key)) if controls else best


def distinct_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which all shares and differences are different, so that no column can stand for another one."""
    values = table.copy()
    names = [name for name in table if pd.api.types.is_float_dtype(table[name])]
    for column, name in enumerate(names):
        values[name] = [(1 + column + len(names) * row) / (1 + len(names) * len(table)) for row in range(len(table))]
    return values


def assert_order(file: str, columns: Iterable[str]) -> None:
    """Compare the columns of a file with those that it should have, in their order."""
    found = [*columns]
    listed = [name for name in HEADERS.get(file, ()) if name in found]
    assert found == listed, (
        f"{file} has the columns: {', '.join(found)}\ntests/headers.csv has: {', '.join(listed)}\n{HINT}"
    )


def assert_declared(tables: Mapping[str, pd.DataFrame], schemas: Iterable[Schema], numbers: Iterable[str] = ()) -> None:
    """Compare what schemas say of tables with their values: the order of columns, and the types.

    Args:
        tables: the tables by name, those of some schemas may be missing.
        schemas: their schemas.
        numbers: the columns without a unit whose values lie between 0 and 1 in these tables, but are no shares.
    """
    unknown = {*numbers}
    for schema in schemas:
        table = tables.get(schema.name, pd.DataFrame())
        assert_order(f"{schema.name}.csv", map(str, table))
        for column in schema.columns:
            names = [name for name in column.names.split() if name in table]
            assert names == [name for name in table if name in names], schema.name
            for name in names:
                unknown -= {name}
                values = table[name].dropna()
                assert _is_of(column.type, values) or (column.type == "number" and name in numbers), (schema.name, name)
    assert not unknown


def _is_of(type_: str, values: pd.Series) -> bool:
    """Whether values may be of a type."""
    if values.empty or not pd.api.types.is_numeric_dtype(values):
        return bool(values.empty) or type_ == "text"
    is_whole, low, high = pd.api.types.is_integer_dtype(values), float(values.min()), float(values.max())
    return {
        "text": False,
        "count": is_whole and low >= 0,
        "number from 1": is_whole and low >= 0,  # 0 stands for all together
        "share": not is_whole and low >= 0 and high <= 1,
        "points": not is_whole and low >= -1 and high <= 1,
        "number": low < 0 or high > 1,
    }.get(type_, True)
