"""The links of a batch of sentence pairs in every series."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ...corpora_loaders.alignment import PairLinks, SentencePair
from ...extractors import is_punctuation
from .decisions import overwrite
from .series import FORWARD, ITERMAX, REVERSE, Series
from .symmetrization import symmetrized

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
        >>> from attentionology.analyses.alignment.linked_pairs import LinkedPairs
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

    def tables(self, series: Series, index: int, layers: slice = slice(None)) -> Booleans:
        """Return which words of a pair are linked; shape (layers, heads, source words, target words).

        Args:
            series: the series, of any direction.
            index: the index of the pair.
            layers: the layers, 0-based. By default, they are all layers.
        """
        pair = self.pairs[index]
        n_source, n_target = len(pair.source), len(pair)
        if series.direction == ITERMAX:
            iterated: Booleans = self.iterated[series.one_way][index, layers, :, :n_target, :n_source].mT.numpy()
            return iterated
        linked = self.forward[series.one_way][index, layers, :, :n_target].numpy()
        forward: Booleans = linked[..., None, :] == np.arange(n_source)[:, None]
        if series.direction == FORWARD:
            return forward
        linked = self.reverse[series.one_way][index, layers, :, :n_source].numpy()
        reverse: Booleans = linked[..., :, None] == np.arange(n_target)
        return reverse if series.direction == REVERSE else symmetrized(forward, reverse, series.direction)

    @classmethod
    def together(cls, parts: Sequence[LinkedPairs]) -> LinkedPairs:
        """Put the links of several batches of the same series together."""
        first = parts[0]
        return cls(
            tuple(pair for part in parts for pair in part.pairs),
            {series: _joined([part.forward[series] for part in parts], fill=-1) for series in first.forward},
            {series: _joined([part.reverse[series] for part in parts], fill=-1) for series in first.reverse},
            {series: _joined([part.iterated[series] for part in parts], fill=False) for series in first.iterated},
            {series: torch.cat([part.sizes[series] for part in parts]) for series in first.sizes},
        )

    def overwrite(self, indices: list[int], again: LinkedPairs) -> None:
        """Replace the links of some pairs by those that were made in float64."""
        for ours, theirs in (
            (self.forward, again.forward),
            (self.reverse, again.reverse),
            (self.iterated, again.iterated),
        ):
            for series, links in theirs.items():
                overwrite(ours[series], indices, links)

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


def links_of(batch: LinkedPairs, series: Series, layer: int) -> list[list[tuple[int, int]]]:
    """Return the links of each pair of a batch in one layer, for all heads together."""
    only = slice(layer, layer + 1)
    return [
        [(int(source), int(target)) for source, target in np.argwhere(batch.tables(series, index, only)[0, 0])]
        for index in range(len(batch))
    ]


def _joined(parts: Sequence[Tensor], fill: int) -> Tensor:
    """Put links of several batches one after the other, filled up to the most words that a pair of any of them has."""
    most = [max(part.shape[axis] for part in parts) for axis in range(3, parts[0].dim())]
    joined = []
    for part in parts:
        missing = [longest - size for longest, size in zip(most, part.shape[3:], strict=True)]
        joined.append(nn.functional.pad(part, [n for each in reversed(missing) for n in (0, each)], value=fill))
    return torch.cat(joined)
