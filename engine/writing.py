"""Writing the folder of a run: its states, the tables and figures of all sections, the page and the run record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analyses.contract import OptionSet
from ..analyses.registry import RegistryError
from ..reports.page import write_report
from ..reports.tables import write_csv
from .run import Part, records_of
from .states import RunStates, write_states

if TYPE_CHECKING:
    import pandas as pd

    from ..reports.page import Section


def complete_record(record: Mapping[str, Any], parts: Sequence[Part], options: OptionSet) -> dict[str, Any]:
    """Return the run record with what the analyses add to it."""
    added = records_of(parts, options)
    if repeated := next((name for name in added if name in record), None):
        raise RegistryError(f"an analysis adds {repeated!r} to the run record, which already has an entry of that name")
    further = [warning for part in parts for warning in part.analysis.warnings(part.results)]
    return {**record, **added, "warnings": [*record["warnings"], *dict.fromkeys(further)]}


def write_run(
    folder: Path,
    *,
    sections: list[Section],
    record: dict[str, Any],
    tables: Mapping[str, pd.DataFrame],
    states: RunStates | None,
    explorer: str | None = None,
) -> None:
    """Write everything that a run leaves behind."""
    if states is not None:
        write_states(folder, states)
    for name, table in tables.items():
        write_csv(table, folder / "tables" / f"{name}.csv")
    write_report(folder, run=record, sections=sections, explorer=explorer)
