"""The table of the best head of each relation for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from rich import box
from rich.markup import escape
from rich.table import Table

from ...reports.format import best_direction, best_head, best_offset, interval, percent, shown_rows
from ...reports.terminal import WIDE


def best_heads_table(best: pd.DataFrame, *, min_count: int, width: int = WIDE, map_facts: Sequence[str] = ()) -> Table:
    """Return a rich table of the best head per relation.

    Args:
        best: `attentionology.analyses.dependency.tables.DependencyTables.best`.
        min_count: relations with fewer words come last, and their n is in brackets.
        width: the width of the terminal in columns. Below `WIDE` the intervals are left to the report.
        map_facts: phrases that describe the maps.
    """
    wide = width >= WIDE
    has_intervals = wide and bool(best["accuracy_low"].notna().any())
    caption = f"n in parentheses: fewer than {min_count} words, too few for reliable conclusions."
    table = Table(
        title="Best attention head per relation (accuracy in %)",
        caption=caption
        + (" In square brackets: 95 % intervals." if has_intervals else "")
        + escape("".join(f"\n{fact[0].upper()}{fact[1:]}." for fact in map_facts)),
        title_justify="left",
        caption_justify="left",
        box=box.HEAVY_HEAD if wide else None,
        padding=(0, 1) if wide else (0, 1, 0, 0),
    )
    table.add_column("relation", no_wrap=True)
    for name in ("n", "head"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("direction", no_wrap=True)
    held_out = ("held-out", "held-out gain") if wide else ("held-\nout", "held-\nout\ngain")
    for name in ("accuracy", "offset", *held_out):
        table.add_column(name, justify="right", no_wrap=True)
    has_control = "control_accuracy" in best
    if has_control:
        table.add_column("random", justify="right", no_wrap=True)
    for row, frequent in shown_rows(best, min_count):
        accuracy, gain = percent(row["accuracy"]), percent(row["heldout_gain"], sign=True)
        if has_intervals:
            accuracy += " " + interval(row["accuracy_low"], row["accuracy_high"])
            gain += " " + interval(row["heldout_gain_low"], row["heldout_gain_high"])
        cells = [
            escape(row["relation"]),
            f"{row['total']:,}" if frequent else f"({row['total']:,})",
            best_head(row),
            best_direction(row),
            accuracy.strip(),
            f"{percent(row['offset_accuracy'])} {best_offset(row)}".strip(),
            percent(row["heldout_accuracy"]),
            gain.strip(),
        ]
        if has_control:
            cells.append(percent(row["control_accuracy"]))
        table.add_row(*cells, style=None if frequent else "dim")
    return table
