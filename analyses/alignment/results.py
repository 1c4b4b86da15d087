"""What an alignment run counts and finds: facts of the plan, an example, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...corpora_loaders.alignment import LinkSource
from ..shared.merged_facts import merges_by
from .accuracy import AlignmentCounts
from .example import AlignedExample
from .series import TOGETHER, Series
from .tables import AlignmentTables


@dataclass(frozen=True)
class AlignmentFacts:
    """The facts that the results need from the plan.

    Attributes:
        method: what aligns words, see `attentionology.analyses.alignment.series.METHODS`.
        series: the series that are counted.
        controls: the number of copies with random weights.
        baselines: the names of the alignments that are not read off the model; empty without gold links.
        written: the direction of the links that are written.
        gold: where the gold links are from; empty if there are none.
        hypotheses: where the links of other systems are from.
    """

    method: str
    series: tuple[Series, ...]
    controls: int
    baselines: tuple[str, ...]
    written: str
    gold: tuple[LinkSource, ...] = merges_by("all", ())
    hypotheses: tuple[LinkSource, ...] = merges_by("all", ())


@dataclass(frozen=True)
class AlignmentLooked:
    """What was looked up after counting.

    Attributes:
        examples: one sentence pair with its maps; of merged runs, one of each run.
    """

    examples: tuple[AlignedExample, ...] = merges_by("all", ())


@dataclass(frozen=True)
class LayerChoice:
    """A series of all heads together, and a layer.

    Attributes:
        series: the series.
        layer: the layer, 0-based.
        by_gold: whether it was chosen by its error rate; otherwise by its mean norm.
    """

    series: Series
    layer: int
    by_gold: bool


@dataclass(frozen=True, eq=False)
class AlignmentResults:
    """What the analysis found.

    Attributes:
        method: what aligns words.
        tables: all tables.
        controls: the tables of each copy with random weights.
        chosen: the series and the layer whose links are written.
        example: a sentence pair with its maps; None if there is none.
    """

    method: str
    tables: AlignmentTables
    controls: Sequence[pd.DataFrame]
    chosen: LayerChoice
    example: AlignedExample | None = None

    @property
    def has_gold(self) -> bool:
        """Whether there were gold links."""
        return self.chosen.by_gold

    def _repr_html_(self) -> str:
        """Return the table of the best layers and heads for notebooks."""
        return str(self.tables.best.to_html(index=False, border=0))


def choose(counted: Mapping[Series, AlignmentCounts], direction: str, *, has_gold: bool) -> LayerChoice:
    """Choose the series and the layer whose links are written."""
    together = {each: counts for each, counts in counted.items() if each.heads == TOGETHER}
    if has_gold:
        rates = {
            (each, layer): float(np.nan_to_num(rate, nan=np.inf))
            for each, counts in together.items()
            if each.direction == direction
            for layer, rate in enumerate(counts.error_rates()[0, :, 0])
        }
        series, layer = min(rates, key=lambda key: rates[key])
        return LayerChoice(series, layer, by_gold=True)
    candidates = [each for each in together if each.direction == direction]
    series = next((each for each in candidates if each.measure == "norm"), candidates[0])
    if series.measure != "norm":  # word vectors of the middle layers are the most similar ones (SimAlign)
        return LayerChoice(series, -(-2 * len(together[series].size) // 3) - 1, by_gold=False)
    return LayerChoice(series, int(together[series].size[:, 0].argmax()), by_gold=False)
