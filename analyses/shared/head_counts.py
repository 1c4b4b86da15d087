"""What questions about heads answer from: how often each head is right, in the whole corpus and in parts of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, TypeVar

from ..contract import OptionSet, PlanCounts
from ..counting.metric import Metric
from ..counting.outcomes import Counts, OutcomeCounts
from .options import CountOptions

Facts = TypeVar("Facts", bound=Any)  # with a field `requests`, see `AnalysisOfQuestions`
Outcomes = TypeVar("Outcomes", bound=OutcomeCounts)
OfRequest = TypeVar("OfRequest", bound=Metric)


MODEL, CONTROL = "best_heads", "control"
"""The questions whose requests count the heads of the model, and of its copies with random weights."""


class HeadCounts(Generic[Facts, Outcomes]):
    """The base class of what questions answer from.

    Attributes:
        options, facts: those of the run.
        metric: the counts of the model, see `MODEL`.
    """

    outcomes: type[Outcomes]
    """The class of the counts of the model and of its copies with random weights."""

    def __init__(self, options: OptionSet, plan_counts: PlanCounts[Facts]) -> None:
        self.options, self.facts, self._counted = options, plan_counts.facts, plan_counts
        (self.metric,) = self.metrics_of(MODEL, self.outcomes)

    @cached_property
    def _split(self) -> tuple[Counts, Counts]:
        return self.metric.split_counts()

    @property
    def subsets(self) -> Counts:
        """The counts of the whole corpus, and of one half in each split."""
        return self._split[0]

    @property
    def replicates(self) -> Counts:
        """The counts of bootstrap replicates."""
        return self._split[1]

    @property
    def min_count(self) -> int:
        """The least number of words or mentions of which something is said."""
        return self.options[CountOptions].min_count

    def copies(self) -> list[Outcomes]:
        """Return the counts of the copies with random weights."""
        return self.metrics_of(CONTROL, self.outcomes)

    def metrics_of(self, question: str, metric: type[OfRequest]) -> list[OfRequest]:
        """Return the metrics of the requests of a question, none if it has none."""
        return [self._counted.metric(name, metric) for name in self.facts.requests.get(question, ())]

    def skipped_ids(self, request: str) -> set[str]:
        """Return the ids of the inputs of a request that were not read."""
        return {skip.sentence.id for skip in self._counted.logs[request].skipped}
