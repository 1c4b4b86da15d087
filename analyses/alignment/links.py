"""Maps of a batch of sentence pairs → the links of every series, which is all that the metrics need of the maps.

Maps of many pairs would fill the memory, and pairs about which float32 cannot decide are better read again together. So
the maps of each forward pass are reduced to links, and pairs with close decisions wait until the whole batch is read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ...corpora_loaders import Sentence
from ...corpora_loaders.alignment import Link, PairLinks, SentencePair
from ...extractors import MapBatch, Merge, is_punctuation
from ...extractors.maps.batching import WINDOW
from ...extractors.translation import PairBatch
from ..plans import Reader
from .decisions import SAME, Booleans, columns_of, iterate_links, source_links, symmetrize, target_links
from .series import FORWARD, ITERMAX, REVERSE, Series, map_makers, maps_of

_DECIDE = {FORWARD: target_links, REVERSE: source_links, ITERMAX: iterate_links}
"""How the links of each direction are made of maps."""


@dataclass(frozen=True, eq=False)
class LinkedPairs:
    """The links of a batch of sentence pairs. Links of both directions together are made of those of each direction."""

    pairs: tuple[SentencePair, ...]  # the sentence pairs
    # the links of each series in one direction. In the forward direction, they are the source word that each target
    # word is linked to, counted from 0, with −1 where there is no link, and beyond the end of a sentence; in the
    # reverse direction, the target word of each source word; shape (batch, layers, heads, words). Those of Itermax say
    # which words are linked; shape (batch, layers, heads, target words, source words). Every other series is there in
    # the forward direction, too. Series may have different numbers of layers and heads.
    links: Mapping[Series, Tensor]
    # for each series of the forward direction, the mean of all values of each pair's map; shape (batch, layers, heads)
    sizes: Mapping[Series, Float[Tensor, "_ _ _"]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pairs)

    def shape(self, series: Series) -> tuple[int, int]:
        """Return the numbers of layers and heads of a series."""
        n_layers, n_heads = self.links[series.one_way].shape[1:3]
        return n_layers, n_heads

    def tables(self, series: Series, index: int, layers: slice = slice(None)) -> Booleans:
        """Return which words of a pair are linked; shape (layers, heads, source words, target words)."""
        by_direction = [self._table(part, index, layers) for part in series.parts]
        if len(by_direction) == 1:
            return by_direction[0]
        forward, reverse = by_direction
        return symmetrize(forward, reverse, series.direction)

    def _table(self, series: Series, index: int, layers: slice) -> Booleans:
        """Return which words of a pair are linked, see `tables`, in a series of one direction."""
        n_source, n_target = len(self.pairs[index].source), len(self.pairs[index])
        links = self.links[series][index, layers].numpy()
        if series.direction == ITERMAX:
            return np.asarray(links[..., :n_target, :n_source].swapaxes(-1, -2))
        if series.direction == REVERSE:
            return np.asarray(links[..., :n_source, None] == np.arange(n_target))
        return np.asarray(links[..., None, :n_target] == np.arange(n_source)[:, None])

    @classmethod
    def join(cls, parts: Sequence[LinkedPairs]) -> LinkedPairs:
        """Put the links of several batches of the same series together."""
        first = parts[0]
        return cls(
            tuple(pair for part in parts for pair in part.pairs),
            {series: _join([part.links[series] for part in parts], series) for series in first.links},
            {series: torch.cat([part.sizes[series] for part in parts]) for series in first.sizes},
        )

    def overwrite(self, indices: Sequence[int], exact: LinkedPairs) -> None:
        """Replace the links of some pairs by those that were made of maps in float64."""
        # All of them are replaced, because float64 decides as float32 does where float32 can.
        for series, links in exact.links.items():
            for index, of_pair in zip(indices, links, strict=True):
                corner = self.links[series][index]
                for axis, size in enumerate(of_pair.shape):  # there may be fewer layers, and less padding
                    corner = corner.narrow(axis, 0, size)
                corner.copy_(of_pair)

    @functools.cached_property
    def gold(self) -> tuple[Booleans, Booleans]:
        """Which links are sure and which are possible; shape (batch, source words + 1, target words)."""
        # The last row stands for no link.
        n_source, n_target = max(len(pair.source) for pair in self.pairs), max(map(len, self.pairs))
        tables = np.zeros((2, len(self), n_source + 1, n_target), dtype=bool)
        for index, pair in enumerate(self.pairs):
            gold = pair.gold or PairLinks()
            for table, links in zip(tables, (gold.sure, gold.possible), strict=True):
                if links:
                    sources, targets = zip(*links, strict=True)
                    table[index, sources, targets] = True
        return tables[0], tables[1]

    @functools.cached_property
    def marks(self) -> Booleans:
        """Which source words are punctuation; shape (batch, source words + 1)."""
        # The last column stands for no word.
        forms = {word for pair in self.pairs for word in pair.source}
        punctuation = {word for word in forms if is_punctuation(word)}
        table = np.zeros((len(self), max(len(pair.source) for pair in self.pairs) + 1), dtype=bool)
        for index, pair in enumerate(self.pairs):
            table[index, : len(pair.source)] = [word in punctuation for word in pair.source]
        return table

    @functools.cached_property
    def sure(self) -> npt.NDArray[np.int64]:
        """The number of sure links of each pair."""
        return np.array([len(pair.gold.sure) if pair.gold else 0 for pair in self.pairs], dtype=np.int64)


@dataclass(frozen=True)
class LinkMaker:
    """Makes the links of several series of one pass. Two makers of the same series are equal."""

    series: tuple[Series, ...]
    merge: Merge = "norm"  # how norms of pieces become norms of words, see `map_makers`

    @property
    def reads_weights(self) -> bool:
        """Whether a series is about norms, which are made of the layers' weights."""
        return any(series.measure == "norm" for series in self.series)

    def of(self, batch: object) -> LinkedPairs:
        """Make the links of a batch."""
        if not isinstance(batch, PairBatch):
            raise TypeError("links are made of batches of sentence pairs")
        of_passes = [self.in_float32(one_pass) for one_pass in batch.passes()]
        linked = LinkedPairs.join([links for links, _ in of_passes])
        layers_to_read = torch.cat([n_layers for _, n_layers in of_passes]).tolist()
        undecided = {index: n_layers for index, n_layers in enumerate(layers_to_read) if n_layers}
        for indices, exact in batch.exact(map_makers(self.series, self.merge), undecided, depths=undecided):
            exact_links, _ = self._decide(exact, SAME)
            linked.overwrite(indices, exact_links)
        return linked

    def in_float32(self, one_pass: PairBatch) -> tuple[LinkedPairs, Int[Tensor, " batch"]]:
        """Make the links of one forward pass, whose maps are then dropped, because they may fill the memory."""
        # Returns the links; and how many layers of each pair are to be read again in float64, which decides better.
        return self._decide(one_pass.maps(map_makers(self.series, self.merge)), part_of_noise=1.0)

    def _decide(self, made: Sequence[MapBatch], part_of_noise: float) -> tuple[LinkedPairs, Int[Tensor, " batch"]]:
        """Return `decide_links` for all series in one direction, given what each of their `map_makers` has made."""
        parts = (part for series in self.series for part in (series.one_way, *series.parts))
        return decide_links(maps_of(self.series, self.merge, made), dict.fromkeys(parts), part_of_noise)


def decide_links(
    maps: Mapping[Series, MapBatch], series: Iterable[Series], part_of_noise: float = 1.0
) -> tuple[LinkedPairs, Int[Tensor, " batch"]]:
    """Decide which words are linked in each series, given the maps of all series in the forward direction.

    Values are equal if they differ by no more than a part of the noise of float32. Returns the links; and the last
    layer of each pair in which values were equal, counted from 1; 0 for none.
    """
    if any(batch.level != "word" for batch in maps.values()):
        raise ValueError("alignment needs word-level maps (level='word')")
    sentences = next(iter(maps.values())).sentences  # the same in all maps
    pairs = tuple(pair for pair in sentences if isinstance(pair, SentencePair))
    if len(pairs) < len(sentences):
        raise ValueError("alignment needs maps of sentence pairs")
    links = {}
    last_close = torch.zeros(len(pairs), dtype=torch.long)
    for decided_series in series:
        batch = maps[decided_series.one_way]
        links[decided_series], close = _DECIDE[decided_series.direction](batch, part_of_noise * batch.noise)
        layers = torch.arange(1, close.shape[1] + 1)
        last_close = last_close.maximum((close * layers).amax(1))
    sizes = {}
    for forward, batch in maps.items():
        n_cells = batch.lengths * columns_of(batch).lengths
        sizes[forward] = batch.maps.double().sum((-1, -2)).cpu() / n_cells[:, None, None]
    return LinkedPairs(pairs, links, sizes), last_close


def links_of(batch: LinkedPairs, series: Series, layer: int) -> list[list[tuple[int, int]]]:
    """Return the links of each pair of a batch in one layer, for all heads together."""
    links = []
    for index in range(len(batch)):
        table = batch.tables(series, index, slice(layer, layer + 1))[0, 0]  # of all heads, as if they were one
        links.append([(int(source), int(target)) for source, target in np.argwhere(table)])
    return links


def chosen_links(
    pairs: Sequence[Sentence], series: Series, layer: int, merge: Merge, read: Reader
) -> Iterator[tuple[Link, ...]]:
    """Read all sentence pairs once more, and yield the links of each in order. Pairs that cannot be read have none.

    Which series and which layer have the lowest error rate is known only when all pairs have been counted. The counts
    are sums over pairs, so they cannot tell the links of any one pair, and to keep the links of every pair in every
    series, layer and head until then would need memory in proportion to the corpus. The second reading makes the maps
    of one series alone, and holds the links of one window of pairs at a time.
    """
    maker = LinkMaker((series,), merge)
    for start in range(0, len(pairs), WINDOW):
        window = pairs[start : start + WINDOW]
        links_by_id = {}
        for batch in read(window, maker):
            for pair, links in zip(batch.pairs, links_of(batch, series, layer), strict=True):
                links_by_id[pair.id] = tuple(links)
        for pair in window:
            yield links_by_id.get(pair.id, ())


def _join(parts: Sequence[Tensor], series: Series) -> Tensor:
    """Put links of several batches one after the other, filled up to the most words that a pair of any of them has."""
    no_link = False if series.direction == ITERMAX else -1
    max_sizes = [max(sizes) for sizes in zip(*(part.shape[3:] for part in parts), strict=True)]  # numbers of words
    padded = []
    for part in parts:
        padding: list[int] = []  # before and after each axis, the last axis first
        for max_size, size in zip(reversed(max_sizes), reversed(part.shape[3:]), strict=True):
            padding += [0, max_size - size]
        padded.append(nn.functional.pad(part, padding, value=no_link))
    return torch.cat(padded)
