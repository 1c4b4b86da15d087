"""What an alignment run finds, and the links that ``align --write`` writes.

These links need a second reading of all sentence pairs. Which series and which layer have the lowest error rate is
known only when all pairs have been counted. The counts are sums over pairs, so they cannot tell the links of any one
pair, and to keep the links of every pair in every series, layer and head until then would need memory in proportion to
the corpus. The second reading makes the maps of one series alone, and holds the links of one window of pairs at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...corpora_loaders import Sentence
from ...corpora_loaders.alignment import Link
from ...extractors import Merge
from ...extractors.maps.batching import WINDOW
from ..contract import Reader
from ..shared.previews import Previewed
from .accuracy import AlignmentCounts
from .example import AlignedExample
from .links import LinkMaker, links_of
from .series import TOGETHER, Series
from .tables import AlignmentTables


@dataclass(frozen=True)
class LayerChoice:
    """A series of all heads together, and a layer."""

    series: Series
    layer: int  # 0-based
    by_gold: bool  # whether it was chosen by its error rate; otherwise by its mean norm


@dataclass(frozen=True, eq=False, repr=False)
class AlignmentResults(Previewed):
    """The results of word alignment. Layers and heads are 1-based, and head 0 stands for all heads together.

    Attributes:
        method: what aligns words: ``"cross-attention"``, ``"similarity"`` or ``"self-attention"``.
        tables: ``tables.cells`` has one row per ``setting``, ``measure``, ``direction``, ``layer`` and ``head``, with
            ``links``, ``hits_sure``, the alignment ``error_rate`` with its interval (``low``, ``high``),
            ``precision``, ``recall`` and ``f1``; ``tables.best`` has the best layer and head of each series, with its
            error rate on other sentence pairs; ``tables.contrasts`` has the differences of two series,
            ``tables.correlations`` those of norm and error rate over layers and heads, and ``tables.baselines`` the
            error rates of links from files.
        controls: the table of the best layers and heads of each copy with random weights.
        chosen: the series and the layer whose links are written.
        example: a sentence pair with its maps; None if none was kept.
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


def chosen_links(
    pairs: Sequence[Sentence], choice: LayerChoice, merge: Merge, read: Reader
) -> Iterator[tuple[Link, ...]]:
    """Read all sentence pairs once more, and yield the links of each in order. Pairs that cannot be read have none."""
    maker = LinkMaker((choice.series,), merge)
    for start in range(0, len(pairs), WINDOW):
        window = pairs[start : start + WINDOW]
        links_by_id = {}
        for batch in read(window, maker):
            for pair, links in zip(batch.pairs, links_of(batch, choice.series, choice.layer), strict=True):
                links_by_id[pair.id] = tuple(links)
        for pair in window:
            yield links_by_id.get(pair.id, ())
