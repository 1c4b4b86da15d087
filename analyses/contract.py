"""The contract between the engine and an analysis: options, a plan, results, and how the results are shown.

An analysis is a subclass of `Analysis` in a folder of its own. The engine asks every chosen analysis for its plan,
reads the corpus once for all of them, and hands its counts to each. An analysis therefore never runs the model
itself: it names the batches that it wants (`Request`) and the metric that counts them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from .option_groups import OptionError, OptionGroup, OptionSet
from .plans import Guesses, Masking, Plan, PlanCounts, Reader, Request, SampledMaps, Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from ..reports.explorer.contribution import Contribution
    from ..reports.finding import Finding
    from ..reports.page import Section
    from .counting.comparable import Comparable

Facts = TypeVar("Facts")
Results = TypeVar("Results")


__all__ = [
    "Analysis",
    "Guesses",
    "Masking",
    "OptionError",
    "OptionGroup",
    "OptionSet",
    "Plan",
    "PlanCounts",
    "Reader",
    "Request",
    "SampledMaps",
    "Setting",
    "Titles",
]


@dataclass(frozen=True)
class Titles:
    """The names of the model, of the corpus and of the kind of map in figures and headings.

    Attributes:
        model: the name of the model.
        corpus: the name of the corpus.
        map: the kind of map; empty for attention weights, and if the analysis is not about one kind of map.

    Example:
        >>> Titles("bert-base-uncased", "en_ewt-ud-dev.conllu").figure
        'bert-base-uncased on en_ewt-ud-dev.conllu'
        >>> Titles("bert-base-uncased", "en_ewt-ud-dev.conllu", "norm").figure
        'bert-base-uncased on en_ewt-ud-dev.conllu · map “norm”'
    """

    model: str = ""
    corpus: str = ""
    map: str = ""

    @property
    def figure(self) -> str:
        """The title of a figure. It is empty if the model has no name."""
        kind = f" · map “{self.map}”" if self.map else ""
        return f"{self.model} on {self.corpus}{kind}" if self.model else ""


@dataclass(frozen=True)
class AnalysisRow:
    """What the command line says of an analysis. The class of the analysis is imported only when it runs."""

    name: str
    location: str  # the module and the name of the class, as in an entry point: `"package.module:Class"`
    options: tuple[type[Any], ...] = ()  # classes of `OptionGroup`, which cannot be checked as it has fields
    needs: tuple[str, ...] = ()
    of_maps: bool = True
    of_trees: bool = False
    of_mentions: bool = False
    by_default: bool = False
    summary: str = ""
    of_pairs: bool = False


class Analysis(ABC, Generic[Facts, Results]):
    """The base class of all analyses.

    To add an analysis, subclass it, and name the subclass in the registry or as an entry point; see
    ``docs/how-to/extend.md``.

    Attributes:
        name: the name of the analysis for ``--analyses``.
        options: the option groups that the analysis reads. Groups may be shared with other analyses.
        needs: the names of analyses whose results this one uses if they are part of the run. They must come before it.
        of_maps: whether the analysis is about the maps that ``--map`` chooses.
        of_trees: whether the analysis needs dependency trees.
        of_mentions: whether the analysis needs mentions of entities.
        of_pairs: whether the analysis needs minimal pairs.
        by_default: whether the analysis is part of a run that names no analyses.
        summary: one or two sentences for ``--help`` about what the analysis does.
        facts_type: the type of the facts of its plans, which determines how stored facts are read; ``object`` for
            facts that JSON returns unchanged, such as a string.
        lookup_type: the same for what `follow_up` returns.

    Example:
        >>> from dataclasses import replace
        >>> from attentionology import MapOptions
        >>> from attentionology.analyses import CountMaps, SurfaceStatistics
        >>> from attentionology.reports import Section
        >>> class Entropy(Analysis):
        ...     name, options = "entropy", (MapOptions,)
        ...     def plan(self, options, setting):
        ...         maker = replace(setting.maps, level="token", normalize="row")
        ...         counting = CountMaps(SurfaceStatistics)
        ...         request = Request(f"entropy/{setting.maps.kind}", "entropy", setting.corpus, maker, counting)
        ...         return Plan((request,), facts=request.name)
        ...     def results(self, options, plan_counts, needed, lookups):
        ...         heads = plan_counts.metric(plan_counts.facts, SurfaceStatistics).compute().heads
        ...         return heads[["layer", "head", "entropy"]]
        ...     def section(self, results, titles):
        ...         return Section("Entropy", "entropy.html.j2", tables={"entropy": results})
        ...     def show(self, results, width):
        ...         return results.to_string()
        >>> Entropy().of_maps, Entropy().by_default
        (True, False)
    """

    name: ClassVar[str]
    options: ClassVar[tuple[type[OptionGroup], ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    of_maps: ClassVar[bool] = True
    of_trees: ClassVar[bool] = False
    of_mentions: ClassVar[bool] = False
    of_pairs: ClassVar[bool] = False
    by_default: ClassVar[bool] = False
    summary: ClassVar[str] = ""
    facts_type: ClassVar[type] = object
    lookup_type: ClassVar[type] = object

    def __init_subclass__(cls, row: AnalysisRow | None = None, **arguments: Any) -> None:
        """Take what the row says; a subclass without a row says it itself."""
        super().__init_subclass__(**arguments)
        if row is not None:
            cls.name, cls.summary, cls.options, cls.needs = row.name, row.summary, row.options, row.needs
            cls.of_maps, cls.of_trees, cls.of_mentions = row.of_maps, row.of_trees, row.of_mentions
            cls.by_default, cls.of_pairs = row.by_default, row.of_pairs

    @abstractmethod
    def plan(self, options: OptionSet, setting: Setting) -> Plan[Facts]:
        """Say what is to be counted.

        The plan also validates the options against the corpus and the model, so that a run fails before anything slow
        happens.

        Args:
            options: the options of the run.
            setting: the model, the corpus and the kind of map.

        Raises:
            OptionError: the options do not fit the corpus or the model.
            CorpusError: the corpus lacks what the analysis needs.
            ModelError: the model cannot give what the analysis needs.
        """

    def guesses(self, options: OptionSet, setting: Setting) -> Guesses | None:
        """Return what the heads guess for inputs of the first request of the plan.

        The guesses are stored with the inputs that are kept for the report. By default there are none.

        Args:
            options: the options of the run.
            setting: the model, the corpus and the kind of map.
        """
        return None

    def follow_up(self, options: OptionSet, plan: Plan[Facts], plan_counts: PlanCounts[Facts], read: Reader) -> Any:
        """Look up what can be asked only after counting, for example examples of the best head.

        Args:
            options: the options of the run.
            plan: the plan, whose requests have the inputs.
            plan_counts: the counts.
            read: reads inputs once more; an analysis should read a bounded number of them.

        Returns:
            whatever `results` needs of it, by default None. It is stored with the counts, like `Plan.facts`.
        """
        return None

    @abstractmethod
    def results(
        self, options: OptionSet, plan_counts: PlanCounts[Facts], needed: Mapping[str, Any], lookups: Any
    ) -> Results:
        """Make the results of the counts alone, without the model and the corpus.

        Args:
            options: the options of the run.
            plan_counts: the counts.
            needed: the results of the analyses in `needs` that are part of the run, by name.
            lookups: the value that `follow_up` returned.
        """

    def read_older(self, facts: Any, lookups: Any) -> tuple[Any, Any]:
        """Return stored facts, and what `follow_up` had returned, in the form in which this version stores them.

        Every stored run passes through here before it is read. When fields of `facts_type` or `lookup_type` change,
        override this, so that runs of earlier versions of the analysis can still be reported, merged and compared.

        Args:
            facts: the facts of the plan as plain data: numbers, strings, lists and dictionaries.
            lookups: what `follow_up` returned, as plain data.

        Returns:
            both, by default unchanged.
        """
        return facts, lookups

    @abstractmethod
    def section(self, results: Results, titles: Titles) -> Section:
        """Make the tables, the figures and the section of the page.

        The names of tables and figures must differ from those of all other analyses.
        """

    @abstractmethod
    def show(self, results: Results, width: int) -> RenderableType:
        """Return what a terminal of ``width`` columns shows."""

    def findings(self, results: Results) -> Sequence[Finding]:
        """Return what was found in a run without an explorer, the most important first. By default there is nothing."""
        return ()

    def comparable(self, plan_counts: PlanCounts[Facts]) -> Sequence[Comparable]:
        """Return the statistics that can be compared with those of another run or of another kind of maps.

        They are made of the counts alone. By default there are none.
        """
        return ()

    def together(self, results: Mapping[str, Results]) -> Mapping[str, tuple[Figure, str]]:
        """Draw the results of several runs, which ``compare`` has given names, together. By default nothing is drawn.

        Returns:
            the figures by the names of their files, each with its caption.
        """
        return {}

    def explored(
        self, options: OptionSet, plan_counts: PlanCounts[Facts], results: Results, kind: str | None
    ) -> Contribution | None:
        """Return what the analysis adds to the explorer, the interactive part of the report. By default it is nothing.

        Args:
            options: the options of the run.
            plan_counts: the counts.
            results: the results.
            kind: the kind of map; None if the analysis does not depend on it.
        """
        return None

    def record(self, options: OptionSet, plan_counts: PlanCounts[Facts], results: Results) -> dict[str, Any]:
        """Return what is added to ``run.json``.

        Use the name of the analysis as the key, because other keys may be taken.
        """
        return {}

    def warnings(self, results: Results) -> list[str]:
        """Return sentences that a reader should see before the numbers."""
        return []
