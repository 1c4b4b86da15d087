"""Maps of a batch of sentence pairs → the links of every series, which is all that the metrics need of the maps.

Maps of many pairs would fill the memory, and pairs about which float32 cannot decide are better read again together. So
the maps of each forward pass are reduced to links, and pairs with close decisions wait until the whole batch is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ...corpora_loaders.alignment import SentencePair
from ...extractors import MapBatch, MapMaker, Merge, get_kind
from ...extractors.translation import CrossMapMaker, PairBatch, SimilarityMaker
from .decisions import SAME, averaged_heads, columns_of, in_float64, source_links, target_links
from .itermax import iterated_links
from .linked_pairs import LinkedPairs
from .series import FORWARD, ITERMAX, SINGLE, Series

Decide = Callable[[MapBatch, float], tuple[Tensor, Tensor]]
"""Makes links of maps, given the relative difference up to which two values are equal, and says in which layers of a
pair there were such values."""


@dataclass(frozen=True)
class LinkMaker:
    """Makes the links of several series of one pass. Two makers of the same series are equal.

    Attributes:
        series: the series.
        merge: how norms of pieces become norms of words, see `attentionology.extractors.translation.CrossMapMaker`.

    Example:
        >>> from attentionology.analyses.alignment.hypotheses import LinkMaker
        >>> from attentionology.analyses.alignment.series import Series
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> from attentionology.extractors.translation import load_sample_translator, read_pairs
        >>> pair, series = SentencePair(id="1", source=("bad", "dag"), words=("mä",)), Series("AWI", "norm")
        >>> [batch] = read_pairs(load_sample_translator(), [pair])
        >>> LinkMaker((series,)).of(batch).forward[series].shape
        torch.Size([1, 2, 1, 1])
    """

    series: tuple[Series, ...]
    merge: Merge = "norm"

    @property
    def reads_weights(self) -> bool:
        """Whether a series is about norms, which are made of the layers' weights."""
        return any(each.measure == "norm" for each in self.series)

    def of(self, batch: object) -> LinkedPairs:
        """Make the links of a batch."""
        if not isinstance(batch, PairBatch):
            raise TypeError("links are made of batches of sentence pairs")
        made = [self.in_float32(one_pass) for one_pass in batch.passes()]
        linked = LinkedPairs.together([links for links, _ in made])
        depths = torch.cat([depths for _, depths in made]).tolist()
        close = {index: depth for index, depth in enumerate(depths) if depth}
        for indices, exact in batch.exact(self._makers, close, close):
            linked.overwrite(indices, self._decided(exact, SAME)[0])
        return linked

    def in_float32(self, one_pass: PairBatch) -> tuple[LinkedPairs, Int[Tensor, " batch"]]:
        """Make the links of one forward pass, whose maps are then dropped, because they may fill the memory.

        Args:
            one_pass: pairs that the model reads in one forward pass.

        Returns:
            The links; and how many layers of each pair are to be read again in float64, because float32 cannot decide.
        """
        return self._decided(one_pass.maps(self._makers), 1.0)

    @property
    def _makers(self) -> list[CrossMapMaker | MapMaker | SimilarityMaker]:
        """What makes the maps of all series, each of them once."""
        return list(dict.fromkeys(map_maker(each, self.merge) for each in self.series))

    def _decided(self, made: Sequence[MapBatch], part_of_noise: float) -> tuple[LinkedPairs, Int[Tensor, " batch"]]:
        """Make the links, given what each of the makers has made."""
        by_maker = dict(zip(self._makers, made, strict=True))
        one_way = dict.fromkeys(each.one_way for each in self.series)
        maps = {each: maps_of(each, by_maker[map_maker(each, self.merge)]) for each in one_way}
        both = {each.one_way for each in self.series if each.direction not in (FORWARD, ITERMAX)}
        iterated = {each.one_way for each in self.series if each.direction == ITERMAX}
        return _decided(maps, both, iterated, part_of_noise)


def linked_pairs(maps: Mapping[Series, MapBatch], both: set[Series] | None = None) -> LinkedPairs:
    """Return the links of maps."""
    linked, depths = _decided(maps, both or set())
    # Input by input, because maps in float64 are made for all series of an input at once, and then dropped.
    for index in depths.nonzero().flatten().tolist():
        exact = {series: in_float64(batch, index) for series, batch in maps.items()}
        linked.overwrite([index], _decided(exact, both or set(), part_of_noise=SAME)[0])
    return linked


def _decided(
    maps: Mapping[Series, MapBatch], both: Set[Series], iterated: Set[Series] = frozenset(), part_of_noise: float = 1.0
) -> tuple[LinkedPairs, Int[Tensor, " batch"]]:
    """Return the links of maps, and the last layer of each pair in which values were equal, 0 if there is none."""
    if any(batch.level != "word" for batch in maps.values()):
        raise ValueError("alignment needs word-level maps (level='word')")
    first = next(iter(maps.values()))
    pairs = tuple(pair for pair in first.sentences if isinstance(pair, SentencePair))
    if len(pairs) < len(first):
        raise ValueError("alignment needs maps of sentence pairs")
    depths = torch.zeros(len(pairs), dtype=torch.long)

    def links(decide: Decide, chosen: Iterable[Series]) -> dict[Series, Tensor]:
        """Make the links of some series, and note in which layers there were equal values."""
        nonlocal depths
        made = {}
        for series in chosen:
            batch = maps[series]
            made[series], close = decide(batch, part_of_noise * batch.noise)
            depths = depths.maximum((close * torch.arange(1, close.shape[1] + 1)).amax(1))
        return made

    forward, reverse = links(target_links, maps), links(source_links, both)
    sizes = {series: _sizes(batch) for series, batch in maps.items()}
    return LinkedPairs(pairs, forward, reverse, links(iterated_links, iterated), sizes), depths


def _sizes(batch: MapBatch) -> Float[Tensor, "batch layers heads"]:
    """Return the mean of all values of each map."""
    cells = batch.lengths * columns_of(batch).lengths
    return batch.maps.double().sum((-1, -2)).cpu() / cells[:, None, None]


def map_maker(series: Series, merge: Merge) -> CrossMapMaker | MapMaker | SimilarityMaker:
    """Return what makes the maps of a series."""
    if series.measure == "cosine":
        return SimilarityMaker()
    kind = "weight" if series.measure == "weight" else "norm" if series.heads == SINGLE else "attn"
    merging: Merge = "norm" if kind == "weight" else merge
    if series.is_cross:
        return CrossMapMaker(kind, "AWI" if series.setting == "AWI" else "AWO", merge=merging)
    return MapMaker(get_kind(kind), merge=merging)


def maps_of(series: Series, batch: MapBatch) -> MapBatch:
    """Return the maps of a series, given what its maker has made."""
    together = series.measure == "weight" and series.heads != SINGLE
    return averaged_heads(batch) if together else batch
