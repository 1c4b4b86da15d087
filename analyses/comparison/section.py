"""The section of the report about a comparison."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ...reports.format import interval, number, percent
from ...reports.json_text import records
from ...reports.page import Section
from .differences import Difference
from .figures import dumbbells
from .results import Comparison, Contrast


def comparison_section(comparison: Comparison, *, name: str, title: str) -> Section:
    """Make the table, the figures and the section of the page.

    Args:
        comparison: the comparison.
        name: the name of the table, with which the names of the figures begin.
        title: the heading of the section.
    """
    figures: dict[str, Figure] = {}
    shown = []
    for contrast in comparison.contrasts:
        drawn, figure_name = dumbbells(contrast), _figure_name(name, contrast, figures)
        if drawn is not None:
            figures[figure_name] = drawn
        shown.append(
            {
                "contrast": contrast,
                "heading": heading(contrast),
                "rows": [_cells(contrast, row) for row in (*contrast.tested, *contrast.others)],
                "significant": sum(row.significant for row in contrast.tested),
                "figure": figure_name if drawn is not None else None,
                "table": f"{name}.csv",
                "chosen": has_choices(contrast),
            }
        )
    table = comparison.table
    return Section(
        title=title,
        template=Path(__file__).with_name("section.html.j2"),
        context={"shown": shown, "notes": comparison.notes, "min_count": comparison.min_count},
        summary={name: records(table)},
        tables={name: table},
        figures=figures,
    )


def heading(contrast: Contrast) -> str:
    """Return the heading of a contrast, for example ``dependency, relations: norm minus weight``."""
    return f"{contrast.analysis}, {contrast.family}: {contrast.first.name} minus {contrast.second.name}"


def has_choices(contrast: Contrast) -> bool:
    """Return whether a side of the contrast chose a head for any group."""
    return any(measured.choice for row in contrast.differences for measured in (row.first, row.second) if measured)


def shown_values(contrast: Contrast, row: Difference) -> dict[str, str]:
    """Return the numbers of a row as a reader sees them: n, both values, the difference, its interval, and p."""
    measured = [one for one in (row.first, row.second) if one]
    counts = dict.fromkeys(f"{one.n:,}" for one in measured)
    if contrast.unit == "%":
        values = [percent(one.value) if one else "–" for one in (row.first, row.second)]
        difference, limits = percent(row.difference, sign=True), interval(row.low, row.high)
    else:
        values = [number(one.value) if one else "–" for one in (row.first, row.second)]
        difference = "–" if row.difference != row.difference else f"{row.difference:+.3f}"
        has_limits = row.low < row.high
        limits = f"[{row.low:.3f}, {row.high:.3f}]" if has_limits else ""
    return {
        "n": " / ".join(counts),
        "first": values[0],
        "second": values[1],
        "difference": difference,
        "interval": limits,
        "p": _p_value(row.p),
        "p_holm": _p_value(row.p_holm),
        "choice_first": _arrow(row.first.choice) if row.first else "",
        "choice_second": _arrow(row.second.choice) if row.second else "",
    }


def _cells(contrast: Contrast, row: Difference) -> dict[str, Any]:
    return {
        "group": row.group,
        "tested": row.tested,
        "significant": row.significant,
        "reason": row.reason,
        **shown_values(contrast, row),
    }


def _arrow(choice: str) -> str:
    return choice.replace("->", "→")


def _p_value(p: float) -> str:
    if p != p:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _figure_name(name: str, contrast: Contrast, taken: dict[str, Figure]) -> str:
    """Return a name for the file of a figure that no other figure of the section has."""
    words = [name, contrast.analysis, contrast.family.partition(": ")[2] or contrast.family]
    stem = "-".join(re.sub(r"\W+", "-", word).strip("-") for word in words)
    names = (stem if k == 1 else f"{stem}-{k}" for k in range(1, len(taken) + 2))
    return next(candidate for candidate in names if candidate not in taken)
