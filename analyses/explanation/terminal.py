"""The verdicts and numbers of the explanation tests for the terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ...reports.format import interval, number, percent, rows_of
from .contract import SHARE
from .registry import column_of, in_order_of_report, with_unit
from .results import ExplainResults
from .section import overall, shown_bounds, verdict_rows
from .verdict import FEWEST

_WIDE = 130
_MARKS = {"passes": ("✓ passes", "green"), "fails": ("✗ fails", "red"), "undecided": ("? undecided", "yellow")}


def explain_table(results: ExplainResults, *, width: int) -> RenderableType:
    """Make the tables of the verdicts and of the most important numbers, with facts and notes below.

    Args:
        results: the results.
        width: the number of columns of the terminal. If it is large enough, each verdict is in one row.
    """
    lines = [f"{fact[0].upper()}{fact[1:]}." for fact in results.facts if fact]
    lines += results.notes
    lines += [f"Not run: {test} ({why})" for test, why in results.left_out]
    parts: list[RenderableType] = []
    if len(results.verdicts):
        parts.append(_verdicts(results, wide=width >= _WIDE))
        if width < _WIDE:  # the table of verdicts has no room for it
            parts += ["", _compared(results)]
        lines.insert(
            0,
            "Above 0, attention does better than the floor. Passing a test does not prove that attention is faithful.",
        )
    numbers = _numbers(results)
    if numbers.row_count:
        parts += ["", numbers] if parts else [numbers]
    if lines:
        caption = escape("\n".join(lines))
        parts.append(f"[table.caption]{caption}[/]")
    return Group(*parts)


def _verdicts(results: ExplainResults, *, wide: bool) -> Table:
    table = _table("May attention be read as an explanation?", wide=wide)
    table.add_column("test", no_wrap=True)
    table.add_column("question", ratio=1)
    for name in ("number\nvs floor", "difference\n[95 %]"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    between = " " if wide else "\n"
    for row in verdict_rows(results.verdicts):
        unit = row["unit"]
        mark = " %" if unit == SHARE else ""
        sides = f"{_value(row['number']['mean'], unit)}{mark}{between}vs {_value(row['floor']['mean'], unit)}{mark}"
        difference = _value(row["difference"], unit, sign=True)
        verdict, style = _MARKS.get(row["verdict"], (row["verdict"], ""))
        if row["n"] < FEWEST:
            verdict = f"? n = {row['n']}"
        table.add_row(
            Text(row["test"]),
            Text(f"{row['question']} ({row['compared']})" if wide else row["question"]),
            Text(sides),
            Text(f"{difference}{between}{shown_bounds(row['low'], row['high'], unit)}".rstrip()),
            Text(verdict, style=style),
        )
    return table


def _compared(results: ExplainResults) -> Table:
    table = _table("What is compared with what, in the same order", wide=False)
    table.add_column("test", no_wrap=True)
    table.add_column("number against floor", ratio=1)
    for row in rows_of(results.verdicts):
        table.add_row(Text(row["test"]), Text(row["compared"]))
    return table


def _numbers(results: ExplainResults) -> Table:
    table = _table("Means over texts", wide=False)
    table.add_column("", ratio=1)
    for name in ("mean", "95 % interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    base = [row for row in rows_of(results.models) if row["role"] == "base"]
    for row in base:
        table.add_row(
            Text("accuracy of the tested model (%)"),
            *(percent(row["accuracy"]), Text(interval(row["low"], row["high"])), ""),
        )
    rows = {row["measure"]: row for row in rows_of(overall(results.summary))}
    key = tuple(dict.fromkeys(name for test in in_order_of_report() for name in test.key))
    for measure in key if base else ("correct", *key):
        if measure in rows and rows[measure]["n"]:
            row, unit = rows[measure], column_of(measure).unit
            bounds = Text(shown_bounds(row["low"], row["high"], unit))
            table.add_row(Text(with_unit(measure)), _value(row["mean"], unit), bounds, f"{row['n']:,}")
    return table


def _table(title: str, *, wide: bool) -> Table:
    options: dict[str, Any] = {"box": box.HEAVY_HEAD, "padding": (0, 1)} if wide else {"box": None}
    return Table(title=title, title_justify="left", **{"padding": (0, 1, 0, 0), **options})


def _value(value: float, unit: str, *, sign: bool = False) -> str:
    if unit == SHARE:
        return percent(value, sign=sign)
    return ("+" if sign and value > 0 else "") + number(value)
