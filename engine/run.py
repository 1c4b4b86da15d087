"""A run: plans of all chosen analyses → passes → results, and all of it written to a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentionology.analyses.contract import Analysis, Counted, MapChoice, OptionSet, Plan, Setting, Titles
from attentionology.engine.passes import Limits, plan_passes, reader_of, run_passes
from attentionology.engine.several_maps import with_kinds
from attentionology.reports.progress import Stages

if TYPE_CHECKING:
    from rich.console import RenderableType

    from attentionology.extractors import ExtractionLog
    from attentionology.reports.page import Section


@dataclass(frozen=True, repr=False)
class Part:
    """The results of one analysis, for one kind of map.

    Attributes:
        analysis: the analysis.
        kind: of the map; None for an analysis that does not analyze the chosen maps.
        plan: what was asked for.
        counted: what was counted.
        results: what it found.
    """

    analysis: Analysis[Any, Any]
    kind: str | None
    plan: Plan[Any]
    counted: Counted[Any]
    results: Any

    def __repr__(self) -> str:
        return f"Part({self.name}: {self.results!r})"

    def _repr_html_(self) -> str:
        shown = getattr(self.results, "_repr_html_", None)
        return f"<h3>{escape(self.name)}</h3>{shown() if shown else escape(repr(self.results))}"

    @property
    def name(self) -> str:
        """The analysis, and the kind of map if it is of one."""
        return f"{self.analysis.name} ({self.kind})" if self.kind else self.analysis.name

    @property
    def log(self) -> ExtractionLog:
        """What was read for it."""
        return self.counted.logs[self.plan.requests[0].name]

    def section(self, titles: Titles) -> Section:
        """The tables, the figures and the section of the page."""
        return self.analysis.section(self.results, titles)

    def show(self, width: int) -> RenderableType:
        """What a terminal of ``width`` columns shows."""
        return self.analysis.show(self.results, width)


@dataclass(frozen=True)
class Run:
    """The results of all analyses of a run.

    Look results up by the name of the analysis: ``run["dependency"]``. Where several kinds of maps were analyzed, name
    the kind too: ``run["dependency", "norm"]``.

    Attributes:
        parts: one for each analysis and kind of map, in the order of the report.
        titles: what figures and headings call the model and the corpus.
        record: the run record, ``run.json``.
        folder: where the results were written, None if nowhere.
        sections: of the report, one for each part; empty where nothing was written.
    """

    parts: tuple[Part, ...]
    titles: Titles = field(default_factory=Titles)
    record: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    sections: tuple[Section, ...] = ()

    def __getitem__(self, key: str | tuple[str, str]) -> Any:
        name, kind = (key, None) if isinstance(key, str) else key
        found = [part for part in self.parts if part.analysis.name == name and kind in (None, part.kind)]
        if len(found) == 1:
            return found[0].results
        names = [(part.analysis.name, part.kind) if part.kind else part.analysis.name for part in self.parts]
        choices = ", ".join(map(repr, names))
        raise KeyError(f"there are {'several' if found else 'no'} results for {key!r}; choose from: {choices}")

    def __repr__(self) -> str:
        names = dict.fromkeys(part.analysis.name for part in self.parts)
        return f"Run({', '.join(names)} of {self.titles.figure or 'a model'})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{''.join(part._repr_html_() for part in self.parts)}"


def run_analyses(
    chosen: Sequence[Analysis[Any, Any]],
    options: OptionSet,
    setting: Setting,
    maps: Sequence[MapChoice],
    *,
    limits: Limits | None = None,
    stages: Stages | None = None,
) -> tuple[Part, ...]:
    """Plan, read the corpus, and make the results of all analyses.

    Args:
        chosen: the analyses, each after those whose results it needs.
        options: of the run.
        setting: of the run; its field ``maps`` is replaced by each of ``maps`` in turn.
        maps: the kinds of maps.
        limits: which inputs are read.
        stages: the stopwatch.

    Raises:
        OptionError, CorpusError, ModelError: a plan cannot be made; see `Analysis.plan`.
        ExtractionError: none of the inputs could be read.
    """
    limits, stages = limits or Limits(), stages or Stages()
    plans: list[tuple[Analysis[Any, Any], str | None, Plan[Any]]] = []
    with stages("plan"):
        for analysis in chosen:
            for choice in maps if analysis.of_maps else maps[:1]:
                plan = analysis.plan(options, replace(setting, maps=choice))
                plans.append((analysis, choice.kind if analysis.of_maps else None, plan))
    passes = plan_passes([request for _, _, plan in plans for request in plan.requests])
    counts = run_passes(passes, setting.encoder, seed=setting.seed, limits=limits, stages=stages)
    parts: list[Part] = []
    read = reader_of(setting.encoder, limits)
    with stages("results"):
        for analysis, kind, plan in plans:
            counted = Counted(plan, counts.metrics, counts.logs, counts.failures)
            needed = {
                part.analysis.name: part.results
                for part in parts
                if part.analysis.name in analysis.needs and part.kind in (None, kind)
            }
            looked = analysis.follow_up(options, counted, read)
            parts.append(Part(analysis, kind, plan, counted, analysis.results(options, counted, needed, looked)))
    return tuple(parts)


def sections_of(parts: Sequence[Part], titles: Titles) -> list[Section]:
    """The sections of the report. The tables of an analysis of several kinds of maps are put together."""
    sections: list[Section] = []
    for name in dict.fromkeys(part.analysis.name for part in parts):
        same = [part for part in parts if part.analysis.name == name]
        if len(same) == 1:
            sections.append(same[0].section(titles))
        else:
            sections += with_kinds([(part.kind or "", part.section(titles)) for part in same])
    return sections


def records_of(parts: Sequence[Part], options: OptionSet) -> dict[str, Any]:
    """What the analyses add to the run record.

    Where the records of several kinds of maps differ, all of them are in it, by kind.
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
