"""What all questions about norms share: what they plan with, look up with and answer from, and the table by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import pandas as pd

from ...extractors import NormMaker, StageMaker
from ...reports.columns import Row, TableColumn
from ...reports.format import rows_of
from ...reports.table import ShownTable
from ...reports.tables import records
from ..contract import OptionSet, Plan, PlanCounts, Reader, Request, Setting
from ..counting.counting import Counting
from ..counting.metric import Metric
from ..questions import Question
from ..shared.merged_facts import merges_by
from ..shared.options import FeedForwardOptions
from ..shared.previews import Answers
from .options import NormsOptions
from .paper import PublishedNumbers, published_numbers

Counted_ = TypeVar("Counted_", bound=Metric)

SENTENCES = 1000
"""The number of sentences, from the first one on, whose ids name the texts that were read."""


@dataclass(frozen=True)
class NormFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    model: str
    kept: Mapping[str, Any]  # what else questions need of the plan, by their names, as plain data
    notes: tuple[str, ...] = merges_by("union")  # sentences about how the numbers are computed


class PlanContext:
    """What questions plan with.

    Attributes:
        options, setting: those of the run.
        chosen: the options of the analysis.
        layers: the layers of the model, whose weights give the norms.
        maker: makes the norms of a batch.
        kept: what questions need of the plan for their answers, to which they add theirs by name.
        notes: sentences about how the numbers are computed, to which questions add theirs.

    Raises:
        ModelError: the architecture of the model is not known.
    """

    def __init__(self, options: OptionSet, setting: Setting) -> None:
        self.options, self.setting, self.chosen = options, setting, options[NormsOptions]
        self.layers = setting.encoder.layers
        self.maker = NormMaker(options[FeedForwardOptions].ff_bias)
        self.kept: dict[str, Any] = {}
        self.notes: list[str] = []

    def facts(self, requests: Mapping[str, tuple[str, ...]]) -> NormFacts:
        """Return what the results need."""
        return NormFacts(requests, self.setting.encoder.name, self.kept, tuple(self.notes))

    @property
    def n_layers(self) -> tuple[str, int]:
        """The argument of metrics with one value per layer."""
        return "n_layers", self.setting.encoder.n_layers

    @property
    def shape(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The arguments of metrics with one value per head."""
        return self.n_layers, ("n_heads", self.setting.encoder.n_heads)

    def request(self, name: str, counting: Counting) -> Request:
        """Return a request for the norms of the whole corpus."""
        return Request(f"norms-{name}", "norms", self.setting.corpus, self.maker, counting)

    def stages(self, name: str, counting: Counting) -> tuple[Request, ...]:
        """Return a request that follows the first sentences through the feed-forward block; none if there are none."""
        first = self.setting.corpus.sentences[: self.chosen.ff_sentences]
        if not len(first):
            return ()
        maker = StageMaker(self.options[FeedForwardOptions].ff_bias)
        return (Request(f"norms-{name}", "feed-forward block", first, maker, counting, optional=True),)


class NormCounts:
    """What questions answer from: the counts, and the numbers of the papers.

    Attributes:
        facts: those of the run.
        failures: the errors of optional requests that could not be counted, by name.
        published: the papers' numbers of the same model; None if there are none.
        notes: sentences about how the numbers were computed, to which questions add theirs.
    """

    def __init__(self, options: OptionSet, plan_counts: PlanCounts[NormFacts]) -> None:
        self.options, self.facts, self.failures, self._counted = (
            options,
            plan_counts.facts,
            plan_counts.failures,
            plan_counts,
        )
        self.published = published_numbers(self.facts.model)
        self.notes = list(self.facts.notes)

    def metrics_of(self, question: str, metric: type[Counted_]) -> list[Counted_]:
        """Return the metrics of the requests of a question; none if it has none, or they could not be counted."""
        # Runs that 0.2 counted, and 0.3 stored again, have no states of some questions.
        names = [name for name in self.facts.requests.get(question, ()) if name not in self.failures]
        return [self._counted.metric(name, metric) for name in names if name in self._counted.metrics]


@dataclass(frozen=True)
class LookupContext:
    """What questions look up with: the plan, the counts, and what reads inputs once more."""

    plan: Plan[NormFacts]
    counts: NormCounts
    read: Reader

    def request(self, question: str) -> Request:
        """Return the request of a question."""
        (name,) = self.plan.facts.requests[question]
        return next(request for request in self.plan.requests if request.name == name)


@dataclass(frozen=True)
class OfLayers:
    """What a question adds to the table by layer: columns, their values by layer, and a sentence on what they are."""

    columns: Sequence[TableColumn]
    rows: Mapping[int, Mapping[str, Any]]
    note: str = ""


class NormQuestion(Question[PlanContext, LookupContext, NormCounts, Any]):
    """A question about norms, whose tables are entries of the summary.

    Attributes:
        long: the names of tables that are too long for the summary.
    """

    long: ClassVar[tuple[str, ...]] = ()

    def summary(self, answer: Any, results: NormResults) -> Mapping[str, Any]:
        """Return the tables; of a table of heads, the rows that are about all heads together."""
        return {
            name: records(table[table["head"] == 0] if "head" in table else table)
            for name, table in self.frames(answer, results).items()
            if name not in self.long
        }

    def by_layer(self, answer: Any) -> OfLayers | None:
        """Return what the question adds to the table by layer, which the terminal shows; by default nothing."""
        return None


@dataclass(frozen=True, repr=False)
class NormResults(Answers):
    """The results of the analysis ``norms``. Layers and heads are 1-based.

    Attributes:
        layers: the parts of the table by layer.
        published: the papers' numbers of the same model; None if there are none.
        notes: sentences about how the numbers were computed.
        answers: the answers of all questions, by name, as in ``shares``: the tables of
            `attentionology.analyses.norms.shares.NormShares`,
            `attentionology.analyses.norms.spread.WeightsAndNorms`,
            `attentionology.analyses.norms.mixing.MixingRatios`,
            `attentionology.analyses.norms.frequency.FrequencyCorrelation`, of the expansion rates,
            `attentionology.analyses.norms.feed_forward.FeedForwardChange` and
            `attentionology.analyses.norms.block.FeedForwardBlock`.
    """

    layers: tuple[OfLayers, ...] = ()
    published: PublishedNumbers | None = None
    notes: tuple[str, ...] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)


def layers_table(results: NormResults) -> ShownTable:
    """Return the main numbers on norms, layer by layer."""
    rows: dict[int, dict[str, Any]] = {}
    columns = [TableColumn("layer", "number from 1", "", "layer")]
    for part in results.layers:
        columns += part.columns
        for layer, values in part.rows.items():
            rows.setdefault(layer, {"layer": layer}).update(values)
    note = " ".join(part.note for part in results.layers if part.note)
    return ShownTable("norms_layers", "Weights and norms by layer", columns, list(rows.values()), notes=(note,))


def wide_by_layer(
    table: pd.DataFrame, column: str, value: str, title: str, *, name: str, digits: int = 3
) -> ShownTable:
    """Return a table with layers as rows, in which layer 0 is called all, and the values of a column as columns."""
    names = list(dict.fromkeys(table[column]))
    wide = table.pivot_table(index="layer", columns=column, values=value, dropna=False)[names]
    wide.columns = [f"{value}:{position}" for position in range(len(names))]

    def layer_cell(row: Row) -> str:
        return f"{row['layer']:.0f}" if row["layer"] else "all"

    columns = [TableColumn("layer", "number from 1", "", "layer", cell=layer_cell)]
    for key, heading in zip(wide.columns, names, strict=True):
        columns.append(TableColumn(key, "number", "", str(heading), digits=digits))
    return ShownTable(name, title, columns, rows_of(wide.reset_index()))
