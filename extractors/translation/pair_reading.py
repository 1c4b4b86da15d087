"""Sentence pairs → batches that a model reads together, in memory that does not depend on the number of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...corpora_loaders.alignment import SentencePair
from ...corpora_loaders.describing import amount
from ..maps.batching import DEFAULT_BATCH_CELLS, ExtractionLog, TooLong, plan
from ..maps.map_batch import MapBatch
from ..model.conditions import Batching, fitting
from .cross_maps import CrossMapMaker, cross_map_batches, exact_cross_batches
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
        sizes: the number of pairs that each forward pass reads, if it takes several to read all pairs.

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
            stop = start + size
            yield PairBatch(self.reader, self.sentences[start:stop], self.pieces[start:stop])
            start = stop

    def maps(self, makers: Sequence[Any]) -> list[MapBatch]:
        """Return what several makers make of one forward pass.

        Args:
            makers: a `CrossMapMaker` for each map, or what `PairEncoder.maps` takes.

        Raises:
            ModelError: attention is not a distribution, or is not what its weights say.
            ValueError: it takes several forward passes to read all pairs, see `passes`.
        """
        if len(self.sizes) > 1:
            raise ValueError(
                f"the pairs are read in {len(self.sizes)} forward passes; make the maps of each of passes()"
            )
        if isinstance(self.reader, PairEncoder):
            return self.reader.maps(makers, self.sentences, self.pieces)
        return cross_map_batches(makers, self.reader, self.sentences, self.pieces)

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
        reader = self.reader
        if isinstance(reader, PairEncoder):
            for index in indices:
                yield [index], reader.maps(makers, (self.sentences[index],), [self.pieces[index]], exact=True)
            return
        needed = dict.fromkeys(indices, reader.n_layers) if depths is None else {k: depths[k] for k in indices}
        lengths = {index: len(self.pieces[index]) for index in needed}
        for group in exact_groups(lengths, needed, reader.double.batching):
            pairs, pieces = [self.sentences[index] for index in group], [self.pieces[index] for index in group]
            depth = max(needed[index] for index in group)
            yield group, exact_cross_batches(makers, reader, pairs, pieces, depth)


def exact_groups(lengths: Mapping[int, int], depths: Mapping[int, int], batching: Batching) -> Iterator[list[int]]:
    """Cut sentence pairs into groups that a translator reads together in float64, those of like depth together."""
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
    if too_long not in ("skip", "error"):
        raise ValueError(f"too_long must be 'skip' or 'error', not {too_long!r}")
    if batch_cells < 1 or (max_length is not None and max_length < 1):
        raise ValueError("batch_cells and max_length must be at least 1")
    filled = ExtractionLog() if log is None else log
    limits = (batch_cells, max_length, too_long)
    model: Any = reader  # what is read of a pair depends on the model
    waiting: list[list[tuple[SentencePair, Any]]] = []
    for batch in plan(model, pairs, *limits, filled, batch_pieces=BATCH_PIECES, noun="sentence pair"):
        waiting.append(batch)
        if sum(map(len, waiting)) >= gather:
            yield _batch_of(reader, waiting)
            waiting = []
    if waiting:
        yield _batch_of(reader, waiting)


def _batch_of(reader: PairReader, passes: Sequence[Sequence[tuple[SentencePair, Any]]]) -> PairBatch:
    """Return the batch of the pairs of several forward passes."""
    read = [pair_and_pieces for of_pass in passes for pair_and_pieces in of_pass]
    sizes = tuple(map(len, passes)) if len(passes) > 1 else ()
    return PairBatch(reader, tuple(pair for pair, _ in read), [pieces for _, pieces in read], sizes)


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
        ValueError: there is no maker, or an option has a value that cannot be used.
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
    if not makers:
        raise ValueError("no maker is given")
    options: dict[str, Any] = {"batch_cells": batch_cells, "too_long": too_long, "max_length": max_length, "log": log}
    for batch in read_pairs(translator, pairs, **options):
        yield tuple(batch.maps(makers))
