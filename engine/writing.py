"""Writing the folder of a run: its states, the tables and figures of all sections, the page and the run record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..analyses.comparison.section import comparison_section
from ..analyses.contract import OptionSet, Titles
from ..reports.page import Section, write_report
from ..reports.tables import write_csv
from ..storage.plugins import RegistryError
from .run import Part
from .states import RunStates, write_states

if TYPE_CHECKING:
    from ..analyses.comparison.results import Comparison


def sections_of(parts: Sequence[Part], titles: Titles, contrasts: Comparison | None = None) -> list[Section]:
    """The sections of the report. An analysis of several kinds of maps has one table with all kinds."""
    sections: list[Section] = []
    for name in dict.fromkeys(part.analysis.name for part in parts):
        of_analysis = [part for part in parts if part.analysis.name == name]
        if len(of_analysis) == 1:
            sections.append(of_analysis[0].section(titles))
        else:
            sections += with_kinds([(part.kind or "", part.section(titles)) for part in of_analysis])
    if contrasts is not None:
        sections.append(comparison_section(contrasts, name="contrasts", title="How the kinds of maps differ"))
    return sections


def records_of(parts: Sequence[Part], options: OptionSet) -> dict[str, Any]:
    """The entries that the analyses add to the run record.

    If the entries of several kinds of maps differ, the record has all of them, by kind.
    """
    by_name: dict[str, dict[str, Any]] = {}
    for part in parts:
        for name, entry in part.analysis.record(options, part.counted, part.results).items():
            by_name.setdefault(name, {})[part.kind or ""] = entry
    records: dict[str, Any] = {}
    for name, by_kind in by_name.items():
        first, *others = by_kind.values()
        records[name] = first if all(entry == first for entry in others) else by_kind
    return records


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


def with_kinds(sections: Sequence[tuple[str, Section]]) -> list[Section]:
    """Combine sections: the first one gets the tables of all kinds of maps, with a first column ``map``."""
    tables: dict[str, pd.DataFrame] = {}
    summary: dict[str, Any] = {}
    for kind, section in sections:
        for name, table in section.tables.items():
            labelled = table.assign(map=kind)[["map", *table.columns]]
            tables[name] = pd.concat([tables[name], labelled], ignore_index=True) if name in tables else labelled
        for name, rows in section.summary.items():
            summary.setdefault(name, []).extend({"map": kind, **row} for row in rows)
    combined = []
    for kind, section in sections:
        # Not every file system allows the colon of a kind such as rollout:norm.
        suffix, title = f"-{kind.replace(':', '-')}", f"{section.title} (map “{kind}”)"
        combined.append(replace(section, title=title, suffix=suffix, tables=tables, summary=summary))
        tables, summary = {}, {}
    return combined
