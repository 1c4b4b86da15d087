"""The rows that all questions about word alignment share: what they plan with, look up with, answer from and show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...corpora_loaders.alignment import Bitext, LinkSource, SentencePair
from ...extractors import Merge
from ..contract import OptionSet, PlanCounts, Reader, Request, Setting
from ..questions import Question
from ..shared.measures import share
from ..shared.merged_facts import merges_by
from ..shared.previews import Answers
from .accuracy import AlignmentAccuracy, AlignmentCounts, BaselineAccuracy, CountSeries
from .links import LinkMaker
from .options import AlignmentOptions
from .series import FORWARD, SINGLE, TOGETHER, Series, all_series

LAYERS, BASELINES, CONTROLS = "layers", "baselines", "controls"
"""The questions whose requests count the links of the model, those of baselines, and those of copies of the model."""


@dataclass(frozen=True)
class AlignmentFacts:
    """The facts that the results need from the plan."""

    requests: Mapping[str, tuple[str, ...]]  # of each question, the names of its requests
    method: str  # one of `attentionology.analyses.alignment.series.METHODS`
    written: str  # the direction of the links that are written
    gold: tuple[LinkSource, ...] = merges_by("all", ())
    hypotheses: tuple[LinkSource, ...] = merges_by("all", ())  # where the links of other systems are from


class PlanContext:
    """What questions plan with.

    Attributes:
        setting, chosen: the setting of the run, and the options of the analysis.
        corpus: the sentence pairs.
        gold: where their gold links are from. Without gold links nothing is scored.
    """

    def __init__(self, options: OptionSet, setting: Setting) -> None:
        if not isinstance(setting.corpus, Bitext):
            raise TypeError("alignment needs sentence pairs")
        self.setting, self.corpus, self.chosen = setting, setting.corpus, options[AlignmentOptions]
        self.gold = (self.corpus.gold,) if self.corpus.gold else ()

    @property
    def replicates(self) -> int:
        """The number of bootstrap replicates."""
        return self.chosen.replicates if self.gold else 0

    def maker(self, *, both: bool) -> LinkMaker:
        """Return what makes the links of all series, of both directions or of the forward direction alone."""
        return LinkMaker(tuple(all_series(self.chosen.method, both=both)), self.chosen.merge)

    def requests(self, replicates: int, copy: int | None = None) -> list[Request]:
        """Return the requests that count all series of the model, or those of target words of one of its copies."""
        ending, stage = ("", "alignment") if copy is None else (f"/control-{copy + 1}", "control")
        maker = self.maker(both=copy is None and self.chosen.both_directions)
        return [
            Request(
                f"alignment/{series.label}{ending}",
                stage,
                self.corpus,
                maker,
                CountSeries(series, replicates, self.setting.seed),
                copy=copy,
            )
            for series in maker.series
        ]

    def facts(self, requests: Mapping[str, tuple[str, ...]]) -> AlignmentFacts:
        """Return what the results need."""
        written = self.chosen.written_direction
        return AlignmentFacts(requests, self.chosen.method, written, self.gold, self.corpus.hypotheses)


@dataclass(frozen=True)
class LayerChoice:
    """A series of all heads together, and a layer."""

    series: Series
    layer: int  # 0-based
    by_gold: bool  # whether it was chosen by its error rate; otherwise by its mean norm


def choose(counted: Mapping[Series, AlignmentCounts], direction: str, *, has_gold: bool) -> LayerChoice:
    """Choose the series and the layer whose links are written, from those of all heads together in one direction."""
    candidates = [series for series in counted if series.heads == TOGETHER and series.direction == direction]
    if has_gold:
        rates = {}
        for series in candidates:
            for layer, rate in enumerate(counted[series].error_rates()[0, :, 0]):  # in the whole corpus
                rates[series, layer] = float(np.nan_to_num(rate, nan=np.inf))
        series, layer = min(rates, key=rates.__getitem__)
        return LayerChoice(series, layer, by_gold=True)
    series = next((series for series in candidates if series.measure == "norm"), candidates[0])
    mean_norms = counted[series].size[:, 0]  # layer by layer
    if series.measure == "norm":
        return LayerChoice(series, int(mean_norms.argmax()), by_gold=False)
    # Word vectors of the layer two thirds of the way up, rounded up, are the most similar ones (SimAlign).
    return LayerChoice(series, -(-2 * len(mean_norms) // 3) - 1, by_gold=False)


class Aligned:
    """What questions answer from: the counts of links.

    Attributes:
        facts: the facts of the run.
    """

    def __init__(self, plan_counts: PlanCounts[AlignmentFacts]) -> None:
        self.facts, self._counted = plan_counts.facts, plan_counts

    @property
    def has_gold(self) -> bool:
        """Whether there are gold links."""
        return bool(self.facts.gold)

    @cached_property
    def series(self) -> dict[Series, AlignmentCounts]:
        """The counts of all series of the model."""
        return self._of(self.facts.requests[LAYERS])

    @cached_property
    def scored(self) -> dict[Series, AlignmentCounts]:
        """The same if there are gold links; none otherwise."""
        return self.series if self.has_gold else {}

    @cached_property
    def baselines(self) -> dict[str, AlignmentCounts]:
        """The counts of all alignments that are not read off the model."""
        names = self.facts.requests.get(BASELINES, ())
        metrics = (self._counted.metric(name, BaselineAccuracy) for name in names)
        return {metric.name: metric.compute() for metric in metrics}

    @cached_property
    def copies(self) -> list[dict[Series, AlignmentCounts]]:
        """The counts of all series of each copy with random weights."""
        by_copy: dict[str, list[str]] = {}
        for name in self.facts.requests.get(CONTROLS, ()):
            by_copy.setdefault(name.rpartition("/")[2], []).append(name)
        return [self._of(names) for names in by_copy.values()]

    @cached_property
    def choice(self) -> LayerChoice:
        """The series and the layer whose links are written."""
        return choose(self.series, self.facts.written, has_gold=self.has_gold)

    def _of(self, names: Iterable[str]) -> dict[Series, AlignmentCounts]:
        """Return the counts of requests by their series."""
        metrics = [self._counted.metric(name, AlignmentAccuracy) for name in names]
        return {metric.series: metric.compute() for metric in metrics}


@dataclass(frozen=True)
class LookupContext:
    """What questions look up with: a sentence pair that is read once more, and what is known of all of them."""

    pair: SentencePair
    counts: Aligned
    merge: Merge
    read: Reader


AlignmentQuestion = Question[PlanContext, LookupContext, Aligned, Any]


@dataclass(frozen=True, eq=False, repr=False)
class AlignmentResults(Answers):
    """The results of word alignment. Layers and heads are 1-based, and head 0 stands for all heads together.

    Attributes:
        method: what aligns words: ``"cross-attention"``, ``"similarity"`` or ``"self-attention"``.
        cells: one row per ``setting``, ``measure``, ``direction``, ``layer`` and ``head``, with ``links``,
            ``hits_sure``, the alignment ``error_rate`` with its interval (``low``, ``high``), ``precision``, ``recall``
            and ``f1``.
        chosen: the series and the layer whose links are written.
        units: the effective number of sentence pairs, which claims need; NaN without gold links.
        answers: the answers of all questions, by name. Each is an attribute, too: ``best`` has the best layer and head
            of each series, with its error rate on other sentence pairs; ``contrasts`` has the differences of two
            series, ``correlations`` those of norm and error rate over layers and heads, and ``baselines`` the error
            rates of links from files; ``controls`` has the best layers and heads of each copy with random weights; and
            ``example`` is a sentence pair with its maps.
    """

    method: str
    cells: pd.DataFrame
    chosen: LayerChoice
    units: float = float("nan")
    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_gold(self) -> bool:
        """Whether there were gold links."""
        return self.chosen.by_gold

    @property
    def has_directions(self) -> bool:
        """Whether source words have links, too."""
        return bool((self.cells["direction"] != FORWARD).any())

    @property
    def together(self) -> pd.DataFrame:
        """The cells of all heads of a layer together, in the forward direction."""
        return self._forward(TOGETHER)

    @property
    def single(self) -> pd.DataFrame:
        """The cells of each head by itself."""
        return self._forward(SINGLE)

    def _forward(self, heads: str) -> pd.DataFrame:
        return self.cells[(self.cells["heads"] == heads) & (self.cells["direction"] == FORWARD)]


ERROR, SPECIAL = "error_rate", "on_special"
"""The columns of the cells that findings and the cards of heads are about."""


def text_of(column: str, row: Mapping[str, Any]) -> str:
    """Return the value of a column for readers, that of an error rate with its interval."""
    interval = (row["low"], row["high"]) if column == ERROR else ()
    return share(row[column], *interval)


def measure_id(column: str, row: Mapping[str, Any]) -> str:
    """Return the id of the measure of a column for the series of a row."""
    together = f"/{TOGETHER}" if row["heads"] == TOGETHER else ""
    return f"alignment/{column}/{row['setting']}/{row['measure']}{together}"
