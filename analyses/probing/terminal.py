"""Trained probes, for the terminal."""

from __future__ import annotations

import math

from rich import box
from rich.markup import escape
from rich.table import Table

from ...reports.format import interval, percent, rows_of
from .section import ProbeResults, beside_paper

_WIDE = 110


def probe_table(results: ProbeResults, *, width: int) -> Table:
    """A rich table of all methods, with their differences below it; intervals where there is room."""
    methods = beside_paper(results)
    rows = rows_of(methods[methods["decoding"] == "argmax"])
    tree = methods[methods["decoding"] == "tree"].set_index("method")["uas"].to_dict()
    wide = width >= _WIDE
    lines = [f"{fact[0].upper()}{fact[1:]}." for fact in results.facts]
    lines += results.notes
    for contrast in rows_of(results.tables.contrasts):
        difference = percent(contrast["difference"], sign=True)
        between = interval(contrast["low"], contrast["high"])
        lines.append(f"{contrast['first']} − {contrast['second']}: {difference} {between}".rstrip())
    table = Table(
        title="Syntactic heads found (UAS in %, without punctuation)",
        caption=escape("\n".join(lines)),
        title_justify="left",
        caption_justify="left",
        box=box.HEAVY_HEAD if wide else None,
        padding=(0, 1) if wide else (0, 1, 0, 0),
    )
    columns = {
        "UAS": [percent(row["uas"]) for row in rows],
        "sd": [percent(row["uas_sd"]) for row in rows],
        "95 % interval": [interval(row["uas_low"], row["uas_high"]) if wide else "" for row in rows],
        "tree": [percent(tree.get(row["method"], math.nan)) for row in rows],
        "control task": [percent(row["control_accuracy"]) for row in rows],
        "selectivity": [percent(row["selectivity"], sign=True) for row in rows],
        "paper": [percent(row.get("paper_uas", math.nan)) for row in rows],
    }
    columns = {name: cells for name, cells in columns.items() if set(cells) - {"", "–"}}
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for position, row in enumerate(rows):
        table.add_row(escape(row["method"]), *(cells[position] for cells in columns.values()))
    return table
