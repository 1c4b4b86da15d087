"""A run: the plans of all chosen analyses → passes → results, sections and records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analyses.comparison.kinds import contrasts_of_kinds
from ..analyses.contract import Analysis, Counted, OptionSet, Titles
from ..analyses.shared.input_sample import InputSample
from ..analyses.shared.options import CountOptions
from ..reports.explorer.view import ExplorerView
from ..reports.progress import Stages
from ..storage.nearest import did_you_mean
from .explorer import explorer_of
from .pass_counts import PassCounts
from .passes import Pass
from .preparing import Prepared, plan_analyses
from .readers import reader_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..analyses.comparison.results import Comparison
    from ..corpora_loaders import Corpus
    from ..extractors import ExtractionLog
    from ..reports.page import Section


@dataclass(frozen=True)
class CountedAnalysis:
    """What was counted and looked up for one analysis and one kind of map.

    Attributes:
        analysis: the analysis.
        kind: the kind of map; None if the analysis does not depend on the chosen kinds.
        requests: the names of the requests of the plan. What was read for the first is what the report describes.
        counted: what was counted for the plan.
        looked: what the analysis looked up after counting.
        corpus: the corpus as it was read, if the analysis cuts it in a way of its own.
    """

    analysis: Analysis[Any, Any]
    kind: str | None
    requests: tuple[str, ...]
    counted: Counted[Any]
    looked: Any
    corpus: Corpus | None = None


@dataclass(frozen=True, repr=False)
class Part:
    """The results of one analysis for one kind of map.

    Attributes:
        source: what was counted and looked up.
        results: the results of the analysis.
    """

    source: CountedAnalysis
    results: Any

    def __repr__(self) -> str:
        return f"Part({self.name}: {self.results!r})"

    def _repr_html_(self) -> str:
        shown = getattr(self.results, "_repr_html_", None)
        return f"<h3>{escape(self.name)}</h3>{shown() if shown else escape(repr(self.results))}"

    @property
    def analysis(self) -> Analysis[Any, Any]:
        """The analysis."""
        return self.source.analysis

    @property
    def kind(self) -> str | None:
        """The kind of map; None if the analysis does not depend on the chosen kinds."""
        return self.source.kind

    @property
    def counted(self) -> Counted[Any]:
        """What was counted."""
        return self.source.counted

    @property
    def name(self) -> str:
        """The name of the analysis, with the kind of map if it has one."""
        return f"{self.analysis.name} ({self.kind})" if self.kind else self.analysis.name

    @property
    def log(self) -> ExtractionLog:
        """The record of what was read for the analysis."""
        return self.counted.logs[self.source.requests[0]]

    def section(self, titles: Titles) -> Section:
        """The tables, the figures and the section of the page. Figures name the kind of map unless it is weights."""
        kind = "" if self.kind is None or self.kind == "weight" else self.kind
        return self.analysis.section(self.results, replace(titles, map=kind))

    def show(self, width: int) -> RenderableType:
        """The results for a terminal with ``width`` columns."""
        return self.analysis.show(self.results, width)


@dataclass(frozen=True)
class Run:
    """The results of all analyses of a run.

    Look up results by the name of the analysis: ``run["dependency"]``. If several kinds of maps were analyzed, add the
    kind: ``run["dependency", "norm"]``.

    Attributes:
        parts: the results of each analysis for each kind of map, in the order of the report.
        titles: the names of the model and the corpus in figures and headings.
        record: the run record, which is also written to ``run.json``.
        folder: the folder of the report; None if nothing was written.
        sections: the sections of the report, one for each part, and one for the contrasts if there are any; empty if
            nothing was written.
        options: the options of the analyses.
        contrasts: the comparison of each kind of map with the first; None if there is one kind, or nothing to compare.
        samples: inputs with their maps that were kept to be looked at, by the names of their requests.

    Example:
        >>> import attentionology
        >>> sentence = attentionology.Sentence("s1", ("she", "sings"), heads=(2, 0), relations=("nsubj", "root"))
        >>> from attentionology.corpora_loaders import Corpus
        >>> run = attentionology.analyze("demo", Corpus((sentence,)), analyses="surface")
        >>> [part.name for part in run.parts]
        ['surface (weight)']
        >>> run["coreference"]
        Traceback (most recent call last):
        ...
        KeyError: "there are no results for 'coreference'; choose from: ('surface', 'weight')"
    """

    parts: tuple[Part, ...]
    titles: Titles = field(default_factory=Titles)
    record: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    sections: tuple[Section, ...] = ()
    options: OptionSet = field(default_factory=OptionSet)
    contrasts: Comparison | None = None
    samples: Mapping[str, InputSample] = field(default_factory=dict)

    def __getitem__(self, key: str | tuple[str, str]) -> Any:
        name, kind = (key, None) if isinstance(key, str) else key
        matching = [part for part in self.parts if part.analysis.name == name and kind in (None, part.kind)]
        if len(matching) == 1:
            return matching[0].results
        names = [(part.analysis.name, part.kind) if part.kind else part.analysis.name for part in self.parts]
        choices = ", ".join(map(repr, names))
        near = "" if matching else did_you_mean(name, (part.analysis.name for part in self.parts))
        raise KeyError(f"there are {'several' if matching else 'no'} results for {key!r}; choose from: {choices}{near}")

    def explore(self) -> ExplorerView:
        """The explorer of the report, to be shown by a notebook: measures of all heads, their cards, and sentences."""
        return ExplorerView(explorer_of(self))

    def __repr__(self) -> str:
        names = dict.fromkeys(part.analysis.name for part in self.parts)
        return f"Run({', '.join(names)} of {self.titles.figure or 'a model'})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{''.join(part._repr_html_() for part in self.parts)}"


@dataclass(frozen=True)
class CountedRun:
    """What was counted for all analyses of a run.

    Attributes:
        analyses: what was counted for each analysis and each kind of map.
        counts: all counts, by the names of the requests.
        samples: the names of the requests that kept inputs with their maps, in order.
    """

    analyses: tuple[CountedAnalysis, ...]
    counts: PassCounts
    samples: tuple[str, ...] = ()

    def counted_samples(self) -> dict[str, InputSample]:
        """The samples by the names of their requests."""
        metrics = {name: self.counts.metrics[name] for name in self.samples}
        return {name: metric for name, metric in metrics.items() if isinstance(metric, InputSample)}


def count_analyses(
    prepared: Prepared, count: Callable[[Sequence[Pass]], PassCounts], *, stages: Stages | None = None
) -> CountedRun:
    """Plan, read the corpus, and look up what can be asked only after counting, for all analyses."""
    stages = stages or Stages()
    with stages("plan"):
        planned = plan_analyses(prepared)
    counts = count(planned.passes)
    read = reader_of(prepared.model, prepared.limits)
    analyses = []
    with stages("examples"):
        for analysis, kind, plan in planned.plans:
            counted = Counted(plan.facts, counts.metrics, counts.logs, counts.failures)
            requests = tuple(request.name for request in plan.requests)
            looked = analysis.follow_up(prepared.options, plan, counted, read)
            analyses.append(CountedAnalysis(analysis, kind, requests, counted, looked, plan.corpus))
    return CountedRun(tuple(analyses), counts, tuple(request.name for request in planned.samples))


def with_results(analyses: Sequence[CountedAnalysis], options: OptionSet) -> tuple[Part, ...]:
    """Make the results of all analyses, of what was counted alone."""
    parts: list[Part] = []
    for source in analyses:
        needed = {
            part.analysis.name: part.results
            for part in parts
            if part.analysis.name in source.analysis.needs and part.kind in (None, source.kind)
        }
        parts.append(Part(source, source.analysis.results(options, source.counted, needed, source.looked)))
    return tuple(parts)


def compared_kinds(parts: Sequence[Part], titles: Titles, options: OptionSet) -> Comparison | None:
    """Compare each kind of map with the first; return None if there is one kind, or nothing to compare."""
    of_maps = [part for part in parts if part.kind is not None]
    if len({part.kind for part in of_maps}) < 2:
        return None
    families = [(part.analysis.name, part.kind or "", part.analysis.comparable(part.counted)) for part in of_maps]
    return contrasts_of_kinds(families, titles.model, min_count=options[CountOptions].min_count)
