"""The tables of a comparison for a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from attentionology.analyses.comparison.results import Comparison, Contrast
from attentionology.analyses.comparison.section import heading, shown_values
from attentionology.reports.terminal import WIDE


def comparison_tables(comparison: Comparison, width: int = WIDE) -> RenderableType:
    """Return a rich table of the tested groups for each contrast, below the notes.

    Args:
        comparison: the comparison.
        width: the width of the terminal in columns. Below `WIDE` the chosen heads are left to the report.
    """
    return Group(
        *map(escape, comparison.notes), *(_table(one, comparison.min_count, width) for one in comparison.contrasts)
    )


def _table(contrast: Contrast, min_count: int, width: int) -> RenderableType:
    wide = width >= WIDE
    rows = contrast.tested or contrast.others
    left_out = len(contrast.differences) - len(rows)
    lines = [
        f"Values are {contrast.quantity}; inputs are {contrast.pairing}. In square brackets: 95 % intervals. "
        "Bold: p (Holm) below 0.05."
    ]
    if left_out:
        lines.append(f"Groups that are not tested, for example with n below {min_count}: {left_out}; see the report.")
    table = Table(
        title=escape(heading(contrast)) + (" (in %)" if contrast.unit == "%" else ""),
        caption=escape("\n".join(lines)),
        title_justify="left",
        caption_justify="left",
        box=box.HEAVY_HEAD if wide else None,
        padding=(0, 1) if wide else (0, 1, 0, 0),
    )
    table.add_column("group", no_wrap=True)
    for name in ("n", contrast.first.name, contrast.second.name, "difference", "p (Holm)"):
        table.add_column(escape(name), justify="right", no_wrap=name in ("n", "difference", "p (Holm)"))
    if wide:
        table.add_column(f"chosen by {escape(contrast.first.name)}")
        table.add_column(f"chosen by {escape(contrast.second.name)}")
    for row in rows:
        values = shown_values(contrast, row)
        difference = f"{values['difference']} {values['interval']}".strip()
        cells = [row.group, values["n"], values["first"], values["second"], difference, values["p_holm"]]
        cells += [values["choice_first"], values["choice_second"]] if wide else []
        table.add_row(*map(escape, cells), style="bold" if row.significant else None)
    return table
