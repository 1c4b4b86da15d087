"""The section of the report about a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from rich.console import Group, RenderableType

from ...reports.columns import Row, TableColumn, bounds
from ...reports.finding import Finding
from ...reports.format import number_interval, signed_number
from ...reports.page import Section
from ...reports.streams import WIDE
from ...reports.table import ShownTable, as_line, findings_list
from ...reports.tables import records
from .figures import contrast_figure
from .findings import comparison_findings, group_name, view_of_side
from .results import Comparison, Contrast, Side, row_of

_MAX_ROWS = 40
"""The most rows of a table in a terminal. Longer tables are left to the report."""

_MAX_NAME = 28
"""The characters of the name of a run in a heading of the page, whose title has the whole name."""


def comparison_section(
    comparison: Comparison,
    *,
    name: str,
    title: str,
    together: Mapping[str, tuple[Figure, str]] | None = None,
    reports: Mapping[str, str] | None = None,
) -> Section:
    """Make the table, the figures and the section of the page."""
    # `reports` has the addresses of the reports of runs by the names of the runs, to which their heads lead.
    # `together` has figures that show the results of all runs, each with its caption.
    together = together or {}
    figures: dict[str, Figure] = {}
    parts: list[dict[str, Any]] = []
    for number, contrast in enumerate(comparison.contrasts, start=1):
        if not contrast.tested:
            continue  # one sentence says why
        figure, figure_name = contrast_figure(contrast), _figure_name(name, contrast, figures)
        if figure is not None:
            figures[figure_name] = figure
        parts.append(
            {
                "id": f"contrast-{number}",  # to which the findings lead
                "contrast": contrast,
                "heading": heading(contrast),
                "family": _family(contrast),
                "names": _shorten_names(_names(contrast)),
                "short": heading(contrast, _shorten_names(_names(contrast))),
                "table": contrast_table(contrast, name=f"{name}_{number}", reports=reports),
                "above": sum(row.significant and row.difference > 0 for row in contrast.tested),
                "below": sum(row.significant and row.difference < 0 for row in contrast.tested),
                "figure": figure_name if figure is not None else None,
            }
        )
    return Section(
        title=title,
        template=Path(__file__).with_name("section.html.j2"),
        context={
            "parts": parts,
            "notes": (*comparison.notes, *_not_compared(comparison)),
            "min_count": comparison.min_count,
            "together": {figure_name: caption for figure_name, (_, caption) in together.items()},
        },
        shown=[part["table"] for part in parts],
        summary={name: records(comparison.table)},
        tables={name: comparison.table},
        figures={**figures, **{figure_name: figure for figure_name, (figure, _) in together.items()}},
        findings=comparison_findings(comparison, reports),
    )


def sections_by_analysis(comparison: Comparison, *, name: str) -> dict[str, Section]:
    """Return the section about each analysis, without a title. The first one has the table of all of them."""
    whole = comparison_section(comparison, name=name, title="")
    sections: dict[str, Section] = {}
    for analysis in dict.fromkeys(contrast.analysis for contrast in comparison.contrasts):
        parts = [part for part in whole.context["parts"] if part["contrast"].analysis == analysis]
        figure_names = [part["figure"] for part in parts if part["figure"]]
        sections[analysis] = replace(
            whole,
            map="difference",
            context={**whole.context, "parts": parts},
            shown=[part["table"] for part in parts],
            figures={figure_name: whole.figures[figure_name] for figure_name in figure_names},
            findings=(),
            tables={} if sections else whole.tables,
            summary={} if sections else whole.summary,
        )
    return sections


def comparison_tables(comparison: Comparison, width: int = WIDE, *, findings: Sequence[Finding] = ()) -> RenderableType:
    """Return a rich table of the tested groups for each contrast, below what was found and the notes."""
    lines: list[RenderableType] = [findings_list(findings), ""] if findings else []
    lines += [as_line(note) for note in comparison.notes]
    lines += [as_line(sentence) for sentence in _not_compared(comparison)]
    for contrast in comparison.contrasts:
        if contrast.tested:
            lines += ["", _in_terminal(contrast, width)]
    return Group(*lines)


def _not_compared(comparison: Comparison) -> list[str]:
    """Say in one sentence each which families one side alone has, and which have no group that is tested."""
    alone = [contrast for contrast in comparison.contrasts if not contrast.is_shared]
    untested = [contrast for contrast in comparison.contrasts if contrast.is_shared and not contrast.tested]
    sentences = []
    if alone:
        by_side: dict[str, list[str]] = {}
        for contrast in alone:
            side = contrast.first if any(row.first for row in contrast.differences) else contrast.second
            by_side.setdefault(side.name, []).append(_family(contrast))
        families = "; ".join(f"only {name} has {'; '.join(dict.fromkeys(has))}" for name, has in by_side.items())
        sentences.append(f"Not compared: {families}.")
    if untested:
        families = "; ".join(dict.fromkeys(map(_family, untested)))
        reasons = "; ".join(dict.fromkeys(_why(row.reason) for each in untested for row in each.differences))
        sentences.append(f"Not tested: {families}. Reasons: {reasons}.")
    return sentences


def _family(contrast: Contrast) -> str:
    """Name the family of a contrast, with the kind of map if both runs have the same, unless it is weights."""
    kind = contrast.first.map
    is_same = kind not in ("", "weight") and kind == contrast.second.map and contrast.first.run != contrast.second.run
    return f"{contrast.analysis}, {contrast.family}{f', map “{kind}”' if is_same else ''}"


def _why(reason: str) -> str:
    """Write why a number is missing, without what differs from group to group."""
    return re.sub(r", of n = [\d,]+$", "", reason.removeprefix("not tested: "))


def _in_terminal(contrast: Contrast, width: int) -> RenderableType:
    """Return the tested rows of a contrast, or a sentence if there are too many."""
    rows = contrast.tested
    if len(rows) > _MAX_ROWS:
        significant = sum(row.significant for row in rows)
        lines = [
            f"{heading(contrast)} (in {contrast.unit})",
            f"{len(rows)} groups, which are listed in the report.",
            f"In {significant} of them, the difference is significant.",
        ]
        return Group(*map(as_line, lines))
    table = contrast_table(contrast)
    note = f"{contrast.statement} In square brackets: 95 % intervals"
    notes = [f"{note}, not adjusted for the number of groups. Bold: p (Holm) below 0.05."]
    if untested := len(contrast.others):
        notes.append(f"Groups that are not tested, for example with too small an n: {untested}; see the report.")
    return replace(table, rows=[row for row in table.rows if row["tested"]], notes=notes).terminal(width)


def contrast_table(contrast: Contrast, name: str = "", reports: Mapping[str, str] | None = None) -> ShownTable:
    """Return all rows of a contrast, the tested ones first."""
    ordered = [*contrast.tested, *contrast.others]
    rows = [{**row_of(contrast, row), "tested": row.tested, "significant": row.significant} for row in ordered]
    return ShownTable(
        name, f"{heading(contrast)} (in {contrast.unit})", shown_columns(contrast, reports or {}), rows, style=_style
    )


def _style(row: Row) -> str:
    """Return how the row of a group is shown: gray if it was not tested, bold if its difference is significant."""
    if not row["tested"]:
        return "rare"
    return "strong" if row["significant"] else ""


def heading(contrast: Contrast, names: Sequence[str] = ()) -> str:
    """Return the heading of a contrast, for example ``dependency, relations: norm minus weight``."""
    return f"{_family(contrast)}: {' minus '.join(names or _names(contrast))}"


def _names(contrast: Contrast) -> tuple[str, str]:
    return contrast.first.name, contrast.second.name


def _shorten_names(names: Sequence[str]) -> Sequence[str]:
    """Shorten long names in the middle, unless what distinguishes them is there."""
    half = _MAX_NAME // 2
    short = [name if len(name) <= _MAX_NAME else f"{name[:half]}…{name[1 - half :]}" for name in names]
    return short if len(set(short)) == len(set(names)) else names


def _figure_name(name: str, contrast: Contrast, taken: dict[str, Figure]) -> str:
    """Return a name for the file of a figure that no other figure of the section has."""
    words = [name, contrast.analysis, contrast.family.partition(": ")[2] or contrast.family]  # no "candidates: "
    stem = "-".join(re.sub(r"\W+", "-", word).strip("-") for word in words)
    names = (stem if k == 1 else f"{stem}-{k}" for k in range(1, len(taken) + 2))
    return next(candidate for candidate in names if candidate not in taken)


def shown_columns(contrast: Contrast, reports: Mapping[str, str]) -> list[TableColumn]:
    """Return the columns in which a contrast is shown, whose values have the unit of the contrast."""
    names = _names(contrast)
    is_share = contrast.is_share
    unit = "number" if not is_share else "share" if contrast.unit == "%" else "points"
    columns = [
        TableColumn("group", "text", "", "group", cell=lambda row: group_name(contrast, row["group"])),
        TableColumn("n_a n_b", "count", "", "n", cell=_numbers),
        *(TableColumn(key, unit, "", name) for key, name in zip(("value_a", "value_b"), names, strict=True)),
        TableColumn(
            "difference low high",
            "points" if is_share else "number",
            "",
            "difference",
            cell=None if is_share else lambda row: signed_number(row["difference"]),
            beside=bounds() if is_share else lambda row: number_interval(row["low"], row["high"]),
            beside_in="any",
        ),
    ]
    if any(row.only_first is not None for row in contrast.differences):
        columns.append(TableColumn("only_a only_b", "count", "", "only one right", cell=_only_one))
    columns.append(TableColumn("p", "p", "", "p", cell=lambda row: p_value(row["p"]), room="page"))
    if contrast.tested:
        columns.append(TableColumn("p_holm", "p", "", "p (Holm)", cell=lambda row: p_value(row["p_holm"])))
    if any(side and side.choice for row in contrast.differences for side in (row.first, row.second)):
        columns.append(_choices("choice_a", contrast, contrast.first, reports))
        columns.append(_choices("choice_b", contrast, contrast.second, reports))
    columns.append(TableColumn("reason", "text", "", "not tested because", cell=_reason, room="page", wraps=True))
    return columns


def _numbers(row: Row) -> str:
    """Write the numbers of decisions on both sides, once if they are the same."""
    return " / ".join(dict.fromkeys(f"{row[name]:,}" for name in ("n_a", "n_b") if not pd.isna(row[name])))


def _only_one(row: Row) -> str:
    """Write how many decisions only the first side and only the second one gets right."""
    return "–" if pd.isna(row["only_a"]) else f"{row['only_a']:,} / {row['only_b']:,}"


def p_value(p: float) -> str:
    """Write a p value with three digits."""
    if pd.isna(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _choices(key: str, contrast: Contrast, side: Side, reports: Mapping[str, str]) -> TableColumn:
    """Return the column of the heads that a side chose, which lead to the report of its run if there is one."""
    report = reports.get(side.run, "")
    return TableColumn(
        key,
        "text",
        "",
        f"chosen by {side.name}",
        cell=lambda row: str(row[key]).replace("->", "→"),
        link=lambda row: report and row[key] and f"{report}{view_of_side(contrast, row['group'], side, row[key])}",
        room="wide",
        wraps=True,
    )


def _reason(row: Row) -> str:
    """Write why a number is missing, without the words of the heading."""
    return str(row["reason"]).removeprefix("not tested: ").removeprefix("no interval: ")
