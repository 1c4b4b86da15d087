"""What ``--dry-run`` prints: the passes of a run, and the memory and the disk space that it needs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from attentionology.scripts.streams import delivered, say_json

if TYPE_CHECKING:
    from attentionology.engine.forecast import Forecast, PassForecast


def print_forecast(forecast: Forecast, *, as_json: bool) -> None:
    """Print what a run would read and need, as a table with a few lines or as JSON.

    Args:
        forecast: the forecast of the run.
        as_json: whether to print JSON.
    """
    from rich.table import Table

    from attentionology.engine.memory import available_memory
    from attentionology.reports.console import Terminal
    from attentionology.reports.json_text import to_json
    from attentionology.reports.terminal import WIDE
    from attentionology.storage.durable import size

    if as_json:
        say_json(to_json(described(forecast)))
        return
    table = Table()
    for column in ("pass", forecast.unit, "parts", "memory", "disk"):
        table.add_column(column, justify="left" if column == "pass" else "right")
    for each in forecast.passes:
        amounts = (size(each.maps + each.states), size(each.disk)) if not each.failure else ("", "")
        table.add_row(_name(each), f"{each.inputs:,}", f"{len(each.parts):,}", *amounts)
    available = available_memory()
    known = "" if available is None else f"; {size(available)} are available here"
    there = "" if forecast.counted is None else f", of which {forecast.counted:,} are in the folder"
    lines = [
        f"Corpus: {forecast.inputs:,} {forecast.unit}. All passes together read {forecast.read:,}.",
        f"Parts: {forecast.parts:,}{there}",
        f"Memory: about {size(forecast.memory)}, besides 400 MB for the libraries{known}",
        *([_of_workers(forecast)] if forecast.processes != 1 else []),
        f"Disk: about {size(forecast.disk)} in the results folder, and {size(forecast.disk_of_parts)} with --parts",
        *(f"Warning: {_name(each)} will fail: {each.failure}" for each in forecast.passes if each.failure),
        "Nothing was counted or written.",
    ]
    terminal = Terminal(None if sys.stdout.isatty() else WIDE)
    with delivered():
        terminal.print(table)
        terminal.print("\n".join(lines), soft_wrap=True, markup=False)


def described(forecast: Forecast) -> dict[str, Any]:
    """A forecast for JSON, with the sums over all passes."""
    sums = ("read", "parts", "memory", "memory_of_worker", "disk", "disk_of_parts")
    return {**{name: getattr(forecast, name) for name in sums}, **asdict(forecast)}


def _of_workers(forecast: Forecast) -> str:
    from attentionology.storage.durable import size

    number = "each worker" if forecast.processes is None else f"each of {forecast.processes:,} workers"
    return f"Memory of {number}: about {size(forecast.memory_of_worker)}, besides 400 MB for the libraries"


def _name(each: PassForecast) -> str:
    """What one pass reads for which analyses."""
    text = ", ".join(each.analyses)
    text += "" if each.copy is None else f", random copy {each.copy + 1}"
    return text + (", masked" if each.masked else "")
