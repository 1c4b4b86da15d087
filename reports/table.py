"""Tables that people read: lists of columns that render themselves for a terminal, the page, LaTeX and the reference.

A `TableColumn` is declared once: what it holds in the CSV file, how its cells are written, its heading, and what the
reader has to know. A `Schema` lists the columns of one CSV file, and a `ShownTable` is some columns with rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup
from rich import box
from rich.markup import escape
from rich.table import Table

from .format import interval, number, percent
from .terminal import WIDE

Row = Mapping[str, Any]
Room = Literal["any", "wide", "page"]
"""Where a text is shown: everywhere; everywhere but in narrow terminals; or only on the page and in LaTeX."""

WRITTEN: Mapping[str, Callable[[Any], str]] = {
    "count": lambda value: f"{value:,.0f}",
    "number from 1": lambda value: f"{value:.0f}",
    "share": percent,
    "points": lambda value: percent(value, sign=True),
    "nats": lambda value: number(value, 2),
    "p": lambda value: number(value, 4),
    "number": number,
}
"""How values are written, by their type. Values of other types are written as they are."""

_TERMINAL_STYLES = {"rare": "dim", "strong": "bold"}
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "–": "--",
}
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")


@dataclass(frozen=True)
class TableColumn:
    """A column of a table that people read, with the columns of the CSV file that belong to it.

    Attributes:
        names: the columns of the CSV file, separated by spaces. The first one has the value; it is empty if the cells
            are made of other columns.
        type: the type of the value, a key of `WRITTEN` or another word for the reference. A unit may follow
            after a comma.
        meaning: the entry of the reference, a phrase.
        heading: the heading where the column is shown; empty for a column of the CSV file alone.
        cell: makes the text of a cell from a row, if it is not the value as its type is written.
        beside: makes a short text beside the value, such as an interval in brackets.
        beside_in: where this text is shown.
        room: where the column is shown.
        help: the entry of the legend on the page, as HTML, in which ``{name}`` stands for a fact of the table.
        terminal: the heading in a terminal, if it differs.
        wraps: whether long texts in the column take several lines.
        markup: makes the content of a cell that only the page has, such as a bar.

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
    room: Room = "any"
    help: str = ""
    terminal: str = ""
    wraps: bool = False
    markup: Callable[[Row], Markup] | None = None

    def text(self, row: Row) -> str:
        """Return the text of a cell, a dash if its value is not defined."""
        if self.cell:
            return self.cell(row)
        value = row[self.names.split()[0]]
        write = WRITTEN.get(self.type.partition(",")[0], str)
        return "–" if pd.isna(value) else write(value)

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


def bounds(name: str, low: str = "low", high: str = "high") -> Callable[[Row], str]:
    """Return what makes the interval of a value in percent from the columns ``NAME_LOW`` and ``NAME_HIGH``."""
    return lambda row: interval(row[f"{name}_{low}"], row[f"{name}_{high}"])


def bar(length: str, mark: str) -> TableColumn:
    """Return bars for the page, whose length and mark are the shares in two columns."""

    def drawn(row: Row) -> Markup:
        inner = Markup('<i style="width:{}%"></i>').format(_width(row[length]))
        if not pd.isna(row[mark]):
            inner += Markup('<b style="left:{}%"></b>').format(_width(row[mark]))
        return Markup('<span class="bar">{}</span>').format(inner)

    return TableColumn("", "", "", room="page", markup=drawn)


def _width(share: float) -> str:
    return "0" if pd.isna(share) else percent(share)


@dataclass(frozen=True)
class Schema:
    """The columns of one CSV file.

    Attributes:
        name: the name of the file, without its ending.
        rows: what has a row, in a sentence or two.
        columns: the columns, in the order in which they are shown.
    """

    name: str
    rows: str
    columns: tuple[TableColumn, ...]

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


@dataclass(frozen=True)
class ShownTable:
    """A table with the rows that are shown, in their order.

    Attributes:
        name: the name of the LaTeX file.
        title: the title in a terminal, with the unit of shares.
        columns: the columns. Those without heading are not shown, nor are those whose values the rows do not have.
        rows: the rows, by the columns of the CSV file.
        notes: sentences below the table in a terminal.
        style: returns the words that mark a row: ``rare``, ``total`` or ``strong``, or several, separated by spaces.
        facts: what stands in the legend for words in braces.
        wide: the least number of columns of a terminal in which intervals are shown.

    Example:
        >>> columns = [TableColumn("word", "text", "a word", "word"), TableColumn("rate", "share", "its rate", "rate")]
        >>> print(ShownTable("rates", "Rates (%)", columns, [{"word": "the", "rate": 0.918}]))
        <div class="scroll"><table><thead><tr><th class="left">word</th><th>rate %</th></tr></thead>
        <tbody>
        <tr><td class="left">the</td><td>91.8</td></tr>
        </tbody></table></div>
    """

    name: str
    title: str
    columns: Sequence[TableColumn]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    style: Callable[[Row], str] = field(default=lambda row: "")
    facts: Mapping[str, object] = field(default_factory=dict)
    wide: int = WIDE

    def shown(self, *rooms: Room) -> list[TableColumn]:
        """Return the columns that are shown in one of these rooms."""
        return [
            column
            for column in self.columns
            if (column.heading or column.markup)
            and column.room in rooms
            and (not column.names or not self.rows or column.names.split()[0] in self.rows[0])
        ]

    def terminal(self, width: int) -> Table:
        """Return the table for a terminal of ``width`` columns."""
        is_wide = width >= self.wide
        rooms: tuple[Room, ...] = ("any", "wide") if is_wide else ("any",)
        columns = self.shown(*rooms)
        beside = [column.beside_in in rooms for column in columns]
        notes = list(self.notes)
        if is_wide and any(c.text_beside(row) for c in columns if c.beside_in == "wide" for row in self.rows):
            notes[:1] = [" ".join([*notes[:1], "In square brackets: 95 % intervals."])]
        table = Table(
            title=escape(self.title),
            caption=escape("\n".join(notes)),
            title_justify="left",
            caption_justify="left",
            box=box.HEAVY_HEAD if is_wide else None,
            padding=(0, 1) if is_wide else (0, 1, 0, 0),
        )
        for column in columns:
            heading = column.terminal or column.heading
            # In a narrow terminal, headings of several words take several lines.
            lines = heading if is_wide else re.sub(r"(?<=-)| ", "\n", heading)
            table.add_column(escape(lines), justify="left" if column.is_left else "right", no_wrap=not column.wraps)
        for row in self.rows:
            cells = [
                f"{column.text(row)} {column.text_beside(row) if has_room else ''}".rstrip()
                for column, has_room in zip(columns, beside, strict=True)
            ]
            styles = [_TERMINAL_STYLES[word] for word in self.style(row).split() if word in _TERMINAL_STYLES]
            table.add_row(*map(escape, cells), style=" ".join(styles) or None)
        return table

    def __html__(self) -> Markup:
        """Return the table for the page."""
        columns = self.shown("any", "wide", "page")
        head = Markup().join(_th(column) for column in columns)
        lines = Markup("\n").join(
            Markup("<tr{}>{}</tr>").format(_class(self.style(row)), Markup().join(_td(c, row) for c in columns))
            for row in self.rows
        )
        return Markup(
            '<div class="scroll"><table><thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody></table></div>'
        ).format(head, lines)

    def __str__(self) -> str:
        return str(self.__html__())

    @property
    def legend(self) -> Markup:
        """The entries of a list that explains the columns."""
        entries = (
            # The help is text of this package, in which only the facts must be escaped.
            Markup("<dt>{}</dt><dd>{}</dd>").format(column.heading, Markup(column.help).format_map(self.facts))  # noqa: S704
            for column in self.shown("any", "wide", "page")
            if column.help
        )
        return Markup("\n").join(entries)

    def latex(self) -> str:
        r"""Return the table as LaTeX, which needs ``\usepackage{booktabs}``."""
        columns = [column for column in self.shown("any", "wide", "page") if not column.markup]
        lines = [
            f"% {self.title}",
            f"\\begin{{tabular}}{{{''.join('l' if column.is_left else 'r' for column in columns)}}}",
            r"\toprule",
            _latex_row(column.page_heading for column in columns),
            r"\midrule",
            *(_latex_row(_joined(column, row) for column in columns) for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines) + "\n"


def _joined(column: TableColumn, row: Row) -> str:
    return f"{column.text(row)} {column.text_beside(row)}".rstrip()


def _latex_row(cells: Iterable[str]) -> str:
    row = " & ".join(map(_latex, cells))
    # A bracket at the beginning of a row would be read as an argument of the line break before it.
    return ("{}" if row.startswith("[") else "") + row + r" \\"


def _latex(text: str) -> str:
    with_minus = _MINUS.sub("−", text)  # a hyphen stays one in names such as 3-9
    return "".join(_LATEX.get(character, character) for character in with_minus)


def _th(column: TableColumn) -> Markup:
    return Markup("<th{}>{}</th>").format(_class("left" if column.is_left else ""), column.page_heading)


def _td(column: TableColumn, row: Row) -> Markup:
    if column.markup:
        return Markup("<td>{}</td>").format(column.markup(row))
    beside = column.text_beside(row)
    small = Markup(' <span class="range">{}</span>').format(beside) if beside else ""
    words = f"{'left' if column.is_left else ''} {'wrapped' if column.wraps else ''}".strip()
    return Markup("<td{}>{}{}</td>").format(_class(words), column.text(row), small)


def _class(words: str) -> Markup:
    return Markup(' class="{}"').format(words) if words else Markup()
