"""The metrics of word alignment, with bootstrap and halves: one for the links of a model, one for those of others."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders.alignment import Link, PairLinks, SentencePair
from ..counting.best_head import interval
from ..counting.counting import Counting
from ..counting.exact_sums import ExactMetric
from ..counting.metric import Metric
from ..counting.outcomes import SPLITS
from ..counting.resampling import effective_number_drawn, halves, poisson_weights
from .links import LinkedPairs
from .scores import LinkCounts, count_links
from .series import FORWARD, TOGETHER, Series


def diagonal(pair: SentencePair) -> set[Link]:
    """Link target word k of m to source word ⌈k · n / m⌉ of n, all counted from 1."""
    n, m = len(pair.source), len(pair)
    return {(math.ceil(k * n / m) - 1, k - 1) for k in range(1, m + 1)}


def same_form(pair: SentencePair) -> set[Link]:
    """Link target words to the source word of the same form nearest to the diagonal; all others as `diagonal`."""
    # Letter case is ignored. Of two source words at the same distance, the first is taken.
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(pair.source):
        positions.setdefault(word.casefold(), []).append(position)
    links = set()
    for source, target in diagonal(pair):
        candidates = positions.get(pair.words[target].casefold(), [source])
        links.add((min(candidates, key=lambda position: abs(position - source)), target))
    return links


BASELINES: Mapping[str, Callable[[SentencePair], set[Link]]] = {"diagonal": diagonal, "same form": same_form}
"""The baselines by name."""

RESTS = ("special", "punctuation", "word")
"""Where the largest value of a target word's row is: on a special token, on punctuation, or on another source word."""

_SURE, _POSSIBLE, _PUNCTUATION, _LINK = map(np.uint8, (1, 2, 4, 8))
"""Bits of what is counted of a link: it is sure, it is possible, its source word is punctuation, and it is a link."""

Array = npt.NDArray[Any]


class AlignmentCounts(NamedTuple):
    """The counts of one series of maps, such as the norms of single heads in the setting AWI."""

    # The first axis of the first two arrays is the whole corpus, then the first half of each split, then each bootstrap
    # replicate.

    links: Array  # |A|, |A ∩ S| and |A ∩ P|; shape (1 + splits + replicates, layers, heads, 3)
    sure: Array  # |S|; shape (1 + splits + replicates,)
    # how many target words have their largest value on each of `RESTS`; shape (layers, heads, 3). All are 0 for links
    # that are not read off rows.
    rests: Array
    size: Array  # the mean of all values of a pair's map, averaged over pairs; shape (layers, heads)
    pairs: int  # the number of sentence pairs
    splits: int = SPLITS  # the number of splits

    def error_rates(self) -> Array:
        """Compute alignment error rates; shape (1 + splits + replicates, layers, heads)."""
        return error_rate(self.links, self.sure[:, None, None])

    def scores(self, layer: int, head: int) -> dict[str, object]:
        """Return the counts and scores of one layer and head in the whole corpus."""
        links, hits_sure, hits_possible = map(int, self.links[0, layer, head])
        whole = LinkCounts(links, int(self.sure[0]), hits_sure, hits_possible)
        scores = {name: getattr(whole, name) for name in ("error_rate", "precision", "recall", "f1")}
        return {**asdict(whole), **scores}

    def interval(self, values: Array) -> dict[str, float]:
        """Return the 95 % interval of a statistic, given its values in the corpus, the halves and the replicates."""
        drawn = values[1 + self.splits :]
        low, high = interval(drawn[~np.isnan(drawn)])
        return {"low": low, "high": high}

    @property
    def units(self) -> float:
        """The effective number of sentence pairs, by their sure links."""
        return effective_number_drawn(int(self.sure[0]), self.sure[1 + self.splits :])


def error_rate(links: Array, sure: Array) -> Array:
    """Compute alignment error rates from counts (Och & Ney 2003), NaN where there are neither links nor sure links."""
    n_links, hits_sure, hits_possible = np.moveaxis(links, -1, 0)
    whole = n_links + sure
    with np.errstate(invalid="ignore"):
        return np.asarray(1 - (hits_sure + hits_possible) / np.where(whole > 0, whole, np.nan))


class LinkAccuracy(ExactMetric):
    """The base of the metrics of links."""

    # It adds up the counts of sentence pairs in the corpus, halves and replicates. The units of the bootstrap are
    # sentence pairs, whose weights depend on their ids alone, so that differences between two metrics are paired.

    links: Int[Tensor, "resampled layers heads 3"]
    sure: Int[Tensor, " resampled"]
    rests: Int[Tensor, "layers heads 3"]
    size: Int[Tensor, "layers heads"]
    pairs: Int[Tensor, ""]

    def __init__(self, n_layers: int, n_heads: int, *, replicates: int = 1000, seed: int = 0) -> None:
        super().__init__()
        self.shape, self.replicates, self.seed = (n_layers, n_heads), replicates, seed
        resampled = 1 + SPLITS + replicates
        self.add_state("links", torch.zeros(resampled, n_layers, n_heads, 3, dtype=torch.int64), "sum")
        self.add_state("sure", torch.zeros(resampled, dtype=torch.int64), "sum")
        self.add_state("rests", torch.zeros(n_layers, n_heads, len(RESTS), dtype=torch.int64), "sum")
        self.add_state("size", torch.zeros(n_layers, n_heads, dtype=torch.int64), "sum")
        self.add_state("pairs", torch.zeros((), dtype=torch.int64), "sum")

    def compute(self) -> AlignmentCounts:
        """Return all counts so far."""
        pairs = int(self.pairs)
        size = self.floating(self.size).numpy() / max(1, pairs)
        return AlignmentCounts(self.links.numpy(), self.sure.numpy(), self.rests.numpy(), size, pairs)

    def add_counts(self, ids: Sequence[str], counts: Array, sure: Array) -> None:
        """Add |A|, |A ∩ S| and |A ∩ P|, shape (pairs, layers, heads, 3), and |S| of sentence pairs, all int64."""
        weights = _weights(tuple(ids), self.replicates, self.seed)
        # Products of small whole numbers are exact in float64, which has a fast matrix product.
        added = (weights @ counts.reshape(len(ids), -1)).astype(np.int64)
        self.links += torch.from_numpy(added.reshape(-1, *self.shape, 3))
        self.sure += torch.from_numpy((weights @ sure).astype(np.int64))
        self.pairs += len(ids)


@functools.lru_cache(maxsize=1)
def _weights(ids: tuple[str, ...], replicates: int, seed: int) -> Array:
    """Return how often each pair counts in the corpus, in the first half of each split, and in each replicate."""
    # All series of a batch have the same, so the last result is kept.
    parts = (np.ones((1, len(ids))), halves(ids, SPLITS, seed), poisson_weights(ids, replicates, seed))
    return np.concatenate([part.astype(np.float64) for part in parts])


class AlignmentAccuracy(LinkAccuracy):
    """How well the links of one series align words, for each layer and head; the first arguments are those of `Series`.

    Pairs without gold links count as pairs without sure and possible links.
    """

    def __init__(
        self,
        setting: str,
        measure: str,
        heads: str = TOGETHER,
        direction: str = FORWARD,
        *,
        n_layers: int,
        n_heads: int,
        replicates: int = 1000,
        seed: int = 0,
    ) -> None:
        super().__init__(n_layers, n_heads, replicates=replicates, seed=seed)
        self.series = Series(setting, measure, heads, direction)

    def update(self, batch: LinkedPairs) -> None:
        """Count the links of a batch of sentence pairs."""
        if batch.shape(self.series) != self.shape:
            raise ValueError(f"expected links of {self.shape} layers and heads, found {batch.shape(self.series)}")
        counts = self._counts_forward(batch) if self.series.direction == FORWARD else self._counts(batch)
        self.add_counts([pair.id for pair in batch.pairs], counts, batch.sure)
        self.size = self.added(self.size, batch.sizes[self.series.one_way])

    def _counts_forward(self, batch: LinkedPairs) -> Array:
        """Count the links of target words, and where their largest values are. No table of links is made."""
        source_of_target = batch.links[self.series].numpy()  # (pairs, layers, heads, target words)
        sure, possible = batch.gold
        # All bits of a pair of words are in one number, so that links are looked up once. The source −1, no link, looks
        # up the last row, where all bits are 0.
        bits = np.zeros(sure.shape, dtype=np.uint8)  # (pairs, source words + 1, target words)
        bits[:, :-1] = _LINK
        bits |= sure * _SURE | possible * _POSSIBLE | batch.marks[:, :, None] * _PUNCTUATION
        pairs, targets = np.arange(len(batch))[:, None, None, None], np.arange(source_of_target.shape[-1])
        bits_of_links = bits[pairs, source_of_target, targets]  # (pairs, layers, heads, target words)
        links, hits_sure, hits_possible, marks = (
            np.count_nonzero(bits_of_links & bit, axis=-1) for bit in (_LINK, _SURE, _POSSIBLE, _PUNCTUATION)
        )  # (pairs, layers, heads)
        n_targets = np.array([len(pair) for pair in batch.pairs])[:, None, None]
        rests = np.stack([n_targets - links, marks, links - marks], -1)  # in the order of `RESTS`
        self.rests += torch.from_numpy(rests.sum(0))
        return np.stack([links, hits_sure, hits_possible], -1)

    def _counts(self, batch: LinkedPairs) -> Array:
        """Count the links of any direction, pair by pair."""
        counts = np.zeros((len(batch), *self.shape, 3), dtype=np.int64)  # the last axis: all, sure, possible
        sure, possible = batch.gold
        for index, pair in enumerate(batch.pairs):
            tables = batch.tables(self.series, index)
            counts[index, ..., 0] = tables.sum((-1, -2))
            for column, gold in enumerate((sure, possible), start=1):
                counts[index, ..., column] = (tables & gold[index, : len(pair.source), : len(pair)]).sum((-1, -2))
        return counts


class BaselineAccuracy(LinkAccuracy):
    """How well links align words that are not read off a model: those of one of `BASELINES`, or of another system."""

    def __init__(self, name: str, *, replicates: int = 1000, seed: int = 0) -> None:
        super().__init__(1, 1, replicates=replicates, seed=seed)
        self.name = name

    def update(self, batch: LinkedPairs) -> None:
        """Count the links of a batch of sentence pairs."""
        counts = []
        for pair in batch.pairs:
            links = BASELINES[self.name](pair) if self.name in BASELINES else dict(pair.hypotheses)[self.name]
            scored = count_links(links, pair.gold or PairLinks())
            counts.append((scored.links, scored.hits_sure, scored.hits_possible))
        table = np.array(counts, dtype=np.int64)[:, None, None]  # one layer with one head
        self.add_counts([pair.id for pair in batch.pairs], table, batch.sure)


@dataclass(frozen=True)
class CountSeries(Counting):
    """A factory of the metrics of one series, see `attentionology.analyses.counting.counting.CountMaps`."""

    series: Series
    replicates: int
    seed: int
    metric: type[Metric] = AlignmentAccuracy
    arguments: tuple[tuple[str, Any], ...] = ()

    def arguments_of(self, first: LinkedPairs) -> dict[str, Any]:
        """Return all arguments of the metric, which are stored with its states."""
        n_layers, n_heads = first.shape(self.series)
        options = {"n_layers": n_layers, "n_heads": n_heads, "replicates": self.replicates, "seed": self.seed}
        return {**vars(self.series), **options}
