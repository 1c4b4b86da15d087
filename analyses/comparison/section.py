"""The section of the report about a comparison."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.markup import escape

from ...reports.columns import Row
from ...reports.json_text import records
from ...reports.page import Section
from ...reports.table import ShownTable
from ...reports.terminal import WIDE
from .columns import shown_columns
from .figures import dumbbells
from .results import Comparison, Contrast, row_of

_LONGEST = 40
"""The most rows of a table in a terminal. Longer tables are left to the report."""


def comparison_section(comparison: Comparison, *, name: str, title: str) -> Section:
    """Make the table, the figures and the section of the page."""
    figures: dict[str, Figure] = {}
    parts: list[dict[str, Any]] = []
    tables = [contrast_table(one, name=f"{name}_{number}") for number, one in enumerate(comparison.contrasts, start=1)]
    for contrast, table in zip(comparison.contrasts, tables, strict=True):
        drawn, figure_name = dumbbells(contrast), _figure_name(name, contrast, figures)
        if drawn is not None:
            figures[figure_name] = drawn
        parts.append(
            {
                "contrast": contrast,
                "heading": heading(contrast),
                "table": table,
                "significant": sum(row.significant for row in contrast.tested),
                "figure": figure_name if drawn is not None else None,
            }
        )
    return Section(
        title=title,
        template=Path(__file__).with_name("section.html.j2"),
        context={"parts": parts, "notes": comparison.notes, "min_count": comparison.min_count},
        shown=tables,
        summary={name: records(comparison.table)},
        tables={name: comparison.table},
        figures=figures,
    )


def comparison_tables(comparison: Comparison, width: int = WIDE) -> RenderableType:
    """Return a rich table of the tested groups for each contrast, below the notes."""
    contrasts = (_in_terminal(one, comparison.min_count, width) for one in comparison.contrasts)
    return Group(*map(escape, comparison.notes), *(part for one in contrasts for part in ("", one)))


def _in_terminal(contrast: Contrast, min_count: int, width: int) -> RenderableType:
    """Return the tested rows of a contrast; all rows if none is tested, and a sentence if there are too many."""
    rows = contrast.tested or contrast.others
    if len(rows) > _LONGEST:
        lines = [f"{heading(contrast)} (in {contrast.unit})", f"{len(rows)} groups, which are listed in the report."]
        significant = sum(row.significant for row in contrast.tested)
        lines += [f"In {significant} of them, the difference is significant."] if contrast.tested else []
        return escape("\n".join(lines))
    untested = len(contrast.differences) - len(rows)
    about = ", not adjusted for the number of groups. Bold: p (Holm) below 0.05." if contrast.tested else "."
    notes = [f"{contrast.statement} In square brackets: 95 % intervals{about}"]
    if not contrast.tested:
        notes.append(f"No group is tested, for example because n is below {min_count}; see the report.")
    if untested:
        notes.append(f"Groups that are not tested, for example with n below {min_count}: {untested}; see the report.")
    whole = contrast_table(contrast)
    shown = [row for row in whole.rows if row["tested"]] if contrast.tested else whole.rows
    return replace(whole, rows=shown, notes=notes).terminal(width)


def contrast_table(contrast: Contrast, name: str = "") -> ShownTable:
    """Return all rows of a contrast, the tested ones first."""
    ordered = [*contrast.tested, *contrast.others]
    rows = [{**row_of(contrast, row), "tested": row.tested, "significant": row.significant} for row in ordered]
    return ShownTable(name, f"{heading(contrast)} (in {contrast.unit})", shown_columns(contrast), rows, style=_style)


def _style(row: Row) -> str:
    return "rare" if not row["tested"] else "strong" if row["significant"] else ""


def heading(contrast: Contrast) -> str:
    """Return the heading of a contrast, for example ``dependency, relations: norm minus weight``."""
    return f"{contrast.analysis}, {contrast.family}: {contrast.first.name} minus {contrast.second.name}"


def _figure_name(name: str, contrast: Contrast, taken: dict[str, Figure]) -> str:
    """Return a name for the file of a figure that no other figure of the section has."""
    words = [name, contrast.analysis, contrast.family.partition(": ")[2] or contrast.family]
    stem = "-".join(re.sub(r"\W+", "-", word).strip("-") for word in words)
    names = (stem if k == 1 else f"{stem}-{k}" for k in range(1, len(taken) + 2))
    return next(candidate for candidate in names if candidate not in taken)
