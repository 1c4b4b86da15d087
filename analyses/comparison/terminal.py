"""The tables of a comparison for a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from ...reports.terminal import WIDE
from .results import Comparison, Contrast
from .section import has_choices, heading, shown_values

_LONGEST = 40
"""The most rows of a table. Longer tables are left to the report."""


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
    tested = bool(contrast.tested)
    rows = contrast.tested or contrast.others
    title = f"{heading(contrast)} (in {contrast.unit})"
    if len(rows) > _LONGEST:
        significant = sum(row.significant for row in contrast.tested)
        lines = [f"{len(rows)} groups, which are listed in the report."]
        lines += [f"In {significant} of them, the difference is significant."] if tested else []
        return escape("\n".join([f"\n{title}", *lines]))
    wide = width >= WIDE
    chosen = wide and has_choices(contrast)
    about = ", not adjusted for the number of groups. Bold: p (Holm) below 0.05." if tested else "."
    lines = [f"{contrast.statement} In square brackets: 95 % intervals{about}"]
    left_out = len(contrast.differences) - len(rows)
    if not tested:
        lines.append(f"No group is tested, for example because n is below {min_count}; see the report.")
    elif left_out:
        lines.append(f"Groups that are not tested, for example with n below {min_count}: {left_out}; see the report.")
    table = Table(
        title=escape(f"\n{title}"),
        caption=escape("\n".join(lines)),
        title_justify="left",
        caption_justify="left",
        box=box.HEAVY_HEAD if wide else None,
        padding=(0, 1) if wide else (0, 1, 0, 0),
    )
    names = [contrast.first.name, contrast.second.name]
    narrow = ("n", "difference", "p (Holm)")
    table.add_column("group", no_wrap=True)
    for name in ("n", *names, "difference", *(["p (Holm)"] if tested else [])):
        table.add_column(escape(name), justify="right", no_wrap=name in narrow)
    for name in names if chosen else []:
        table.add_column(f"chosen by {escape(name)}")
    for row in rows:
        values = shown_values(contrast, row)
        difference = f"{values['difference']} {values['interval']}".strip()
        cells = [row.group, values["n"], values["first"], values["second"], difference]
        cells += [values["p_holm"]] if tested else []
        cells += [values["choice_first"], values["choice_second"]] if chosen else []
        table.add_row(*map(escape, cells), style="bold" if row.significant else None)
    return table
