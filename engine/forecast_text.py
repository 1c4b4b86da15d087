"""What ``--dry-run`` prints: the passes of a run, and the memory and the disk space that it needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..storage.durable import size
from .memory import LIBRARIES, available_memory

if TYPE_CHECKING:
    from rich.console import RenderableType

    from .forecast import Forecast, PassForecast


OF_LIBRARIES = f"of which {size(LIBRARIES)} are for the libraries"
"""What messages say of the memory that does not depend on the run."""


def forecast_table(forecast: Forecast) -> RenderableType:
    """Return the passes of a run with their memory and disk space as a table."""
    from rich.table import Table

    table = Table()
    for column in ("pass", forecast.unit, "parts", "memory", "disk"):
        table.add_column(column, justify="left" if column == "pass" else "right")
    for each in forecast.passes:
        amounts = (size(each.maps + each.states), size(each.disk)) if not each.failure else ("", "")
        table.add_row(_name(each), f"{each.inputs:,}", f"{len(each.parts):,}", *amounts)
    return table


def forecast_lines(forecast: Forecast) -> list[str]:
    """Return what a run would read and need in all, as lines of text."""
    available = available_memory()
    known = "" if available is None else f"; {size(available)} are available here"
    there = "" if forecast.counted is None else f", of which {forecast.counted:,} are in the folder"
    return [
        f"Corpus: {forecast.inputs:,} {forecast.unit}. All passes together read {forecast.read:,}.",
        f"Parts: {forecast.parts:,}{there}",
        f"Memory: about {size(forecast.memory)}, {OF_LIBRARIES}{known}",
        *([_of_workers(forecast)] if forecast.processes != 1 else []),
        f"Disk: about {size(forecast.disk)} in the results folder, and {size(forecast.disk_of_parts)} with --parts",
        *(f"Warning: {_name(each)} will fail: {each.failure}" for each in forecast.passes if each.failure),
        "Nothing was counted or written.",
    ]


def described(forecast: Forecast) -> dict[str, Any]:
    """A forecast for JSON, with the sums over all passes."""
    sums = ("read", "parts", "memory", "memory_of_worker", "disk", "disk_of_parts")
    return {**{name: getattr(forecast, name) for name in sums}, **asdict(forecast)}


def _of_workers(forecast: Forecast) -> str:
    number = "each worker" if forecast.processes is None else f"each of {forecast.processes:,} workers"
    return f"Memory of {number}: about {size(forecast.memory_of_worker)}, {OF_LIBRARIES}"


def _name(each: PassForecast) -> str:
    """What one pass reads for which analyses."""
    text = ", ".join(each.analyses)
    text += "" if each.copy is None else f", random copy {each.copy + 1}"
    return text + (", masked" if each.masked else "")
