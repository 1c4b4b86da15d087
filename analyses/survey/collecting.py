"""How the questions of a survey collect what they answer from, treebank by treebank.

A survey cannot keep the counts of all cells. So each question keeps what it needs of the counts of a cell while they
are in memory, sees the cells of one treebank after the other, and at the end says what it has collected, which is
stored with the survey.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import pandas as pd

from ..comparison.results import Pairing
from ..contract import OptionSet, PlanCounts
from ..counting.comparable import Comparable
from ..dependency.rows import DependencyFacts, Words

Kept = TypeVar("Kept")
Collection = TypeVar("Collection")


@dataclass(frozen=True, eq=False)
class CellCounts:
    """What was counted in a cell with one kind of map."""

    counts: PlanCounts[DependencyFacts]
    families: Sequence[Comparable]  # the statistics that can be compared; the accuracies of the heads come first
    min_count: int  # relations with fewer words are not tested
    detectors: pd.DataFrame | None = None  # the scores of detectors, if they were asked for

    @cached_property
    def words(self) -> Words:
        """The counts of the words."""
        return Words(OptionSet(), self.counts)


@dataclass(frozen=True)
class KeptCell:
    """What is kept of the cell of one model on a treebank, by kind of map in the order of the survey."""

    model: str
    families: Mapping[str, Sequence[Comparable]]
    kept: Mapping[str, Any]  # what the question keeps of the counts; kinds of which it keeps nothing are absent


class Collector(Generic[Kept, Collection]):
    """Collects what a question of a survey answers from."""

    def keep(self, counts: CellCounts) -> Kept | None:
        """Return what is needed of the counts of a cell with one kind of map; None if nothing is."""
        return None

    @abstractmethod
    def add(self, treebank: str, cells: Sequence[KeptCell], pairing_of: Callable[[str, str], Pairing]) -> None:
        """Add a treebank, given its cells that were counted, and whether two models have read the same sentences."""

    @abstractmethod
    def collect(self) -> Collection:
        """Return what was collected on all treebanks."""
