"""Maps of a batch of sentence pairs → the links of every series, which is all that the metrics need of the maps."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...corpora_loaders.alignment import PairLinks, SentencePair
from ...extractors import MapBatch, MapMaker, Merge, get_kind, is_punctuation
from ...extractors.translation import CrossMapMaker, Excerpt, PairBatch, SimilarityMaker
from .decisions import averaged_heads, rows_of_words, words_of_rows
from .series import FORWARD, ITERMAX, REVERSE, SINGLE, Series
from .symmetrization import symmetrized
from .undecided import Undecided

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LinkedPairs:
    """The links of a batch of sentence pairs. Links of both directions together are made of those of each direction.

    Attributes:
        pairs: the sentence pairs.
        forward: for each series of the forward direction, the source word that each target word is linked to, counted
            from 0; −1 where there is no link, and beyond the end of a sentence.
        reverse: for each series of the forward direction, the target word that each source word is linked to.
        iterated: for each series of the forward direction, which words Itermax links, rows of target words and columns
            of source words; shape (batch, layers, heads, target words, source words).
        sizes: for each series of the forward direction, the mean of all values of each pair's map.

    All others have the shape (batch, layers, heads, words), or (batch, layers, heads) for the sizes. Series may
    have different numbers of layers and heads.

    Example:
        >>> import torch
        >>> from attentionology.analyses.alignment.hypotheses import LinkedPairs
        >>> from attentionology.analyses.alignment.series import Series
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> pair, series = SentencePair(id="1", source=("das", "Haus"), words=("houses",)), Series("AWI", "norm")
        >>> batch = LinkedPairs((pair,), {series: torch.tensor([[[[1]]]])})
        >>> batch.tables(series, 0).tolist()  # by layer, head, source word and target word
        [[[[False], [True]]]]
    """

    pairs: tuple[SentencePair, ...]
    forward: Mapping[Series, Int[Tensor, "_ _ _ _"]]
    reverse: Mapping[Series, Int[Tensor, "_ _ _ _"]] = field(default_factory=dict)
    iterated: Mapping[Series, Bool[Tensor, "_ _ _ _ _"]] = field(default_factory=dict)
    sizes: Mapping[Series, Float[Tensor, "_ _ _"]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pairs)

    def shape(self, series: Series) -> tuple[int, int]:
        """Return the numbers of layers and heads of a series."""
        layers, heads = self.forward[series.one_way].shape[1:3]
        return layers, heads

    def tables(self, series: Series, index: int) -> Booleans:
        """Return which words of a pair are linked; shape (layers, heads, source words, target words).

        Args:
            series: the series, of any direction.
            index: the index of the pair.
        """
        pair = self.pairs[index]
        n_source, n_target = len(pair.source), len(pair)
        if series.direction == ITERMAX:
            iterated: Booleans = self.iterated[series.one_way][index, ..., :n_target, :n_source].mT.numpy()
            return iterated
        linked = self.forward[series.one_way][index, ..., :n_target].numpy()
        forward: Booleans = linked[..., None, :] == np.arange(n_source)[:, None]
        if series.direction == FORWARD:
            return forward
        linked = self.reverse[series.one_way][index, ..., :n_source].numpy()
        reverse: Booleans = linked[..., :, None] == np.arange(n_target)
        return reverse if series.direction == REVERSE else symmetrized(forward, reverse, series.direction)

    @functools.cached_property
    def gold(self) -> tuple[Booleans, Booleans]:
        """Which links are sure and which are possible; shape (batch, source words + 1, target words).

        The last row stands for no link.
        """
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
        """Which source words are punctuation; shape (batch, source words + 1).

        The last column stands for no word.
        """
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
        """Make the links of a batch.

        Raises:
            TypeError: it is not a `attentionology.extractors.translation.PairBatch`.
        """
        if not isinstance(batch, PairBatch):
            raise TypeError("links are made of batches of sentence pairs")
        makers = self._makers
        undecided = self.undecided(batch)
        excerpts = {
            index: Excerpt(tuple(dict.fromkeys(makers[each] for each in close.series)), close.layers, close.words)
            for index, close in undecided.close.items()
        }
        for index, maps in batch.exact_excerpts(excerpts):
            series = undecided.close[index].series
            undecided.decide(index, {each: exact_map_of(each, maps[makers[each]]) for each in series})
        return _linked(undecided)

    def undecided(self, batch: PairBatch) -> Undecided:
        """Return the decisions of float32 about a batch, and which it cannot make."""
        both = {each.one_way for each in self.series if each.direction not in (FORWARD, ITERMAX)}
        iterated = {each.one_way for each in self.series if each.direction == ITERMAX}
        makers = self._makers
        chosen = list(dict.fromkeys(makers.values()))
        passes = []
        for one_pass in batch.passes():
            made = dict(zip(chosen, one_pass.maps(chosen), strict=True))
            maps = {each: maps_of(each, made[maker]) for each, maker in makers.items()}
            passes.append(Undecided.of(maps, both, iterated))
            del made, maps  # the maps of one pass may fill the memory
        return Undecided.together(passes)

    @property
    def _makers(self) -> dict[Series, CrossMapMaker | MapMaker | SimilarityMaker]:
        """What makes the maps of each series of the forward direction."""
        return {each.one_way: map_maker(each, self.merge) for each in self.series}


def linked_pairs(maps: Mapping[Series, MapBatch], both: set[Series] | None = None) -> LinkedPairs:
    """Return the links of maps.

    Args:
        maps: the word-level maps of the same sentence pairs in each series.
        both: the series whose links are made in both directions.

    Raises:
        ValueError: the maps are at token level, or not those of sentence pairs.
    """
    undecided = Undecided.of(maps, both or frozenset())
    # Input by input, because maps in float64 are made for all series of an input at once, and then dropped.
    for index, close in undecided.close.items():
        undecided.decide(index, {series: maps[series].exact([index])[0] for series in close.series})
    return _linked(undecided)


def _linked(undecided: Undecided) -> LinkedPairs:
    """Return the links, once all decisions have been made."""
    words = undecided.words
    return LinkedPairs(
        undecided.pairs,
        {series: words_of_rows(decisions.best, words) for series, decisions in undecided.forward.items()},
        {series: rows_of_words(decisions.best, words >= 0) for series, decisions in undecided.reverse.items()},
        {series: decisions.links for series, decisions in undecided.iterated.items()},
        undecided.sizes,
    )


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


def exact_map_of(series: Series, exact: Float[Tensor, "layers heads n m"]) -> Float[Tensor, "layers _ n m"]:
    """Return the map of a series in float64, given what its maker has made."""
    together = series.measure == "weight" and series.heads != SINGLE
    return exact.mean(1, keepdim=True) if together else exact


def links_of(batch: LinkedPairs, series: Series, layer: int) -> list[list[tuple[int, int]]]:
    """Return the links of each pair of a batch in one layer, for all heads together.

    Args:
        batch: the links of the batch.
        series: a series of all heads together.
        layer: the layer, 0-based.
    """
    cut = replace(
        batch,
        forward={each: linked[:, layer : layer + 1] for each, linked in batch.forward.items()},
        reverse={each: linked[:, layer : layer + 1] for each, linked in batch.reverse.items()},
        iterated={each: linked[:, layer : layer + 1] for each, linked in batch.iterated.items()},
    )
    return [
        [(int(source), int(target)) for source, target in np.argwhere(cut.tables(series, index)[0, 0])]
        for index in range(len(batch))
    ]
