"""Sentence pairs → batches that a model reads together, in memory that does not depend on the number of pairs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...corpora_loaders.alignment import SentencePair
from ...corpora_loaders.describing import amount
from ..maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong, cut, plan
from ..maps.map_batch import MapBatch, Recompute
from .cross_maps import CrossMapMaker
from .pair_encoder import PairEncoder
from .translator import Translator

PairReader = Translator | PairEncoder
"""The models that read sentence pairs."""

BATCH_PIECES = 2048
"""The bound on pairs × pieces of a batch that a translator reads in float32."""

EXACT_PIECES = 256
"""The same bound in float64. Few pairs are read again, and in small groups their lengths and depths are alike."""

_EXACT_CELLS = DEFAULT_BATCH_CELLS // 2  # float64 maps take twice the memory

GATHERED = 256
"""How many pairs a batch has at least when links are counted. Several of them need float64, and reading these together
saves time. The fixed cost of counting a batch is then small, too."""


@dataclass(frozen=True, eq=False, repr=False)
class PairBatch:
    """Sentence pairs that are read together. The model reads them when maps are made.

    Attributes:
        reader: the model.
        sentences: the sentence pairs.
        pieces: the pieces of each pair.
        sizes: the number of pairs that each forward pass reads; by default, one reads all.

    Example:
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> from attentionology.extractors.translation import CrossMapMaker, load_sample_translator, read_pairs
        >>> pair = SentencePair(id="1", source=("bad", "dag"), words=("mä",))
        >>> [batch] = read_pairs(load_sample_translator(), [pair])
        >>> batch.maps([CrossMapMaker("weight"), CrossMapMaker("norm")])[1]
        MapBatch('norm', word level, 1 sentence, shape (1, 2, 4, 1, 3))
    """

    reader: PairReader
    sentences: tuple[SentencePair, ...]
    pieces: Sequence[Any]
    sizes: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        return f"PairBatch({amount(len(self), 'sentence pairs')} for {self.reader!r})"

    def passes(self) -> Iterator[PairBatch]:
        """Yield the pairs of each forward pass."""
        start = 0
        for size in self.sizes or (len(self),):
            chosen = slice(start, start + size)
            yield PairBatch(self.reader, self.sentences[chosen], self.pieces[chosen])
            start += size

    def maps(self, makers: Sequence[Any]) -> list[MapBatch]:
        """Return what several makers make of one forward pass.

        Args:
            makers: for each map a `CrossMapMaker` if a translator reads the pairs, and a `SimilarityMaker` or a
                `attentionology.extractors.MapMaker` of word maps if an encoder does.

        Raises:
            ModelError: a maker is of another method, or attention is not a distribution, or is not what its weights
                say.
            ValueError: it takes several forward passes to read all pairs, see `passes`.
        """
        if len(self.sizes) > 1:
            raise ValueError(
                f"the pairs are read in {len(self.sizes)} forward passes; make the maps of each of passes()"
            )

        @functools.lru_cache(maxsize=1)
        def exact_of_pair(pair: int) -> list[MapBatch]:
            """Make the maps of one pair for all makers, which are usually asked for it one after the other."""
            [(_, exact_batches)] = self.exact(makers, [pair])
            return exact_batches

        def recompute_by(maker_index: int) -> Recompute:
            """Return the function that makes the maps of one maker again, in float64, when some pairs are asked for."""
            return lambda pairs, _first_layers: [exact_of_pair(pair)[maker_index].maps[0] for pair in pairs]

        batches = self.reader.maps(makers, self.sentences, self.pieces)
        return [replace(batch, recompute=recompute_by(index)) for index, batch in enumerate(batches)]

    def exact(
        self, makers: Sequence[Any], indices: Iterable[int], depths: Mapping[int, int] | None = None
    ) -> Iterator[tuple[list[int], list[MapBatch]]]:
        """Yield some pairs with their maps in float64.

        A translator reads several of the pairs at a time, so that rounding may depend on which pairs these are, in
        the last digits of float64. Encoders read them one by one.

        Args:
            makers: see `maps`.
            indices: the pairs, as 0-based indices into the batch.
            depths: the number of layers that are needed of each pair, at least 1; None for all. There may be more in
                the result.

        Yields:
            the indices of some of the pairs and, for each maker, a batch of their maps.

        Raises:
            ModelError: attention is not a distribution, or is not what its weights say.
        """
        needed = {index: self.reader.n_layers if depths is None else depths[index] for index in indices}
        if not needed:
            return
        double = self.reader.double
        # Pairs of like depth are read together, so that few are read deeper than they need, and of those the longest
        # first, so that few are padded much.
        order = sorted(needed, key=lambda index: (-needed[index], -len(self.pieces[index])))
        for group in cut(order, lambda index: len(self.pieces[index]), double.batching, _EXACT_CELLS, EXACT_PIECES):
            pairs, pieces = [self.sentences[index] for index in group], [self.pieces[index] for index in group]
            batches = double.maps(makers, pairs, pieces, max(needed[index] for index in group))
            yield group, [replace(batch, maps=batch.maps.cpu()) for batch in batches]


def read_pairs(
    reader: PairReader,
    pairs: Iterable[SentencePair],
    *,
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
    gather: int = 1,
) -> Iterator[PairBatch]:
    """Yield batches of sentence pairs, longest first within a window of 1,024 pairs.

    Args:
        reader: the model.
        pairs: read lazily, one window at a time.
        batch_cells: the bound on pairs × pieces² of a batch, where the longer side of a pair counts if
            the sides are read apart.
        too_long, max_length, log: see `attentionology.extractors.extract`; a limit holds for each side that is read
            apart.
        gather: how many pairs a batch should have at least, even if the model reads them in several forward passes. By
            default, each batch is read in one.

    Raises:
        ValueError: an option has a value that cannot be used.
        ExtractionError: a pair cannot be read and ``too_long`` is ``"error"``.
    """
    limits: dict[str, Any] = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": log}
    gathered: list[SentencePair] = []
    pieces: list[Any] = []
    sizes: list[int] = []
    for planned_pairs, planned_pieces, _ in plan(reader, pairs, BATCH_PIECES, noun="sentence pair", **limits):
        gathered += planned_pairs
        pieces += planned_pieces
        sizes.append(len(planned_pairs))
        if len(gathered) >= gather:
            yield PairBatch(reader, tuple(gathered), pieces, tuple(sizes))
            gathered, pieces, sizes = [], [], []
    if gathered:
        yield PairBatch(reader, tuple(gathered), pieces, tuple(sizes))


def extract_cross(
    translator: Translator,
    pairs: Iterable[SentencePair],
    makers: Sequence[CrossMapMaker],
    *,
    batch_cells: int = DEFAULT_BATCH_CELLS,
    too_long: TooLong = "skip",
    max_length: int | None = None,
    log: ExtractionLog | None = None,
) -> Iterator[tuple[MapBatch, ...]]:
    """Yield one map batch per maker for each batch of sentence pairs, all from one forward pass.

    Args:
        translator: the model.
        pairs: read lazily, one window at a time.
        makers: what to make of each pass.
        batch_cells, too_long, max_length, log: see `read_pairs`.

    Raises:
        ValueError: an option has a value that cannot be used.
        ExtractionError: a pair cannot be read and ``too_long`` is ``"error"``.
        ModelError: cross-attention is not a distribution, or is not what its weights say.

    Example:
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> from attentionology.extractors.translation import CrossMapMaker, extract_cross, load_sample_translator
        >>> pair = SentencePair(id="1", source=("bad", "dag"), words=("mä",))
        >>> [(batch,)] = extract_cross(load_sample_translator(), [pair], [CrossMapMaker("norm", "AWI")])
        >>> batch  # one target word, and two source words and the end of the sentence
        MapBatch('norm', word level, 1 sentence, shape (1, 2, 4, 1, 3))
    """
    options: dict[str, Any] = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": log}
    for batch in read_pairs(translator, pairs, **options):
        yield tuple(batch.maps(makers))
