"""The columns of tables that people read, each declared once.

A `TableColumn` says what it holds in the CSV file, how its cells are written, its heading, and what the reader has to
know. A `Schema` lists the columns of one CSV file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup

from .format import interval, number, percent, shown_head

Row = Mapping[str, Any]
Room = Literal["any", "wide", "page"]
"""Where a text is shown: everywhere; everywhere but in narrow terminals; or only on the page and in LaTeX."""

WRITTEN: Mapping[str, Callable[[Any], str]] = {
    "count": lambda value: f"{value:,.0f}",
    "number from 1": lambda value: f"{value:.0f}",
    "share": percent,
    "points": lambda value: percent(value, sign=True),
    "nats": lambda value: number(value, 2),
    "bits": lambda value: number(value, 2),
    "p": lambda value: number(value, 4),
    "number": number,
}
"""How values are written, by their type. Values of other types are written as they are."""


@dataclass(frozen=True)
class Explored:
    """How the explorer shows a column of a table of heads. In its texts, ``{name}`` stands for a fact of the table."""

    group: str  # the heading of the measure
    label: str  # its name below the heading
    note: str = ""  # its definition in one sentence, if it is not the meaning of the column
    counted: str = ""  # the column with the number of decisions or inputs behind each value
    center: float | None = None  # the middle of a diverging scale
    low_is_best: bool = False


@dataclass(frozen=True)
class TableColumn:
    """A column of a table that people read, with the columns of the CSV file that belong to it.

    Attributes:
        names: the columns of the CSV file, separated by spaces. The first one has the value; it is empty if the cells
            are made of other columns.
        type: the type of the value, which decides how it is written: ``count``, ``number from 1``, ``number``,
            ``nats``, ``bits``, ``p``, ``share`` (in percent) or ``points`` (in percent, with a sign). Values of other
            types are written as they are. A unit may follow after a comma.
        meaning: the entry of the reference, a phrase.
        heading: the heading where the column is shown; empty for a column of the CSV file alone.
        cell: makes the text of a cell from a row, if it is not the value as its type is written.
        beside: makes a short text beside the value, such as an interval in brackets.
        beside_in: where this text is shown.
        below: makes a line below the value, which only the page has.
        room: where the column is shown.
        help: the entry of the legend on the page, as HTML, in which ``{name}`` stands for a fact of the table.
        digits: the number of decimals of a number, if it is not the usual one of its type.
        terminal: the heading in a terminal, if it differs.
        wraps: whether long texts in the column take several lines.
        optional: whether the column is left out if no row has a value.
        look: returns ``weak`` or ``strong`` for a cell that differs from the others of its row, else an empty text.
        shade: returns how dark the background of a cell is on the page, from 0 to 1.
        link: returns the address to which a cell leads on the page, else an empty text.
        markup: makes the content of a cell that only the page has, such as a bar.
        explored: how the explorer shows the column, if it has a value for each head.

    Example:
        >>> gain = TableColumn("gain gain_low gain_high", "points", "its gain", "gain", beside=bounds("gain"))
        >>> row = {"gain": 0.125, "gain_low": 0.1, "gain_high": 0.2}
        >>> gain.text(row), gain.text_beside(row)
        ('+12.5', '[10.0, 20.0]')
    """

    names: str
    type: str
    meaning: str
    heading: str = ""
    _: KW_ONLY
    cell: Callable[[Row], str] | None = None
    beside: Callable[[Row], str] | None = None
    beside_in: Room = "wide"
    below: Callable[[Row], str] | None = None
    room: Room = "any"
    help: str = ""
    digits: int | None = None
    terminal: str = ""
    wraps: bool = False
    optional: bool = False
    look: Callable[[Row], str] = field(default=lambda row: "")
    shade: Callable[[Row], float] | None = None
    link: Callable[[Row], str] = field(default=lambda row: "")
    markup: Callable[[Row], Markup] | None = None
    explored: Explored | None = None

    def text(self, row: Row) -> str:
        """Return the text of a cell, a dash if its value is not defined."""
        if self.cell:
            return self.cell(row)
        value = row[self.names.split()[0]]
        if pd.isna(value):
            return "–"
        if self.digits is not None:
            return number(value, self.digits)
        return WRITTEN.get(self.type.partition(",")[0], str)(value)  # the type may be "number, −1 to 1"

    def text_beside(self, row: Row) -> str:
        """Return the text beside the value; empty if there is none."""
        return self.beside(row) if self.beside else ""

    @property
    def is_left(self) -> bool:
        """Whether the column is aligned at the left, because its cells are words."""
        return self.type == "text"

    @property
    def page_heading(self) -> str:
        """The heading with the unit of shares, which a terminal names in the title."""
        return f"{self.heading} %" if self.type == "share" else self.heading


HEAD = TableColumn(
    "layer head", "number from 1", "the attention head", "attention head", terminal="head", cell=shown_head
)


def bounds(name: str = "", low: str = "low", high: str = "high") -> Callable[[Row], str]:
    """Return a function that writes an interval in percent from the columns ``NAME_LOW`` and ``NAME_HIGH``."""
    prefix = f"{name}_" if name else ""
    return lambda row: interval(row[f"{prefix}{low}"], row[f"{prefix}{high}"])


def bar(length: str, mark: str) -> TableColumn:
    """Return bars for the page, whose length and mark are the shares in two columns."""

    def draw(row: Row) -> Markup:
        inner = Markup('<i style="width:{}%"></i>').format(_width(row[length]))
        if not pd.isna(row[mark]):
            inner += Markup('<b style="left:{}%"></b>').format(_width(row[mark]))
        return Markup('<span class="bar">{}</span>').format(inner)

    return TableColumn("", "", "", room="page", markup=draw)


def _width(share: float) -> str:
    """Return a share as the number of percent in a style sheet."""
    return "0" if pd.isna(share) else percent(share)


@dataclass(frozen=True)
class Schema:
    """The columns of one CSV file."""

    name: str  # the name of the file, without its ending
    rows: str  # what has a row, in a sentence or two
    columns: tuple[TableColumn, ...]  # the columns, in the order in which they are shown

    @property
    def names(self) -> list[str]:
        """The columns of the CSV file, in their order."""
        return [name for column in self.columns for name in column.names.split()]

    def only(self, *names: str) -> tuple[TableColumn, ...]:
        """Return the columns with these headings, in this order."""
        by_heading = {column.heading: column for column in self.columns}
        return tuple(by_heading[name] for name in names)

    def reference(self) -> str:
        """Return the entry of the reference in Markdown."""
        lines = [f"### `{self.name}.csv`", "", self.rows, "", "| column | type | meaning |", "|---|---|---|"]
        for column in self.columns:
            if column.names:
                names = ", ".join(f"`{name}`" for name in column.names.split())
                lines.append(f"| {names} | {column.type} | {column.meaning} |")
        return "\n".join(lines)
