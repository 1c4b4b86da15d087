"""The best-heads table for the terminal."""

from __future__ import annotations

import pandas as pd
from rich.table import Table

from reports.format import ARROWS, head_name, interval, percent, shown_rows


def best_heads_table(best: pd.DataFrame, *, min_count: int) -> Table:
    """A rich table of the best head per relation; relations rarer than ``min_count`` come last, in brackets."""
    table = Table(
        title="Best attention head per relation (accuracy in %)",
        caption=f"n in brackets: fewer than {min_count} words, too few to read much into. Intervals: 95 %.",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("relation")
    for name in ("n", "head"):
        table.add_column(name, justify="right")
    table.add_column("direction")
    for name in ("accuracy", "offset", "gain", "held-out"):
        table.add_column(name, justify="right")
    has_control = "control_accuracy" in best
    if has_control:
        table.add_column("random", justify="right")
    for row, frequent in shown_rows(best, min_count):
        cells = [
            row["relation"],
            f"{row['total']:,}" if frequent else f"({row['total']:,})",
            head_name(row["layer"], row["head"]),
            ARROWS[row["direction"]],
            f"{percent(row['accuracy'])} {interval(row['accuracy_low'], row['accuracy_high'])}",
            f"{percent(row['offset_accuracy'])} ({row['offset']:+d})",
            f"{percent(row['gain'], sign=True)} {interval(row['gain_low'], row['gain_high'])}",
            percent(row["heldout_accuracy"]),
        ]
        if has_control:
            cells.append(percent(row["control_accuracy"]))
        table.add_row(*cells, style=None if frequent else "dim")
    return table
