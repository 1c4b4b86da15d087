"""A run: the results of all its analyses, and the folder that it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from ..analyses.contract import OptionSet, Titles
from ..analyses.shared.input_sample import InputSample
from ..reports.explorer.data import Explorer
from ..reports.explorer.encoding import script_json
from ..reports.explorer.view import ExplorerView
from ..reports.page import Section, write_report
from ..reports.tables import write_csv
from ..storage.nearest import did_you_mean
from .explorer import explorer_of
from .results import Part, sections_of
from .states import RunStates, write_states

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ..analyses.ablation.section import AblationResults
    from ..analyses.clusters.section import ClusterResults
    from ..analyses.comparison.results import Comparison
    from ..analyses.coreference.results import CoreferenceResults
    from ..analyses.dependency.section import DependencyResults
    from ..analyses.norms.shown_tables import NormResults
    from ..analyses.surface.shown_tables import SurfaceResults


@dataclass(frozen=True)
class Run:
    """The results of all analyses of a run.

    Look up results by the name of the analysis: ``run["dependency"]``, or ``run.dependency``. If several kinds of maps
    were analyzed, add the kind: ``run["dependency", "norm"]``.

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
        >>> sorted(run.tables)
        ['offsets', 'surface', 'surface_counts', 'surface_layers']
        >>> run.surface.tables.counts.columns.to_list()
        ['statistic', 'inputs', 'rows']
    """

    parts: tuple[Part, ...]
    titles: Titles = field(default_factory=Titles)
    record: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    sections: tuple[Section, ...] = ()
    options: OptionSet = field(default_factory=OptionSet)
    contrasts: Comparison | None = None
    samples: Mapping[str, InputSample] = field(default_factory=dict)

    @overload
    def __getitem__(self, key: Literal["dependency"] | tuple[Literal["dependency"], str]) -> DependencyResults: ...
    @overload
    def __getitem__(self, key: Literal["surface"] | tuple[Literal["surface"], str]) -> SurfaceResults: ...
    @overload
    def __getitem__(self, key: Literal["clusters"] | tuple[Literal["clusters"], str]) -> ClusterResults: ...
    @overload
    def __getitem__(self, key: Literal["norms"] | tuple[Literal["norms"], str]) -> NormResults: ...
    @overload
    def __getitem__(self, key: Literal["coreference"] | tuple[Literal["coreference"], str]) -> CoreferenceResults: ...
    @overload
    def __getitem__(self, key: Literal["ablation"] | tuple[Literal["ablation"], str]) -> AblationResults: ...
    @overload
    def __getitem__(self, key: str | tuple[str, str]) -> Any: ...
    def __getitem__(self, key: str | tuple[str, str]) -> Any:
        name, kind = (key, None) if isinstance(key, str) else key
        matching = [part for part in self.parts if part.analysis.name == name and kind in (None, part.kind)]
        if len(matching) == 1:
            return matching[0].results
        names = [(part.analysis.name, part.kind) if part.kind else part.analysis.name for part in self.parts]
        choices = ", ".join(map(repr, names))
        near = "" if matching else did_you_mean(name, (part.analysis.name for part in self.parts))
        raise KeyError(f"there are {'several' if matching else 'no'} results for {key!r}; choose from: {choices}{near}")

    def _named(self, name: str) -> Any:
        """The results of an analysis as an attribute, which `hasattr` must be able to ask for."""
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    @property
    def dependency(self) -> DependencyResults:
        """The results of the analysis ``dependency``, as ``run["dependency"]``."""
        results: DependencyResults = self._named("dependency")
        return results

    @property
    def surface(self) -> SurfaceResults:
        """The results of the analysis ``surface``."""
        results: SurfaceResults = self._named("surface")
        return results

    @property
    def clusters(self) -> ClusterResults:
        """The results of the analysis ``clusters``."""
        results: ClusterResults = self._named("clusters")
        return results

    @property
    def norms(self) -> NormResults:
        """The results of the analysis ``norms``."""
        results: NormResults = self._named("norms")
        return results

    @property
    def coreference(self) -> CoreferenceResults:
        """The results of the analysis ``coreference``."""
        results: CoreferenceResults = self._named("coreference")
        return results

    @property
    def ablation(self) -> AblationResults:
        """The results of the analysis ``ablation``."""
        results: AblationResults = self._named("ablation")
        return results

    @cached_property
    def shown_sections(self) -> tuple[Section, ...]:
        """The sections of the report, which are made when they are first asked for."""
        return self.sections or sections_of(self.parts, self.titles, self.contrasts)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that a run folder has as ``tables/NAME.csv``, by name, except those that describe the corpus."""
        return {name: table for section in self.shown_sections for name, table in section.tables.items()}

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures of matplotlib that a run folder has as ``figures/NAME.svg``, by name."""
        return {
            f"{name}{section.suffix}": figure
            for section in self.shown_sections
            for name, figure in section.figures.items()
        }

    def explore(self) -> ExplorerView:
        """The explorer of the report, to be shown by a notebook: measures of all heads, their cards, and sentences."""
        return ExplorerView(self.explorer())

    def explorer(self) -> Explorer:
        """The data of the explorer."""
        return explorer_of(self.parts, self.titles, self.record, self.options, self.samples)

    def __repr__(self) -> str:
        names = dict.fromkeys(part.analysis.name for part in self.parts)
        return f"Run({', '.join(names)} of {self.titles.figure or 'a model'})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{''.join(part._repr_html_() for part in self.parts)}"


def write_run(folder: Path, run: Run, states: RunStates | None, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write everything that a run leaves behind; the tables describe the corpus."""
    if states is not None:
        write_states(folder, states)
    for name, table in tables.items():
        write_csv(table, folder / "tables" / f"{name}.csv")
    explorer = run.explorer() if "layers" in run.record["model"] else None
    shown = script_json(explorer) if explorer and (explorer.measures or explorer.sample) else None
    write_report(folder, run=dict(run.record), sections=list(run.sections), explorer=shown)
