"""What each analysis of a run counted and found, and what is made of it: sections, record entries and contrasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...analyses.comparison.results import contrasts_of_kinds
from ...analyses.comparison.section import sections_by_analysis
from ...analyses.contract import Analysis, OptionSet, PlanCounts, Titles
from ...analyses.shared.options import CountOptions
from ...reports.page import Section
from ...reports.tables import to_json
from ...storage.characters import in_html, one_line
from ...storage.messages import RUN_MESSAGES
from ...storage.plugins import RegistryError, name_extension

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...analyses.comparison.results import Comparison
    from ...corpora_loaders import Corpus
    from ...extractors import ExtractionLog


@dataclass(frozen=True, repr=False)
class Part:
    """What one analysis counted and found for one kind of map."""

    analysis: Analysis[Any, Any]
    kind: str | None  # None if the analysis does not depend on the chosen kinds
    requests: tuple[str, ...]  # of its plan; the report describes what was read for the first of them
    counts: PlanCounts[Any]
    lookups: Any = None  # what the analysis looked up after counting
    corpus: Corpus | None = None  # as it was read, if the analysis cuts it in a way of its own
    results: Any = None  # None until `with_results`

    def __repr__(self) -> str:
        return f"Part({self.name}: {self.results!r})"

    def _repr_html_(self) -> str:
        make_html = getattr(self.results, "_repr_html_", None)
        html = make_html() if make_html else in_html(repr(self.results))
        return f"<h3>{in_html(self.name)}</h3>{html}"

    @property
    def name(self) -> str:
        """The name of the analysis, with the kind of map if it has one."""
        return f"{self.analysis.name} ({self.kind})" if self.kind else self.analysis.name

    @property
    def log(self) -> ExtractionLog:
        """The record of what was read for the analysis."""
        return self.counts.logs[self.requests[0]]

    def section(self, titles: Titles) -> Section:
        """The tables, the figures and the section of the page. Figures name the kind of map unless it is weights."""
        kind = "" if self.kind is None or self.kind == "weight" else self.kind
        with self.name_analysis("section()"):
            section = self.analysis.section(self.results, replace(titles, map=kind))
            to_json(section.summary)  # so that an error names the analysis
        return section if section.tab else replace(section, tab=self.analysis.name.capitalize())

    def show(self, width: int) -> RenderableType:
        """The results for a terminal with ``width`` columns."""
        with self.name_analysis("show()"):
            return self.analysis.show(self.results, width)

    def name_analysis(self, step: str) -> AbstractContextManager[None]:
        """Let errors of a block, in which a method of the analysis runs, say whose code it is."""
        return name_extension("analysis", self.analysis.name, step, type(self.analysis).__module__)


def with_results(counts: Sequence[Part], options: OptionSet) -> tuple[Part, ...]:
    """Return the parts with their results, which are made of what was counted alone."""
    parts: list[Part] = []
    for part in counts:
        needed = {
            earlier.analysis.name: earlier.results
            for earlier in reversed(parts)  # an analysis that is about no kind reads the results of the first kind
            if earlier.analysis.name in part.analysis.needs and (part.kind is None or earlier.kind in (None, part.kind))
        }
        with part.name_analysis("results()"):
            results = part.analysis.results(options, part.counts, needed, part.lookups)
        parts.append(replace(part, results=results))
    return tuple(parts)


def compare_kinds(parts: Sequence[Part], titles: Titles, options: OptionSet) -> Comparison | None:
    """Compare each kind of map with the first; return None if there is one kind, or nothing to compare."""
    of_maps = [part for part in parts if part.kind is not None]
    if len({part.kind for part in of_maps}) < 2:
        return None
    comparable = []
    for part in of_maps:
        with part.name_analysis("comparable()"):
            comparable.append((part.analysis.name, part.kind or "", part.analysis.comparable(part.counts)))
    return contrasts_of_kinds(comparable, titles.model, min_count=options[CountOptions].min_count)


def sections_of(parts: Sequence[Part], titles: Titles, contrasts: Comparison | None = None) -> tuple[Section, ...]:
    """Return the sections of the report. An analysis of several kinds of maps has one table with all kinds."""
    sections: list[Section] = []
    contrast_sections = sections_by_analysis(contrasts, name="contrasts") if contrasts else {}
    for name in dict.fromkeys(part.analysis.name for part in parts):
        parts_of_analysis = [part for part in parts if part.analysis.name == name]
        kinds_and_sections = [(part.kind or "", part.section(titles)) for part in parts_of_analysis]
        _, first_section = kinds_and_sections[0]
        if len(kinds_and_sections) == 1:
            sections.append(first_section)
            continue
        with parts_of_analysis[0].name_analysis("section()"):
            sections += _with_kinds(kinds_and_sections)
        if name in contrast_sections:
            title = f"{first_section.title}: how the maps differ"
            sections.append(replace(contrast_sections[name], title=title, tab=first_section.tab))
    return tuple(sections)


def _with_kinds(sections: Sequence[tuple[str, Section]]) -> list[Section]:
    """Return the sections of several kinds of maps for one report, given the kind and the section of each.

    The first section gets the tables and the summaries of all kinds, with a first column ``map``; the others get none.
    """
    tables: dict[str, pd.DataFrame] = {}
    summary: dict[str, Any] = {}
    for kind, section in sections:
        for name, table in section.tables.items():
            labeled = table.assign(map=kind)[["map", *table.columns]]
            tables[name] = pd.concat([tables[name], labeled], ignore_index=True) if name in tables else labeled
        for name, rows in section.summary.items():
            if not isinstance(rows, list):
                raise TypeError(f"the entry {name!r} of the summary is no list of rows, but {rows!r:.60}")
            summary.setdefault(name, []).extend({"map": kind, **row} for row in rows)
    combined = []
    for kind, section in sections:
        # Not every file system allows the colon of a kind such as rollout:norm.
        suffix, title = f"-{kind.replace(':', '-')}", f"{section.title} (map “{kind}”)"
        combined.append(replace(section, title=title, map=kind, suffix=suffix, tables=tables, summary=summary))
        tables, summary = {}, {}  # which only the first section has
    return combined


def complete_record(record: Mapping[str, Any], parts: Sequence[Part], options: OptionSet) -> dict[str, Any]:
    """Return the run record with what the analyses add to it, by the kind of map where the kinds differ."""
    by_name: dict[str, dict[str, Any]] = {}  # for each entry, its values by the kind of map
    for part in parts:
        with part.name_analysis("record()"):
            entries = part.analysis.record(options, part.counts, part.results)
            to_json(entries)  # so that an error names the analysis
        for name, value in entries.items():
            if name in record:
                raise RegistryError(
                    f"an analysis adds {name!r} to the run record, which already has an entry of that name"
                )
            by_name.setdefault(name, {})[part.kind or ""] = value
    added: dict[str, Any] = {}
    for name, by_kind in by_name.items():
        first, *others = by_kind.values()
        added[name] = first if all(value == first for value in others) else by_kind
    # Kinds of maps often have the same warning, which stands in the record once.
    of_parts = [warning for part in parts for warning in part.analysis.warnings(part.results)]
    warnings = [*record["warnings"], *dict.fromkeys(of_parts)]
    for warning in warnings:
        RUN_MESSAGES.warning("%s", one_line(warning))
    return {**record, **added, "warnings": warnings}
