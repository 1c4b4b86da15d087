"""The verdicts and numbers of the explanation tests for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape

from ...reports.columns import TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from .columns import MEAN
from .contract import SHARE
from .registry import column_of, in_order_of_report, with_unit
from .results import ExplainResults
from .section import overall, verdict_table

_COMPARED = (TableColumn("test", "text", "", "test"), TableColumn("compared", "text", "", "compared", wraps=True))
_NUMBERS = (
    TableColumn("label", "text", "", "measure", wraps=True),
    MEAN,
    TableColumn("n", "count", "", "n"),
)


def explain_table(results: ExplainResults, *, width: int) -> RenderableType:
    """Make the tables of the verdicts and of the most important numbers, with facts and notes below.

    Args:
        results: the results.
        width: the number of columns of the terminal.
    """
    lines = [f"{fact[0].upper()}{fact[1:]}." for fact in results.facts if fact]
    lines += results.notes
    lines += [f"Not run: {test} ({why})" for test, why in results.left_out]
    parts: list[RenderableType] = []
    if len(results.verdicts):
        compared = (
            TableColumn("test", "text", "", "test"),
            TableColumn("compared", "text", "", "compared", wraps=True),
        )
        title = "What is compared with what, in the same order"
        parts += [verdict_table(results).terminal(width), ""]
        parts += [ShownTable("compared", title, compared, rows_of(results.verdicts)).terminal(width), ""]
        note = (
            "Above 0, attention does better than the floor. Passing a test does not prove that attention is faithful."
        )
        lines.insert(0, note)
    if numbers := _numbers(results):
        parts.append(ShownTable("numbers", "Means over texts", _NUMBERS, numbers).terminal(width))
    if lines:
        caption = escape("\n".join(lines))
        parts.append(f"[table.caption]{caption}[/]")
    return Group(*parts)


def _numbers(results: ExplainResults) -> list[dict[str, Any]]:
    """The accuracy of the tested model, and the most important measures of all tests."""
    base = [row for row in rows_of(results.models) if row["role"] == "base"]
    shown = [
        {**row, "label": "accuracy of the tested model (%)", "unit": SHARE, "mean": row["accuracy"],
         "n": len(results.texts)}
        for row in base
    ]  # fmt: skip
    rows = {row["measure"]: row for row in rows_of(overall(results.summary))}
    key = tuple(dict.fromkeys(name for test in in_order_of_report() for name in test.key))
    for measure in key if base else ("correct", *key):
        if measure in rows and rows[measure]["n"]:
            shown.append({**rows[measure], "label": with_unit(measure), "unit": column_of(measure).unit})
    return shown
