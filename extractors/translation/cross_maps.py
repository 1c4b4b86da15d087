"""Forced decoding of a batch of sentence pairs → maps of its cross-attention, from target words to source words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ...corpora_loaders.alignment import SentencePair
from ...storage.nearest import did_you_mean
from ..kinds import MapKind, get_kind
from ..kinds.attention_block import attn, norm, weight
from ..layers import AttentionBlock
from ..maps.map_batch import Columns, Level, MapBatch, Recompute
from ..maps.map_maker import Merge
from .decoding import ForcedDecoding
from .merging import AlignmentSetting, CrossMerger, apart, row_count
from .sides import PairPieces
from .translator import Translator

CROSS_KINDS: Mapping[str, Callable[[AttentionBlock], Float[Tensor, "batch heads rows columns"]]] = {
    "weight": weight,
    "norm": norm,
    "attn": attn,
}
"""The kinds of maps that cross-attention has: weights and norms per head, and the norm of the sum of all heads."""


@dataclass(frozen=True)
class CrossMapMaker:
    """Makes maps of one kind and setting.

    Attributes:
        kind: one of `CROSS_KINDS`.
        setting: which row is that of a target piece, see `attentionology.extractors.translation.merging`.
        level: ``"word"`` merges the pieces of each word on both sides; ``"token"`` keeps them apart.
        merge: ``"norm"`` merges norms like weights; ``"vector"`` merges the vectors before their norm is taken.

    Raises:
        ValueError: an option has an unknown value, or vectors are to be merged and the kind has none.

    Example:
        >>> from attentionology.extractors.translation import CrossMapMaker
        >>> CrossMapMaker("norm", "AWO").map_kind
        MapKind('norm')
    """

    kind: str = "weight"
    setting: AlignmentSetting = "AWI"
    level: Level = "word"
    merge: Merge = "norm"

    def __post_init__(self) -> None:
        if self.kind not in CROSS_KINDS:
            near = did_you_mean(self.kind, CROSS_KINDS)
            raise ValueError(
                f"cross-attention has no maps of kind {self.kind!r}; choose from: {', '.join(CROSS_KINDS)}{near}"
            )
        for name, allowed in (("setting", AlignmentSetting), ("level", Level), ("merge", Merge)):
            if getattr(self, name) not in get_args(allowed):
                choices = " or ".join(repr(choice) for choice in get_args(allowed))
                raise ValueError(f"{name} must be {choices}, not {getattr(self, name)!r}")
        if self.merge == "vector" and not self.map_kind.vectors:
            raise ValueError(f"map kind {self.kind!r} is not made of vectors that could be merged; use merge='norm'")

    @property
    def map_kind(self) -> MapKind:
        """The registered kind of map."""
        return get_kind(self.kind)

    @property
    def merges_vectors(self) -> bool:
        """Whether vectors are merged before their norm is taken."""
        return self.level == "word" and self.merge == "vector"


def cross_map_batches(
    makers: Sequence[CrossMapMaker],
    translator: Translator,
    pairs: tuple[SentencePair, ...],
    pieces: Sequence[PairPieces],
) -> list[MapBatch]:
    """Return what several makers make of one forward pass."""

    @functools.lru_cache(maxsize=1)
    def exact(index: int) -> list[MapBatch]:
        """Make the maps of one pair in float64 for all makers, which are usually asked for it one after the other."""
        return exact_cross_batches(makers, translator, pairs[index : index + 1], pieces[index : index + 1])

    def recompute(number: int) -> Recompute:
        return lambda indices, _first_layers=None: [exact(index)[number].maps[0] for index in indices]

    batches = _batches(makers, translator, pairs, pieces, _made(makers, translator, pieces))
    return [replace(batch, recompute=recompute(number)) for number, batch in enumerate(batches)]


def exact_cross_batches(
    makers: Sequence[CrossMapMaker],
    translator: Translator,
    pairs: Sequence[SentencePair],
    pieces: Sequence[PairPieces],
    depth: int | None = None,
) -> list[MapBatch]:
    """Return what several makers make of sentence pairs in float64."""
    maps = [of_maker.cpu() for of_maker in _made(makers, translator.double, pieces, depth)]
    return _batches(makers, translator, pairs, pieces, maps)


def _made(
    makers: Sequence[CrossMapMaker], translator: Translator, pieces: Sequence[PairPieces], depth: int | None = None
) -> list[Float[Tensor, "batch layers _ _ _"]]:
    """Decode sentence pairs and make their maps."""
    values = any(maker.map_kind.reads_weights for maker in makers)
    return _cross_maps(makers, translator.decode(pieces, values=values, depth=depth), pieces, translator.name)


def _batches(
    makers: Sequence[CrossMapMaker],
    translator: Translator,
    pairs: Sequence[SentencePair],
    pieces: Sequence[PairPieces],
    maps: Sequence[Float[Tensor, "batch layers _ _ _"]],
) -> list[MapBatch]:
    """Return what the makers have made, with what its rows and columns are."""
    frames = {level: _frame(level, pairs, pieces) for level in {maker.level for maker in makers}}
    batches = []
    for maker, of_maker in zip(makers, maps, strict=True):
        lengths, labels, columns = frames[maker.level]
        batches.append(
            MapBatch(
                maps=of_maker,
                lengths=lengths,
                special=torch.zeros(len(pairs), of_maker.shape[-2], dtype=torch.bool),
                sentences=tuple(pairs),
                labels=labels,
                kind=maker.kind,
                level=maker.level,
                noise=max(maker.map_kind.noise, translator.noise),
                columns=columns,
            )
        )
    return batches


def _frame(
    level: Level, pairs: Sequence[SentencePair], pieces: Sequence[PairPieces]
) -> tuple[Int[Tensor, " batch"], tuple[tuple[str, ...], ...], Columns]:
    """Return the number of rows of each pair, what the rows are, and what the columns are, whatever the kind of map."""
    grouped = _at_level(level, pieces)
    lengths = torch.tensor([row_count(pair.target) for pair in grouped])
    widths = torch.tensor([len(pair.source.special) for pair in grouped])
    special = torch.zeros(len(pieces), int(widths.max()), dtype=torch.bool)
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
    return lengths, tuple(row_labels), Columns(widths, special, tuple(column_labels))


@torch.inference_mode()
def _cross_maps(
    makers: Sequence[CrossMapMaker], forward: ForcedDecoding, pieces: Sequence[PairPieces], name: str
) -> list[Float[Tensor, "batch layers _ _ _"]]:
    """Make the maps of several makers from one forward pass, with zeros outside the sentence pairs."""
    forward.check(name)
    alpha = forward.attentions[0]
    shape = (forward.target_mask.shape[1], forward.source_mask.shape[1])
    mergers: dict[tuple[Level, AlignmentSetting], CrossMerger] = {}
    for level in {maker.level for maker in makers}:
        merger = CrossMerger(_at_level(level, pieces), shape, "AWI", dtype=alpha.dtype, device=alpha.device)
        mergers |= {(level, setting): merger.in_setting(setting) for setting in get_args(AlignmentSetting)}
    by_layer = [_maps_of_layer(makers, forward.layer(number), mergers) for number in range(len(forward.attentions))]
    return [torch.stack(of_maker, dim=1) for of_maker in zip(*by_layer, strict=True)]


def _maps_of_layer(
    makers: Sequence[CrossMapMaker],
    layer: AttentionBlock,
    mergers: Mapping[tuple[Level, AlignmentSetting], CrossMerger],
) -> list[Float[Tensor, "batch _ _ _"]]:
    """Make the maps of one layer. Makers share its map of each kind, and the sums over the pieces of source words."""
    # The sums over source pieces are those of either setting, which is about rows alone.
    of_pieces = functools.cache(lambda kind: CROSS_KINDS[kind](layer))
    of_columns = functools.cache(lambda kind, level: mergers[level, "AWI"].merged_columns(of_pieces(kind)))
    return [
        CROSS_KINDS[maker.kind](layer.grouped(mergers[maker.level, maker.setting]))
        if maker.merges_vectors
        else mergers[maker.level, maker.setting].merged_rows(of_columns(maker.kind, maker.level))
        for maker in makers
    ]


def _at_level(level: Level, pieces: Sequence[PairPieces]) -> Sequence[PairPieces]:
    """Return the pieces with the positions of a level."""
    return pieces if level == "word" else [apart(pair) for pair in pieces]
