"""Maps of the cross-attention of a batch of sentence pairs, with what their rows and columns are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ...corpora_loaders.alignment import SentencePair
from ..maps.map_batch import Columns, Level, MapBatch, Recompute
from .cross_maps import (
    CrossMapMaker,
    at_level,
    cross_maps,
    exact_cross_maps,
    levels_of,
    read_weights,
)
from .merging import row_count
from .sides import PairPieces
from .translator import Translator


def cross_map_batches(
    makers: Sequence[CrossMapMaker],
    translator: Translator,
    pairs: tuple[SentencePair, ...],
    pieces: Sequence[PairPieces],
) -> list[MapBatch]:
    """Return what several makers make of one forward pass.

    Args:
        makers: what to make.
        translator: the model.
        pairs: the sentence pairs.
        pieces: the pieces of each pair.

    Raises:
        ModelError: cross-attention is not a distribution, or is not what its weights say.
    """

    @functools.lru_cache(maxsize=1)
    def exact(index: int) -> list[Float[Tensor, "layers heads rows columns"]]:
        """Make all maps of one pair in float64."""
        return exact_cross_maps(makers, translator, [pieces[index]])[0]

    maps = cross_maps(makers, translator.decode(pieces, values=read_weights(makers)), pieces, translator.name)
    frames = {level: _Frame.of(level, pairs, pieces) for level in levels_of(makers)}
    return [
        _batch_of(
            maker, translator, pairs, maps[number], frames[maker.level], functools.partial(_recompute, exact, number)
        )
        for number, maker in enumerate(makers)
    ]


def exact_cross_batches(
    makers: Sequence[CrossMapMaker],
    translator: Translator,
    pairs: Sequence[SentencePair],
    pieces: Sequence[PairPieces],
) -> list[list[MapBatch]]:
    """Make the maps of sentence pairs in float64, and return a batch of one pair for each pair and maker.

    Args:
        makers: what to make.
        translator: the model.
        pairs: the sentence pairs.
        pieces: the pieces of each pair. All are read together.

    Raises:
        ModelError: cross-attention is not a distribution, or is not what its weights say.
    """
    by_pair = exact_cross_maps(makers, translator, pieces)
    batches = []
    for pair, pair_pieces, maps in zip(pairs, pieces, by_pair, strict=True):
        frames = {level: _Frame.of(level, [pair], [pair_pieces]) for level in levels_of(makers)}
        batches.append(
            [
                _batch_of(maker, translator, (pair,), of_maker[None], frames[maker.level])
                for maker, of_maker in zip(makers, maps, strict=True)
            ]
        )
    return batches


def _batch_of(
    maker: CrossMapMaker,
    translator: Translator,
    pairs: tuple[SentencePair, ...],
    maps: Float[Tensor, "batch layers heads rows columns"],
    frame: _Frame,
    recompute: Recompute | None = None,
) -> MapBatch:
    """Return what a maker has made, with what its rows and columns are."""
    return MapBatch(
        maps=maps,
        lengths=frame.lengths,
        special=torch.zeros(len(pairs), maps.shape[-2], dtype=torch.bool),
        sentences=pairs,
        labels=frame.labels,
        kind=maker.kind,
        level=maker.level,
        noise=max(maker.map_kind.noise, translator.noise),
        recompute=recompute,
        columns=frame.columns,
    )


def _recompute(
    exact: Callable[[int], list[Float[Tensor, "layers heads rows columns"]]],
    number: int,
    indices: Sequence[int],
    _first_layers: int | None = None,
) -> list[Float[Tensor, "layers heads rows columns"]]:
    """Return the maps of one of several makers for some pairs."""
    return [exact(index)[number] for index in indices]


@dataclass(frozen=True, eq=False)
class _Frame:
    """What the rows and columns of a batch of maps are, whatever their kind.

    Attributes:
        lengths: the number of rows of each pair.
        labels: what the rows are.
        columns: what the columns are.
    """

    lengths: Int[Tensor, " batch"]
    labels: tuple[tuple[str, ...], ...]
    columns: Columns

    @classmethod
    def of(cls, level: Level, pairs: Sequence[SentencePair], pieces: Sequence[PairPieces]) -> _Frame:
        """Read the rows and columns off sentence pairs and their pieces."""
        grouped = at_level(level, pieces)
        rows = torch.tensor([row_count(pair.target) for pair in grouped])
        columns = torch.tensor([len(pair.source.special) for pair in grouped])
        special = torch.zeros(len(pieces), int(columns.max()), dtype=torch.bool)
        row_labels, column_labels = [], []
        for index, (pair, pair_pieces) in enumerate(zip(pairs, pieces, strict=True)):
            source, target = pair_pieces.source, pair_pieces.target
            is_special = grouped[index].source.special
            special[index, : len(is_special)] = torch.tensor(is_special)
            if level == "word":
                words = iter(pair.source)
                of_columns = zip(source.tokens, source.positions, strict=True)
                specials = (token for token, position in of_columns if is_special[position])
                column_labels.append(tuple(next(specials) if flag else next(words) for flag in is_special))
                row_labels.append(pair.words)
            else:
                of_rows = zip(target.tokens, target.positions, strict=True)
                column_labels.append(tuple(source.tokens))
                row_labels.append(tuple(token for token, position in of_rows if not target.special[position]))
        return cls(rows, tuple(row_labels), Columns(columns, special, tuple(column_labels)))
