"""What all questions about heads that attend alike share: how maps are read, the heads with labels, the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...reports.columns import TableColumn
from ..contract import OptionSet, PlanCounts, Request, Setting
from ..counting.metric import Metric
from ..questions import Question
from ..shared.previews import Answers
from ..surface.labels import Thresholds, label_heads
from ..surface.relations import relations_of
from ..surface.rows import Reading, plan_reading
from ..surface.statistics import SurfaceStatistics

Array = npt.NDArray[np.float64]
Counted_ = TypeVar("Counted_", bound=Metric)


@dataclass(frozen=True)
class ClusterFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    reading: Reading  # how the maps are read


class PlanContext:
    """What questions plan with.

    Attributes:
        options, setting: those of the run.
        statistics: the request for the statistics of the surface, which is shared with the analysis ``surface``.
        maker: makes the maps.
        reading: how the maps are read.
    """

    def __init__(self, options: OptionSet, setting: Setting) -> None:
        self.options, self.setting = options, setting
        self.statistics, self.maker, self.reading = plan_reading(options, setting)


class Distances:
    """What questions answer from: the counts, and the options."""

    def __init__(self, options: OptionSet, plan_counts: PlanCounts[ClusterFacts]) -> None:
        self.options, self.facts, self._counted = options, plan_counts.facts, plan_counts

    def metrics_of(self, question: str, metric: type[Counted_]) -> list[Counted_]:
        """Return the metrics of the requests of a question, none if it has none."""
        return [self._counted.metric(name, metric) for name in self.facts.requests.get(question, ())]


ClusterQuestion = Question[PlanContext, Any, Distances, Any]


class LabeledHeads(NamedTuple):
    """The answer: the heads with their labels, and what is said of them."""

    table: pd.DataFrame
    notes: tuple[str, ...]
    notes_shown: bool  # whether the surface analysis of the same run shows the notes already


class Heads(ClusterQuestion):
    """What are these heads for?"""

    name = "labeled_heads"
    added = (TableColumn("label labels relation", "text", "as in `surface.csv`, if `surface` is part of the run"),)

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Count the statistics, as the surface analysis does."""
        return (plan_context.statistics,)

    def find(self, counts: Distances, lookups: Any, earlier: Mapping[str, Any]) -> LabeledHeads | None:
        """Return the statistics of the heads with their labels, and with relations if they are analyzed."""
        for metric in counts.metrics_of(self.name, SurfaceStatistics):
            heads = label_heads(metric.compute().heads, Thresholds.chosen(counts.options))
            relations = relations_of(earlier)
            heads = heads if relations is None else heads.merge(relations, on=["layer", "head"], how="left")
            return LabeledHeads(heads, counts.facts.reading.notes_on(metric.n_heads), "surface" in earlier)
        return None

    def columns(self, answer: LabeledHeads) -> pd.DataFrame:
        """Return the labels by layer and head, and the relations if they are analyzed."""
        names = [name for name in ("label", "labels", "relation") if name in answer.table]
        return answer.table.set_index(["layer", "head"])[names]


@dataclass(frozen=True, repr=False)
class ClusterResults(Answers):
    """The results of the analysis ``clusters``. Layers and heads are 1-based, distances are in nats.

    Attributes:
        heads: the surface statistics of the heads, as in `attentionology.analyses.SurfaceResults`.
        specials, notes: as in `attentionology.analyses.SurfaceResults`.
        notes_shown: whether the surface analysis of the same run shows the notes already.
        answers: the answers of all questions, by name. ``distances.per_row`` and ``distances.sums`` are square tables
            whose rows and columns are heads, such as ``3-9``. ``layers`` has one row per ``question`` about layers,
            with the value ``found`` and its ``p``. ``clusters.embedding`` has one row per ``layer`` and ``head`` with
            its ``x``, ``y``, ``cluster``, ``nearest`` head and ``nearest_distance``.
    """

    heads: pd.DataFrame
    specials: Mapping[str, str]
    notes: tuple[str, ...] = ()
    notes_shown: bool = False
    answers: Mapping[str, Any] = field(default_factory=dict)


def square_of(distances: pd.DataFrame) -> Array:
    """Return the distances of all heads as an array.

    Raises:
        ValueError: they are not square, symmetric and finite.
    """
    square = distances.to_numpy(dtype=np.float64)
    heads = len(square)
    if square.shape != (heads, heads) or not np.isfinite(square).all() or not np.allclose(square, square.T):
        raise ValueError("distances must be square, symmetric and finite")
    square = cast(Array, np.maximum(square, 0))  # rounding may make the divergence of equal heads slightly negative
    np.fill_diagonal(square, 0)
    return square


def nearest_of(square: Array) -> tuple[npt.NDArray[np.bool_], Array]:
    """Return which heads (columns) are the nearest to each (row), of which there may be several, and how near."""
    to_others = square + np.diag(np.full(len(square), np.inf))  # no head is the nearest to itself
    return to_others <= to_others.min(1, keepdims=True), to_others.min(1)


def layers_of(distances: pd.DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the layer and the number of each head, both from 1."""
    layers, numbers = np.array([name.split("-") for name in distances.index], dtype=int).T
    return layers, numbers


def measure_id(kind: str) -> str:
    """Return the id of the measure of the clusters in the explorer."""
    return f"clusters/cluster/{kind}"
