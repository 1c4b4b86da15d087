"""A run: the results of all its analyses, and the folder that it leaves behind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, overload

from ...analyses.contract import OptionError, OptionSet, Titles
from ...analyses.counting.metric import StateError
from ...analyses.shared.input_sample import InputSample
from ...reports.explorer.data import Bench, Explorer, HeadName, script_json
from ...reports.explorer.names import read_names
from ...reports.explorer.preview import findings_html, matrix_html
from ...reports.explorer.view import ExplorerView
from ...reports.finding import Finding
from ...reports.format import heads_named
from ...reports.page import Section, write_report
from ...reports.run_folder import EVERY_RUN, NAMES_FILE, RunFolder
from ...reports.tables import write_csv
from ...storage.characters import in_html
from ...storage.nearest import did_you_mean
from ...storage.paths import path_identity, read_record
from .explorer import Contributions, contributions_of, explorer_of, findings_of
from .live import live_cells
from .part import Part, sections_of
from .states import FOLDER, RunStates, write_states

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ...analyses.ablation.rows import AblationResults
    from ...analyses.alignment.rows import AlignmentResults
    from ...analyses.clusters.rows import ClusterResults
    from ...analyses.comparison.results import Comparison
    from ...analyses.coreference.rows import CoreferenceResults
    from ...analyses.dependency.rows import DependencyResults
    from ...analyses.norms.rows import NormResults
    from ...analyses.pairs.rows import PairResults
    from ...analyses.surface.rows import SurfaceResults
    from ...corpora_loaders import Sentence
    from ...extractors import AnyModel

MOST_SHOWN = 5
"""The number of findings that a terminal and a notebook show."""

AnyRun = TypeVar("AnyRun", bound="Run")


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
        described: tables that describe the corpus, by name.
        stored: returns what `save` stores of the counts; None for a run that keeps none.
        trained: writes the model that the run has trained to a folder; None for a run that holds none.
        template: the file in ``reports/templates`` that the page is made of.
        compared: returns the explorers of the runs that the page compares; None for a run of its own.
        contributed: what the analyses add to the explorer, if it is known already.
        beside: tables that are written beside the report, by name, and not made again from the counts.
        decide: returns the decisions of some heads, given the arguments of `decisions`; None for a run that has none.

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
    described: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    stored: Callable[[], RunStates] | None = field(default=None, repr=False)
    trained: Callable[[Path], None] | None = field(default=None, repr=False)
    template: str = field(default="report.html.j2", repr=False)
    compared: Callable[[], tuple[Explorer, ...]] | None = field(default=None, repr=False)
    contributed: Contributions | None = field(default=None, repr=False)
    beside: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)
    decide: Callable[..., pd.DataFrame] | None = field(default=None, repr=False)

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
    def __getitem__(self, key: Literal["alignment"]) -> AlignmentResults: ...
    @overload
    def __getitem__(self, key: Literal["pairs"] | tuple[Literal["pairs"], str]) -> PairResults: ...
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
        if matching:
            raise KeyError(f"there are several results for {key!r}; choose from: {choices}")
        near = did_you_mean(name, (part.analysis.name for part in self.parts))
        raise KeyError(f"there are no results for {key!r}; choose from: {choices}{near}")

    def _results_named(self, name: str) -> Any:
        """Return the results of an analysis for its attribute, whose error must be one that `hasattr` knows."""
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    @property
    def dependency(self) -> DependencyResults:
        """The results of the analysis ``dependency``, as ``run["dependency"]``."""
        return cast("DependencyResults", self._results_named("dependency"))

    @property
    def surface(self) -> SurfaceResults:
        """The results of the analysis ``surface``."""
        return cast("SurfaceResults", self._results_named("surface"))

    @property
    def clusters(self) -> ClusterResults:
        """The results of the analysis ``clusters``."""
        return cast("ClusterResults", self._results_named("clusters"))

    @property
    def pairs(self) -> PairResults:
        """The results of the analysis ``pairs``."""
        return cast("PairResults", self._results_named("pairs"))

    @property
    def norms(self) -> NormResults:
        """The results of the analysis ``norms``."""
        return cast("NormResults", self._results_named("norms"))

    @property
    def coreference(self) -> CoreferenceResults:
        """The results of the analysis ``coreference``."""
        return cast("CoreferenceResults", self._results_named("coreference"))

    @property
    def ablation(self) -> AblationResults:
        """The results of the analysis ``ablation``."""
        return cast("AblationResults", self._results_named("ablation"))

    @property
    def alignment(self) -> AlignmentResults:
        """The results of `attentionology.align`."""
        return cast("AlignmentResults", self._results_named("alignment"))

    @cached_property
    def shown_sections(self) -> tuple[Section, ...]:
        """The sections of the report, which are made when they are first asked for."""
        return self.sections or sections_of(self.parts, self.titles, self.contrasts)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that a run folder has as ``tables/NAME.csv``, by name."""
        of_sections = {name: table for section in self.shown_sections for name, table in section.tables.items()}
        return {**self.described, **of_sections}

    @property
    def figures(self) -> dict[str, Figure]:
        """The matplotlib figures that a run folder has as ``figures/NAME.svg``, by name.

        Each is a whole figure. For several plots in one figure, plot `tables`, or draw heads with
        `attentionology.show`, whose result has ``draw(axes)``.
        """
        sections = self.shown_sections
        return {f"{name}{each.suffix}": figure for each in sections for name, figure in each.figures.items()}

    @cached_property
    def contributions(self) -> Contributions:
        """What the analyses add to the explorer, which is made when it is first asked for."""
        return contributions_of(self.parts, self.options) if self.contributed is None else self.contributed

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, the most important of each analysis, as the terminal and a notebook show it."""
        found = findings_of(self.contributions, self.contrasts, MOST_SHOWN)
        if found or not self.parts:
            return found
        of_parts = (part.analysis.findings(part.results) for part in self.parts)
        return tuple(finding for findings in of_parts for finding in findings)[:MOST_SHOWN]

    def decisions(
        self, *heads: str, model: AnyModel | None = None, corpus: Iterable[Sentence] | None = None
    ) -> pd.DataFrame:
        """What heads pick for each word of the corpus, as ``--decisions`` of the command writes it.

        The corpus is read once more, and the model is loaded again unless `attentionology.analyze` was given one that
        was loaded. A run that was loaded from its folder, or merged, reads the files that its record names. The sums of
        ``right`` by relation, head and direction are the counts of ``dependency.csv``.

        Args:
            heads: heads such as ``"8-10"``, in all directions, or ``"best"``, the best head of each relation in the
                direction in which it is best.
            model: the model of the run, if it cannot be loaded by its name, or is loaded already.
            corpus: what the run has read, if it cannot be read from its files again.

        Raises:
            OptionError: the run has no dependencies of basic trees; what is read is not what the run has read; the
                model has no such head; or there would be more than two million rows.

        Example:
            >>> from attentionology import CorpusOptions, CountOptions, analyze
            >>> options = [CorpusOptions(limit=3), CountOptions(replicates=0)]
            >>> run = analyze("demo", "sample", analyses="dependency", options=options)
            >>> decisions = run.decisions("3-9").query("direction == 'dep->head' and relation == 'det'")
            >>> decisions[["form", "gold_form", "picked_form", "right"]].values.tolist()[:2]
            [['a', 'strip', 'strip', 1], ['an', 'laundry', 'laundry', 1]]
        """
        if not heads:
            raise OptionError("give at least one head, such as 8-10, or best")
        if self.decide is None:
            raise OptionError("decisions are those of the analysis dependency, which this run does not have")
        return self.decide(heads, model=model, corpus=corpus)

    def explore(self, *, live: bool | None = None) -> ExplorerView:
        """The explorer of the report, to be shown by a notebook; ``live`` is that of `attentionology.explore`."""
        return ExplorerView(self.explorer(), live=live_cells(live, self))

    @property
    def explorer_if_any(self) -> Callable[[], Explorer] | None:
        """What makes the data of the explorer; None if a run has no heads to explore, as a survey and a comparison."""
        return self.explorer if "layers" in self.record.get("model", {}) else None

    def explorer(self) -> Explorer:
        """The data of the explorer, with the names of heads that the folder of the run keeps."""
        explorer = explorer_of(self.contributions, self.titles, self.record, self.samples, self.contrasts)
        return replace(explorer, names=self.head_names)

    @property
    def head_names(self) -> tuple[HeadName, ...]:
        """The names that people have given to heads, which the folder of the run keeps."""
        model = self.record.get("model", {})
        if self.folder is None or "layers" not in model:
            return ()
        return read_names(self.folder, (int(model["layers"]), int(model["heads"])))

    def showing_names(self) -> AbstractContextManager[None]:
        """Let tables and figures show the names of heads within the context."""
        return heads_named({each.head: each.name for each in self.head_names})

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Self:
        """Write what the command would write into its ``--out``: the page, tables, figures, record and counts.

        `attentionology.load_run`, `report_run`, `merge_runs` and `compare` read the folder. The model that
        `attentionology.explain` has trained is written, too. The probes of `attentionology.probe` are not kept in
        memory: they are written where its argument ``out`` says.

        Args:
            folder: the folder to write.
            overwrite: whether to replace the folder of an earlier run.

        Returns:
            the run with its folder. If the counts of an analysis cannot be stored, its record has a warning.

        Raises:
            RunFolderError: the folder exists, or cannot be written.
            CorpusError: a file of a corpus of more than 4,096 inputs, whose ids are read again, is gone or has changed.
        """
        options = {"out": str(folder), **self.record["options"]}
        return save_run(replace(self, record={**self.record, "options": options}), Path(folder), overwrite=overwrite)

    def report(self) -> str:
        """The page ``report.html`` as text, which can be written to a file or shown by a notebook.

        Example:
            >>> from attentionology import CorpusOptions, analyze
            >>> run = analyze("demo", "sample", analyses="surface", options=CorpusOptions(limit=3))
            >>> run.report()[:15]
            '<!doctype html>'
        """
        with tempfile.TemporaryDirectory() as folder:
            write_run(Path(folder), replace(self, stored=None, trained=None))
            return Path(folder, EVERY_RUN[0]).read_text(encoding="utf-8")

    def __repr__(self) -> str:
        names = dict.fromkeys(part.analysis.name for part in self.parts)
        return f"Run({', '.join(names)} of {self.titles.figure or 'a model'})"

    def _repr_html_(self) -> str:
        shown = findings_html(self.findings)
        measures = (measure for _, contribution in self.contributions for measure in contribution.measures)
        n_layers = self.record.get("model", {}).get("layers")
        if n_layers and (measure := next(measures, None)):
            shown += matrix_html(measure, int(n_layers))
        names = ", ".join(f"<code>{in_html(name)}</code>" for name in self._expressions)
        shown += f"<p>Results: {names}. Tables: <code>run.tables</code>. All heads: <code>run.explore()</code>.</p>"
        return f"<p>{in_html(repr(self))}</p>{shown}"

    @property
    def _expressions(self) -> dict[str, Part]:
        """The results of all analyses, by the expressions that reach them if the run is called ``run``."""
        names = [(part.analysis.name, part.kind) for part in self.parts]
        several = {name for name, _ in names if sum(name == other for other, _ in names) > 1}
        keys = [f"{name!r}, {kind!r}" if name in several else repr(name) for name, kind in names]
        return {f"run[{key}]": part for key, part in zip(keys, self.parts, strict=True)}


def save_run(run: AnyRun, out: Path, *, overwrite: bool = False, reads: Iterable[str | Path] = ()) -> AnyRun:
    """Write a whole run folder. If the run is from this folder, its trained models stay."""
    with RunFolder(out, overwrite=overwrite, reads=reads) as target:
        # The counts do not give a trained model again, and the folder that has it may be the one which is replaced.
        if run.trained is None and run.folder is not None and path_identity(run.folder) == path_identity(out):
            _copy_models(run.folder, target.path)
        if run.folder is not None and (run.folder / NAMES_FILE).is_file():
            shutil.copy2(run.folder / NAMES_FILE, target.path / NAMES_FILE)
        run = write_run(target.path, run)
    return replace(run, folder=out)


def _copy_models(folder: Path, target: Path) -> None:
    """Copy the files of a run that are not made of its states, such as trained models, from one folder to another."""
    record = read_record(folder) or {}
    made_of_states = (f"{FOLDER}/", "tables/", "figures/", *EVERY_RUN)
    for name in record.get("files", ()):
        if not name.startswith(made_of_states) and (folder / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, target / name)


def write_run(folder: Path, run: AnyRun) -> AnyRun:
    """Write everything that a run leaves behind, and return it with a warning if its counts cannot be stored."""
    if run.trained is not None:
        run.trained(folder)
    run = replace(run, sections=run.shown_sections)
    try:
        if run.stored is not None:
            # `save` adds the folder to the options of the record. The record among the states must have the same
            # options, or the states would count as those of another run.
            states = run.stored()
            write_states(folder, replace(states, record={**states.record, "options": run.record["options"]}))
    except StateError as error:
        unstored = f"The counts were not stored, so the report cannot be made again: {error}."
        run = replace(run, record={**run.record, "warnings": [*run.record["warnings"], unstored]})
    for name, table in run.described.items():
        write_csv(table, folder / "tables" / f"{name}.csv")
    for name, table in run.beside.items():
        write_csv(table, folder / f"{name}.csv")
    explorers = run.compared() if run.compared else (run.explorer_if_any(),) if run.explorer_if_any else ()
    shown = tuple(explorer for explorer in explorers if explorer.measures or explorer.sample)
    encoded = script_json(Bench(shown)) if shown else None
    write_report(folder, run=dict(run.record), sections=list(run.sections), template=run.template, explorer=encoded)
    return run
