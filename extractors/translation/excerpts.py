"""Sentence pairs that are read again in float64, no further than the decisions that are to be made again.

A decision of float32 that is too close concerns a few rows of a few layers. Every row of cross-attention depends on the
whole source sentence, so the encoder reads all of it. But it depends neither on layers above its own nor on what the
decoder reads later, so the decoder ends after the last layer and the last target word that are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from ..maps.batching import DEFAULT_BATCH_CELLS
from ..model.conditions import Batching, fitting
from .cross_maps import CrossMapMaker, exact_cross_maps
from .sides import PairPieces, first_words
from .translator import Translator

BATCH_PIECES = 2048
"""The bound on pairs × pieces of a batch that a translator reads in float32."""

EXACT_PIECES = 256
"""The same bound in float64. Few pairs are read again, and in small groups their lengths and depths are alike."""

_EXACT_CELLS = DEFAULT_BATCH_CELLS // 2  # float64 maps take twice the memory


@dataclass(frozen=True)
class Excerpt:
    """What is needed of the maps of a sentence pair in float64.

    Attributes:
        makers: what makes the maps, see `attentionology.extractors.translation.PairBatch.maps`.
        layers: the layers, 0-based; None for all.
        words: how many of the first target words have rows that are needed; None for all.

    Example:
        >>> Excerpt((CrossMapMaker("norm"),), frozenset({0, 2}), words=3).depth
        3.0
    """

    makers: tuple[Any, ...]
    layers: frozenset[int] | None = None
    words: int | None = None

    @property
    def depth(self) -> float:
        """How many layers of the decoder must be run; infinite if all."""
        return float("inf") if self.layers is None else float(max(self.layers) + 1)

    def of(self, pieces: PairPieces) -> PairPieces:
        """Return the pieces of a pair up to the last word that is needed."""
        return pieces if self.words is None else PairPieces(pieces.source, first_words(pieces.target, self.words))


def exact_excerpts(
    translator: Translator, pieces: Sequence[PairPieces], excerpts: Mapping[int, Excerpt]
) -> Iterator[tuple[int, dict[CrossMapMaker, Float[Tensor, "layers heads rows columns"]]]]:
    """Yield sentence pairs with what is needed of their maps in float64. Several pairs are read at a time.

    Args:
        translator: the model.
        pieces: the pieces of each pair.
        excerpts: what is needed of the maps, by the index of the pair.

    Yields:
        the index of a pair and its maps. Values that are not needed may be missing or 0.

    Raises:
        ModelError: attention is not a distribution, or is not what its weights say.
    """
    batching = translator.double.batching
    # Where padding changes attention, what follows a row might change it, too.
    cut = batching == "padded"
    read = {index: excerpt.of(pieces[index]) if cut else pieces[index] for index, excerpt in excerpts.items()}
    depths = {index: excerpt.depth for index, excerpt in excerpts.items()}
    for group in exact_groups({index: len(each) for index, each in read.items()}, depths, batching):
        makers = list(dict.fromkeys(maker for index in group for maker in excerpts[index].makers))
        layers: set[int] | None = set()
        for index in group:
            of_pair = excerpts[index].layers
            layers = None if layers is None or of_pair is None else layers | of_pair
        maps = exact_cross_maps(makers, translator, [read[index] for index in group], layers)
        for index, of_pair_maps in zip(group, maps, strict=True):
            yield index, dict(zip(makers, of_pair_maps, strict=True))


def exact_groups(lengths: Mapping[int, int], depths: Mapping[int, float], batching: Batching) -> Iterator[list[int]]:
    """Cut sentence pairs into groups that a model reads together in float64.

    Args:
        lengths: the number of pieces of each pair.
        depths: the number of layers that must be run for each pair.
        batching: which pairs the model may read together.
    """
    left = sorted(lengths, key=lambda index: (-depths[index], -lengths[index]))
    while left:
        longest = size = 0
        for index in left:
            n = max(longest, lengths[index])
            cells, n_pieces = (size + 1) * n**2, (size + 1) * n
            if size and (cells > _EXACT_CELLS or n_pieces > EXACT_PIECES):
                break
            longest, size = n, size + 1
        group = fitting(batching, left[:size], lambda index: lengths[index])
        yield group
        left = [index for index in left if index not in group]
