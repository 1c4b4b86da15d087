"""How far does f stretch a vector? The expansion rate of the value and output matrices of each layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ...reports.columns import Schema, TableColumn
from ...reports.format import rows_of
from ..contract import Request
from .paper import PublishedNumbers
from .rows import NormCounts, NormQuestion, NormResults, OfLayers, PlanContext

EXPANSION = Schema(
    "norms_expansion",
    "One row per layer.",
    (
        TableColumn("layer", "number from 1", "the layer"),
        TableColumn("expansion", "number", "the expansion rate of the value and output matrices"),
        TableColumn("published", "number", "that of the paper, if it has one for this model"),
    ),
)


class Expansion(NormQuestion):
    """How far does f of all heads together stretch a vector on average?"""

    name = "expansion"
    tables = (EXPANSION,)

    def requests(self, plan_context: PlanContext) -> Iterable[Request]:
        """Compute the rates, which follow from the weights of the model alone."""
        plan_context.kept[self.name] = [layer.expansion_rate() for layer in plan_context.layers.weights]
        return ()

    def find(self, counts: NormCounts, lookups: Any, earlier: Mapping[str, Any]) -> pd.DataFrame | None:
        """Return the rates, beside those of the paper if it has any of this model."""
        rates = counts.facts.kept.get(self.name)
        if rates is None:
            return None
        table = pd.DataFrame({"layer": range(1, len(rates) + 1), "expansion": rates})
        return with_published(table, counts.published)

    def frames(self, answer: pd.DataFrame, results: NormResults) -> Mapping[str, pd.DataFrame]:
        """Return the table."""
        return {EXPANSION.name: answer}

    def by_layer(self, answer: pd.DataFrame) -> OfLayers:
        """Return the rates."""
        rows = {row["layer"]: {"expansion": row["expansion"]} for row in rows_of(answer)}
        return OfLayers([TableColumn("expansion", "number", "", "expansion", digits=2)], rows)


def with_published(expansion: pd.DataFrame, published: PublishedNumbers | None) -> pd.DataFrame:
    """Return the rates with a column ``published`` if the paper has numbers of this model."""
    if published is None:
        return expansion
    rates = dict(enumerate(published.expansion_by_layer, start=1))
    return expansion.assign(published=[rates.get(layer, float("nan")) for layer in expansion["layer"]])
