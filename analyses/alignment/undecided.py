"""What is left of maps of sentence pairs when they have been dropped: the decisions of float32, and their sizes.

Maps of many pairs would fill the memory, and pairs about which float32 cannot decide are better read again together. So
the maps of a forward pass are reduced to decisions, and these wait until enough pairs have been read.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ...corpora_loaders.alignment import SentencePair
from ...extractors import MapBatch
from .decisions import Decisions, column_words, columns_of, padded
from .itermax import IteratedLinks
from .series import Series


@dataclass(frozen=True)
class CloseDecisions:
    """What is needed in float64 to make the decisions about a pair again that float32 cannot make.

    Attributes:
        series: the series with such decisions.
        layers: the layers with such decisions, 0-based.
        words: how many of the first target words have rows that are needed; None for all.
    """

    series: tuple[Series, ...]
    layers: frozenset[int]
    words: int | None


@dataclass(frozen=True, eq=False)
class Undecided:
    """The decisions about a batch, of which some are to be made again.

    Attributes:
        pairs: the sentence pairs.
        forward, reverse: the decisions of each series in both directions.
        iterated: the links of Itermax of each series.
        words: the source word of each column, −1 at special tokens and padding.
        sizes: the mean of all values of each pair's map.
    """

    pairs: tuple[SentencePair, ...]
    forward: dict[Series, Decisions]
    reverse: dict[Series, Decisions]
    iterated: dict[Series, IteratedLinks]
    words: Int[Tensor, "batch columns"]
    sizes: dict[Series, Float[Tensor, "batch layers heads"]]

    @classmethod
    def of(
        cls, maps: Mapping[Series, MapBatch], both: Set[Series] = frozenset(), iterated: Set[Series] = frozenset()
    ) -> Undecided:
        """Decide in float32.

        Args:
            maps: the maps of each series.
            both: the series that have decisions in both directions.
            iterated: the series that have links of Itermax.

        Raises:
            ValueError: the maps are at token level, or not those of sentence pairs.
        """
        for batch in maps.values():
            if batch.level != "word":
                raise ValueError("alignment needs word-level maps (level='word')")
        first = next(iter(maps.values()))
        pairs = tuple(pair for pair in first.sentences if isinstance(pair, SentencePair))
        if len(pairs) < len(first):
            raise ValueError("alignment needs maps of sentence pairs")
        return cls(
            pairs,
            {series: Decisions.of_rows(batch) for series, batch in maps.items()},
            {series: Decisions.of_words(maps[series]) for series in both},
            {series: IteratedLinks.of(maps[series]) for series in iterated},
            column_words(first),
            {series: _sizes(batch) for series, batch in maps.items()},
        )

    @classmethod
    def together(cls, parts: Sequence[Undecided]) -> Undecided:
        """Put the decisions about several batches together."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        return cls(
            tuple(pair for part in parts for pair in part.pairs),
            {series: Decisions.together([part.forward[series] for part in parts]) for series in first.forward},
            {series: Decisions.together([part.reverse[series] for part in parts]) for series in first.reverse},
            {series: IteratedLinks.together([part.iterated[series] for part in parts]) for series in first.iterated},
            padded([part.words for part in parts]),
            {series: torch.cat([part.sizes[series] for part in parts]) for series in first.sizes},
        )

    @functools.cached_property
    def close(self) -> dict[int, CloseDecisions]:
        """The decisions that are to be made again of each pair that has some."""
        series: dict[int, list[Series]] = {}
        layers: dict[int, set[int]] = {}
        words: dict[int, int] = {}
        whole = set()
        for group in self._groups:
            for each, decisions in group.items():
                for index, layer, _, position in decisions.close.tolist():
                    series.setdefault(index, []).append(each)
                    layers.setdefault(index, set()).add(layer)
                    words[index] = max(words.get(index, 0), position + 1)
                    if decisions.of_columns:
                        whole.add(index)
        return {
            index: CloseDecisions(
                tuple(dict.fromkeys(series[index])),
                frozenset(layers[index]),
                None if index in whole else words[index],
            )
            for index in sorted(series)
        }

    def decide(self, index: int, exact: Mapping[Series, Float[Tensor, "_ _ _ _"]]) -> None:
        """Make the decisions about a pair again that float32 cannot make.

        Args:
            index: the pair.
            exact: what is needed of the maps of the pair in float64, see `close`.
        """
        for group in self._groups:
            for series, decisions in group.items():
                if series in exact:
                    decisions.decide(index, exact[series])

    @property
    def _groups(self) -> tuple[Mapping[Series, Decisions | IteratedLinks], ...]:
        return self.forward, self.reverse, self.iterated


def _sizes(batch: MapBatch) -> Float[Tensor, "batch layers heads"]:
    cells = batch.lengths * columns_of(batch).lengths
    return batch.maps.double().sum((-1, -2)).cpu() / cells[:, None, None]
