"""What an analysis is: options, a plan, results, and how the results are shown.

An analysis is a subclass of `Analysis` in a folder of its own. The engine asks every chosen analysis for its plan,
reads the corpus once for all of them, and hands each what was counted. An analysis therefore never runs the model
itself: it names the batches that it wants (`Request`) and the metric that counts them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from attentionology.analyses.option_groups import OptionError, OptionGroup, OptionSet
from attentionology.analyses.plans import Counted, MapChoice, Masking, Plan, Reader, Request, Setting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from attentionology.reports.page import Section

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
