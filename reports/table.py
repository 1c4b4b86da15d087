"""Tables that people read, which render themselves for a terminal, the page and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ..storage.characters import in_latex, one_line, visible
from ..storage.writing import is_right_to_left
from .columns import Room, Row, TableColumn
from .finding import Finding
from .streams import WIDE

_TERMINAL_STYLES = {
    "rare": "dim", "weak": "dim", "strong": "bold", "passes": "green", "fails": "red", "undecided": "yellow",
}  # fmt: skip
_UNBOUNDED = 10_000
_HEAD = re.compile(r"(\b\d+-\d+\b)")
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")


_RARE: ContextVar[bool] = ContextVar("whether a terminal shows rare rows", default=False)


@contextmanager
def rare_rows(*, shown: bool) -> Iterator[None]:
    """Let a terminal show the rare rows of tables or not, while a block runs."""
    token = _RARE.set(shown)
    try:
        yield
    finally:
        _RARE.reset(token)


@dataclass(frozen=True)
class ShownTable:
    """A table with the rows that are shown, in their order.

    Attributes:
        name: the name of the LaTeX file.
        title: the title in a terminal, with the unit of shares.
        columns: the columns. Those without heading are not shown, nor are those whose values the rows do not have.
        rows: the rows, by the columns of the CSV file.
        notes: sentences below the table in a terminal.
        footnotes: sentences below the table in a terminal and in LaTeX, about some of its rows.
        uncertain: why a value has no interval, where others in its column have one.
        rare: what the rows have in common that are marked as ``rare``, such as ``fewer than 50 words``. A terminal
            shows them only within `rare_rows`, or if all rows but totals are rare.
        style: returns the words that mark a row: ``rare``, ``total`` or ``strong``, or several, separated by spaces.
        facts: what stands in the legend for words in braces.
        wide: the least number of columns of a terminal in which intervals are shown.
        css: the class of the table on the page, if it has a style of its own.

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
    css: str = ""
    footnotes: Sequence[str] = ()
    uncertain: str = "does not vary in the text"
    rare: str = ""

    def by(self, name: str) -> dict[Any, ShownTable]:
        """Return a table for each value of a column, with its rows.

        Example:
            >>> columns = [TableColumn("relation", "text", "", "relation"), TableColumn("head", "text", "", "head")]
            >>> rows = [{"relation": "obj", "head": "1-2"}, {"relation": "det", "head": "3-4"}]
            >>> {name: table.rows for name, table in ShownTable("heads", "Heads", columns, rows).by("relation").items()}
            {'obj': [{'relation': 'obj', 'head': '1-2'}], 'det': [{'relation': 'det', 'head': '3-4'}]}
        """
        values = dict.fromkeys(row[name] for row in self.rows)
        return {value: replace(self, rows=[row for row in self.rows if row[name] == value]) for value in values}

    def shown(self, *rooms: Room) -> list[TableColumn]:
        """Return the columns that are shown in one of these rooms."""
        return [
            column
            for column in self.columns
            if (column.heading or column.markup) and column.room in rooms and self._has_values(column)
        ]

    def _has_values(self, column: TableColumn) -> bool:
        """Return whether the rows have the values of a column."""
        name = column.names.partition(" ")[0]
        if not name or not self.rows:
            return True
        return name in self.rows[0] and (not column.optional or any(not pd.isna(row[name]) for row in self.rows))

    def _without_intervals(self) -> str:
        """Return the heading of the first column of which only some values have an interval; empty if there is none."""
        for column in self.shown("any", "wide"):
            name, *bounds = column.names.split() or [""]
            if any(bound.endswith("low") for bound in bounds):
                have_one = {bool(column.text_beside(row)) for row in self.rows if not pd.isna(row[name])}
                if len(have_one) > 1:
                    return column.heading
        return ""

    def terminal(self, width: int) -> Group:
        """Return the table for a terminal of ``width`` columns."""
        is_wide = width >= self.wide
        rooms: tuple[Room, ...] = ("any", "wide") if is_wide else ("any",)
        columns = self.shown(*rooms)
        rows, about_rare = self._frequent()
        first_note, *other_notes = [*about_rare, *self.notes] or [""]
        with_intervals = [column for column in columns if is_wide and column.beside_in == "wide"]
        if any(column.text_beside(row) for column in with_intervals for row in rows):
            blank = f"; a value without one {self.uncertain}" if self._without_intervals() else ""
            first_note = f"{first_note} In square brackets: 95 % intervals{blank}.".lstrip()

        table = Table(box=box.HEAVY_HEAD if is_wide else None, padding=(0, 1) if is_wide else (0, 1, 0, 0))
        for column in columns:
            heading = as_line(column.terminal or column.heading)
            justify: Literal["left", "right"] = "left" if column.is_left else "right"
            table.add_column(heading, justify=justify, no_wrap=not column.wraps, overflow="fold")
        for row in rows:
            cells = [_terminal_cell(column, row, beside=column.beside_in in rooms) for column in columns]
            table.add_row(*cells, style=_style(self.style(row)))
        if not is_wide or Console(width=_UNBOUNDED).measure(table).maximum > width:
            # Where there is no room, headings of several words take several lines; otherwise, some would be cut.
            for drawn_column in table.columns:
                drawn_column.header = Text(re.sub(r"(?<=-)| ", "\n", str(drawn_column.header)))

        # A title of the table itself would be wrapped at the width of the table, which may be narrow.
        below = filter(None, (first_note, *other_notes, *self.footnotes))
        return Group(as_line(self.title, "table.title"), table, *(as_line(note, "table.caption") for note in below))

    def _frequent(self) -> tuple[Sequence[Row], list[str]]:
        """Return the rows that a terminal shows, and what it says of those that are rare."""
        if not self.rare:
            return self.rows, []
        frequent = [row for row in self.rows if "rare" not in self.style(row).split()]
        n_rare = len(self.rows) - len(frequent)
        if not n_rare:
            return self.rows, []
        if _RARE.get() or all("total" in self.style(row).split() for row in frequent):  # or there are none
            return self.rows, [f"n in parentheses: {self.rare}."]
        ones = "rarer one" if n_rare == 1 else "rarer ones"
        return frequent, [f"And {n_rare:,} {ones} ({self.rare}): --rare, or tables/{self.name}.csv."]

    def __html__(self) -> Markup:
        """Return the table for the page."""
        columns = self.shown("any", "wide", "page")
        head = Markup().join(
            # A column of bars has no heading, and for a screen reader an empty one would be a fault.
            Markup("<{0}{1}>{2}</{0}>").format(
                "th" if column.page_heading else "td", _class("left" if column.is_left else ""), column.page_heading
            )
            for column in columns
        )
        lines = Markup("\n").join(
            Markup("<tr{}>{}</tr>").format(_class(self.style(row)), Markup().join(_td(c, row) for c in columns))
            for row in self.rows
        )
        return Markup(
            '<div class="scroll"><table{}><thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody></table></div>'
        ).format(_class(self.css), head, lines)

    def __str__(self) -> str:
        return str(self.__html__())

    @property
    def legend(self) -> Markup:
        """The entries of a list that explains the columns."""
        blank = self._without_intervals()
        entries = (
            # The help is text of this package, in which only the facts must be escaped.
            Markup("<dt>{}</dt><dd>{}{}</dd>").format(
                column.heading,
                Markup(column.help).format_map(self.facts),  # noqa: S704
                f" A value without an interval {self.uncertain}." if column.heading == blank else "",
            )
            for column in self.shown("any", "wide", "page")
            if column.help
        )
        return Markup("\n").join(entries)

    def latex(self) -> str:
        r"""Return the table as LaTeX, which needs ``\usepackage{booktabs}``."""
        columns = [column for column in self.shown("any", "wide", "page") if not column.markup]
        below = rf"\multicolumn{{{len(columns)}}}{{p{{\linewidth}}}}"
        lines = [
            f"% {one_line(self.title)}",
            f"\\begin{{tabular}}{{{''.join('l' if column.is_left else 'r' for column in columns)}}}",
            r"\toprule",
            _latex_row(column.page_heading for column in columns),
            r"\midrule",
            *(
                _latex_row(f"{column.text(row)} {column.text_beside(row)}".rstrip() for column in columns)
                for row in self.rows
            ),
            r"\bottomrule",
            *(rf"{below}{{{_latex_text(note)}}} \\" for note in self.footnotes),
            r"\end{tabular}",
        ]
        return "\n".join(lines) + "\n"


def as_line(text: str, style: str = "") -> Text:
    """Return a text as a line of a terminal, in which names are no markup of rich and end no line."""
    return Text(one_line(text), style)


def findings_list(findings: Iterable[Finding]) -> Group:
    """Return findings as a list for a terminal, each of them whole."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for finding in findings:
        line = as_line(finding.text)
        line.stylize("bold", 0, len(finding.number))
        table.add_row("•", line)
    return Group(as_line("Findings", "table.title"), table)


def _style(words: str) -> str:
    """Return the style of a terminal for the words that mark a row or a cell."""
    return " ".join(_TERMINAL_STYLES[word] for word in words.split() if word in _TERMINAL_STYLES)


def _terminal_cell(column: TableColumn, row: Row, *, beside: bool) -> Text:
    """Return the text of a cell with its style; ``beside`` adds what belongs beside the value."""
    text_beside = column.text_beside(row) if beside else ""
    return Text(visible(f"{column.text(row)} {text_beside}".rstrip()), _style(column.look(row)))


def _latex_row(cells: Iterable[str]) -> str:
    """Return a line of a LaTeX table, in which all characters stand for themselves."""
    row = " & ".join(map(_latex_text, cells))
    # A bracket or a star at the beginning of a row would be read as an argument of the line break before it.
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def _latex_text(text: str) -> str:
    """Return a text for LaTeX."""
    with_minus = _MINUS.sub("−", text)  # a hyphen stays one in names such as 3-9
    return in_latex(with_minus)


def _td(column: TableColumn, row: Row) -> Markup:
    """Return a cell for the page."""
    if column.markup:
        return Markup("<td>{}</td>").format(column.markup(row))
    text = column.text(row)
    value = with_marked_heads(text, _HEAD, "<span>{}</span>") if column.wraps else text  # spans are not broken
    if column.is_left and is_right_to_left([text]):
        value = Markup('<bdi dir="rtl">{}</bdi>').format(value)
    if address := column.link(row):
        value = Markup('<a href="{}">{}</a>').format(address, value)
    text_beside = column.text_beside(row)
    beside = Markup(' <span class="range">{}</span>').format(text_beside) if text_beside else ""
    below = Markup('<span class="what">{}</span>').format(column.below(row)) if column.below else ""
    classes = ["left" if column.is_left else "", "wrapped" if column.wraps else "", column.look(row)]
    class_ = _class(" ".join(filter(None, classes)))
    style = Markup(' style="background: rgba(0, 114, 178, {})"').format(column.shade(row)) if column.shade else ""
    return Markup("<td{}{}>{}{}{}</td>").format(class_, style, value, beside, below)


def with_marked_heads(text: str, heads: re.Pattern[str], element: str) -> Markup:
    """Return a text in which every head that matches is inside an element, which is given as HTML with ``{}``."""
    parts = heads.split(text)  # every second part is a name
    marked = (Markup(element).format(part) if index % 2 else part for index, part in enumerate(parts))  # noqa: S704
    return Markup().join(marked)


def _class(words: str) -> Markup:
    """Return the attribute of an element that has these classes, with a space before it; empty without a class."""
    return Markup(' class="{}"').format(words) if words else Markup()


class Terminal(Console):
    """A rich console that shows control characters in strings, table cells included, instead of obeying them."""

    # Names belong into what `as_line` makes: strings are read as markup, of which `rich.markup.escape` does not escape
    # every text, and a `rich.text.Text` drops some control characters when it is made.

    def __init__(self, width: int | None) -> None:
        super().__init__(width=width, highlight=False, emoji=False, soft_wrap=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Render the visible form of a text as rich does."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """Pass on the `BrokenPipeError` that is being handled, where rich would end the program with 1."""
        raise
