"""The files of a run, and what it prints: well-formed, whatever names a corpus has."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from rich.console import RenderableType
from rich.errors import MarkupError

from ..reports.table import Terminal
from .failing import fail, quote
from .names import RAW

_EMPTY = frozenset("area base br col embed hr img input link meta source track wbr".split())
"""The elements of HTML that have no end."""

_WIDTHS = (60, 130)


class _Page(HTMLParser):
    """Follows which elements of a page are open, and collects the data of the explorer."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.data: str | None = None
        self.wrong = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _EMPTY:
            self.open.append(tag)
        if ("id", "explorer-data") in attrs:
            self.data = ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass  # an element of a drawing without content

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong = self.wrong or f"</{tag}> in line {self.getpos()[0]} ends an element that is not open"

    def handle_data(self, data: str) -> None:
        if self.data == "" and self.open[-1:] == ["script"]:
            self.data = data


def check_printed(show: Callable[[int], RenderableType]) -> None:
    """Check that nothing raw reaches a terminal of any width."""
    advice = "Show a ShownTable, or a Text of rich without control characters; a string is read as markup of rich"
    for width in _WIDTHS:
        terminal, printed = Terminal(width), io.StringIO()
        terminal.file = printed
        try:
            terminal.print(show(width))
        except MarkupError as error:
            fail(f"What show() returns cannot be printed: {quote(error)}", advice)
        if found := RAW.search(printed.getvalue()):
            fail(f"show() prints the control character {found[0]!r} of a name", advice)


def check_files(folder: Path) -> None:
    """Check all files of a run."""
    checks: dict[str, Callable[[str], object]] = {
        ".html": _check_page,
        ".svg": _check_drawing,
        ".tex": _check_latex,
        ".csv": _check_csv,
        ".json": json.loads,
    }
    for path in sorted(folder.rglob("*")):
        if path.suffix not in checks or "states" in path.parts:
            continue
        with path.open(encoding="utf-8", newline="") as file:
            text = file.read()
        if path.suffix in (".html", ".svg", ".tex") and (found := RAW.search(text)):
            fail(
                f"{path.name} has the control character {found[0]!r} of a name",
                "Let names be values of the template, of a ShownTable or of a figure, which write them as text",
            )
        try:
            checks[path.suffix](text)
        except ValueError as error:
            fail(f"{path.name} is not well-formed: {quote(error)}", "Let names be values of a template, never markup")


def _check_page(text: str) -> None:
    page = _Page()
    page.feed(text)
    page.close()
    if page.wrong or page.open:
        raise ValueError(page.wrong or f"<{page.open[-1]}> has no end")
    if page.data is not None:
        json.loads(page.data)


def _check_drawing(text: str) -> None:
    try:
        ElementTree.fromstring(text)  # noqa: S314  # which was written by this program
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error


def _check_latex(text: str) -> None:
    columns = re.search(r"\\begin\{tabular\}\{(\w+)\}", text)
    if columns is None:
        raise ValueError("there is no tabular")
    for line in text.split(r"\toprule")[1].split(r"\bottomrule")[0].splitlines():
        if line.endswith(r"\\") and len(re.findall(r"(?<!\\)&", line)) != len(columns[1]) - 1:
            raise ValueError(f"a row has another number of cells than the table has columns: {line}")


def _check_csv(text: str) -> None:
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    if any(len(row) != len(header) for row in rows):
        raise ValueError("a row has another number of cells than the header")
