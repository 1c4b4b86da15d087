"""What an analysis is: options, a plan, results, and how the results are shown.

An analysis is a subclass of `Analysis` in a folder of its own. The engine asks every chosen analysis for its plan,
reads the corpus once for all of them, and hands each what was counted. An analysis therefore never runs the model
itself: it names the batches that it wants (`Request`) and the metric that counts them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from attentionology.analyses.option_groups import OptionError, OptionGroup, OptionSet

if TYPE_CHECKING:
    from rich.console import RenderableType
    from torchmetrics import Metric

    from attentionology.corpora_loaders import Corpus, Sentence
    from attentionology.extractors import BatchMaker, Encoder, ExtractionLog
    from attentionology.reports.page import Section

Counts = TypeVar("Counts", bound="Metric")
Facts = TypeVar("Facts")
Results = TypeVar("Results")


__all__ = [
    "Analysis",
    "Counted",
    "MapChoice",
    "Masking",
    "OptionError",
    "OptionGroup",
    "OptionSet",
    "Plan",
    "Reader",
    "Request",
    "Setting",
    "Titles",
]


@dataclass(frozen=True)
class MapChoice:
    """One kind of map and how it is made; the fields are the arguments of `attentionology.extractors.extract`."""

    kind: str = "weight"
    merge: str = "norm"
    normalize: str = "none"
    ff_bias: str = "input"


@dataclass(frozen=True)
class Setting:
    """What an analysis may look at when it plans.

    Attributes:
        encoder: the model.
        corpus: what is to be read.
        maps: the kind of map that this plan is for. An analysis that is not `Analysis.of_maps` plans once, whatever
            kinds were asked for.
        chosen: names of all analyses of the run.
        seed: of everything random.
        max_length: the option ``--max-length``, None if it was not given.
        load_masked_lm: loads the same model with its masked-LM head; None where it has none.
    """

    encoder: Encoder
    corpus: Corpus
    maps: MapChoice = MapChoice()
    chosen: tuple[str, ...] = ()
    seed: int = 0
    max_length: int | None = None
    load_masked_lm: Callable[[], Any | None] = lambda: None


@dataclass(frozen=True)
class Masking:
    """Pieces of words are replaced by the mask token, each with probability ``rate``."""

    rate: float
    seed: int


@dataclass(frozen=True)
class Request:
    """Batches that an analysis wants, and the metric that counts them.

    Requests with the same ``inputs``, ``copy`` and ``masking`` share one forward pass; two equal requests are one.

    Attributes:
        name: names the counts; it must contain the kind of map if there is one. Requests of different analyses may
            share a name if they are equal.
        label: what the progress bar calls it.
        inputs: the sentences, windows or segments to read.
        maker: what is made of each forward pass, for example an `attentionology.extractors.MapMaker`.
        metric: makes the metric, given the first batch.
        copy: None for the model, k for the k-th copy with random weights.
        masking: None for the text as it is.
        optional: whether the run goes on where this request cannot be met; see `Counted.failure`.
    """

    name: str
    label: str
    inputs: Sequence[Sentence]
    maker: BatchMaker[Any]
    metric: Callable[[Any], Metric]
    copy: int | None = None
    masking: Masking | None = None
    optional: bool = False


@dataclass(frozen=True)
class Plan(Generic[Facts]):
    """What an analysis asks for.

    Attributes:
        requests: what is to be counted, at least one request. The first must not be optional: the report says what was
            read for it.
        facts: whatever the analysis learned from its setting and needs again for its results.
        corpus: what is read, if the analysis cuts the corpus in a way of its own.
    """

    requests: tuple[Request, ...]
    facts: Facts
    corpus: Corpus | None = None


@dataclass(frozen=True)
class Counted(Generic[Facts]):
    """What was counted for a plan.

    Attributes:
        plan: the plan.
        metrics: by the names of requests.
        logs: what was read, by the names of requests.
        failures: why optional requests could not be met, by their names.
    """

    plan: Plan[Facts]
    metrics: Mapping[str, Metric]
    logs: Mapping[str, ExtractionLog]
    failures: Mapping[str, Exception] = field(default_factory=dict)

    def metric(self, name: str, kind: type[Counts]) -> Counts:
        """The metric of a request.

        Raises:
            TypeError: it is of another class.
        """
        metric = self.metrics[name]
        if not isinstance(metric, kind):
            raise TypeError(f"the request {name!r} was counted by {type(metric).__name__}, not by {kind.__name__}")
        return metric


Reader = Callable[["Sequence[Sentence]", "BatchMaker[Any]"], "Iterator[Any]"]
"""Reads a few more inputs with the model and yields what the maker makes of them."""


@dataclass(frozen=True)
class Titles:
    """What figures and headings call the model and the corpus."""

    model: str = ""
    corpus: str = ""

    @property
    def figure(self) -> str:
        """The title of a figure; empty where the model has no name."""
        return f"{self.model} on {self.corpus}" if self.model else ""


class Analysis(ABC, Generic[Facts, Results]):
    """One analysis. Subclass it, and name the subclass in the registry or as an entry point.

    Attributes:
        name: what ``--analyses`` takes.
        options: the option groups that it reads. Groups may be shared with other analyses.
        needs: names of analyses whose results it uses if they are part of the run. They must come before it.
        of_maps: whether it analyzes the maps that ``--map`` chooses.
        of_trees: whether it needs dependency trees.
        of_mentions: whether it needs mentions of entities.
        by_default: whether it is part of a run that names no analyses.
        summary: what it does, in one or two sentences, for ``--help``.
    """

    name: ClassVar[str]
    options: ClassVar[tuple[type[OptionGroup], ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    of_maps: ClassVar[bool] = True
    of_trees: ClassVar[bool] = False
    of_mentions: ClassVar[bool] = False
    by_default: ClassVar[bool] = False
    summary: ClassVar[str] = ""

    @abstractmethod
    def plan(self, options: OptionSet, setting: Setting) -> Plan[Facts]:
        """What is to be counted.

        Everything that is impossible is refused here, before anything slow happens.

        Raises:
            OptionError: the options do not fit the corpus or the model.
            CorpusError: the corpus lacks what the analysis needs.
            ModelError: the model cannot give what the analysis needs.
        """

    def follow_up(self, options: OptionSet, counted: Counted[Facts], read: Reader) -> Any:
        """What can be asked only after counting, for example examples of the best head; None where there is nothing.

        Args:
            options: of the run.
            counted: what was counted.
            read: reads a bounded number of inputs once more.
        """
        return None

    @abstractmethod
    def results(self, options: OptionSet, counted: Counted[Facts], needed: Mapping[str, Any], looked: Any) -> Results:
        """The results, made of the counts alone.

        Args:
            options: of the run.
            counted: what was counted.
            needed: the results of the analyses in `needs` that are part of the run, by name.
            looked: what `follow_up` returned.
        """

    @abstractmethod
    def section(self, results: Results, titles: Titles) -> Section:
        """The tables, the figures and the section of the page.

        The names of tables and figures must differ from those of all other analyses.
        """

    @abstractmethod
    def show(self, results: Results, width: int) -> RenderableType:
        """What a terminal of ``width`` columns shows."""

    def record(self, options: OptionSet, counted: Counted[Facts], results: Results) -> dict[str, Any]:
        """What is added to ``run.json``. Use the name of the analysis as the key; other keys may be taken."""
        return {}

    def warnings(self, results: Results) -> list[str]:
        """What a reader should know before the numbers, a sentence each."""
        return []
