"""Forced decoding of a batch of sentence pairs → maps of its cross-attention, from target words to source words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor

from attentionology.corpora_loaders.alignment import SentencePair
from attentionology.extractors.kinds import MapKind, get_kind
from attentionology.extractors.kinds.attention_block import attn, norm
from attentionology.extractors.kinds.weight import weight
from attentionology.extractors.layers import AttentionBlock
from attentionology.extractors.maps.map_batch import Columns, Level, MapBatch
from attentionology.extractors.maps.map_maker import Merge
from attentionology.extractors.translation.decoding import ForcedDecoding
from attentionology.extractors.translation.merging import AlignmentSetting, CrossMerger, apart, row_count
from attentionology.extractors.translation.sides import PairPieces
from attentionology.extractors.translation.translator import Translator

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
            raise ValueError(
                f"cross-attention has no maps of kind {self.kind!r}; choose from: {', '.join(CROSS_KINDS)}"
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


@torch.inference_mode()
def cross_maps(
    makers: Sequence[CrossMapMaker], forward: ForcedDecoding, pieces: Sequence[PairPieces], name: str = ""
) -> list[Float[Tensor, "batch layers heads rows columns"]]:
    """Make the maps of several makers from one forward pass. Makers of one kind share its map of each layer.

    Raises:
        ModelError: cross-attention is not a distribution, or is not what its weights say.
    """
    forward.check(name)
    mergers = {(maker.setting, maker.level): _merger(forward, pieces, maker.setting, maker.level) for maker in makers}
    results: list[Tensor] = []
    for number, layer in enumerate(forward.layers()):
        whole: dict[str, Tensor] = {}
        for index, maker in enumerate(makers):
            merger = mergers[maker.setting, maker.level]
            if maker.merges_vectors:
                layer_map = CROSS_KINDS[maker.kind](layer.grouped(merger))
            else:
                layer_map = whole[maker.kind] if maker.kind in whole else CROSS_KINDS[maker.kind](layer)
                whole[maker.kind] = layer_map
            if number == 0:
                shape = (len(pieces), len(forward.attentions), layer_map.shape[1], merger.rows, merger.k)
                results.append(layer_map.new_zeros(shape))
            if maker.merges_vectors:
                results[index][:, number] = layer_map
            else:
                merger(layer_map, out=results[index][:, number])
    return [_inside(maps, maker, pieces) for maps, maker in zip(results, makers, strict=True)]


def _merger(
    forward: ForcedDecoding, pieces: Sequence[PairPieces], setting: AlignmentSetting, level: Level
) -> CrossMerger:
    alpha = forward.attentions[0]
    grouped = pieces if level == "word" else [apart(pair) for pair in pieces]
    shape = (forward.target_mask.shape[1], forward.source_mask.shape[1])
    return CrossMerger(grouped, shape, setting, dtype=alpha.dtype, device=alpha.device)


def _inside(maps: Tensor, maker: CrossMapMaker, pieces: Sequence[PairPieces]) -> Tensor:
    """Set maps to zero outside their sentence pairs."""
    rows, columns = _sizes(maker.level, pieces)
    inside = (torch.arange(maps.shape[-2]) < rows[:, None])[:, :, None] & (
        torch.arange(maps.shape[-1]) < columns[:, None]
    )[:, None, :]
    if not inside.all():
        maps.masked_fill_(~inside[:, None, None].to(maps.device), 0)
    return maps


def _sizes(level: Level, pieces: Sequence[PairPieces]) -> tuple[Tensor, Tensor]:
    """Count the rows and the columns of each pair."""
    grouped = pieces if level == "word" else [apart(pair) for pair in pieces]
    rows = torch.tensor([row_count(pair.target) for pair in grouped])
    return rows, torch.tensor([len(pair.source.special) for pair in grouped])


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
    values = any(maker.map_kind.reads_weights for maker in makers)

    @functools.lru_cache(maxsize=1)
    def exact(index: int) -> list[Float[Tensor, "layers heads rows columns"]]:
        """Make all maps of one pair in float64. Without padding, they cannot depend on the other pairs."""
        forward = translator.double.decode([pieces[index]], values=values)
        return [maps[0].cpu() for maps in cross_maps(makers, forward, [pieces[index]], translator.name)]

    maps = cross_maps(makers, translator.decode(pieces, values=values), pieces, translator.name)
    return [
        _map_batch(number, maker, maps[number], translator, pairs, pieces, exact) for number, maker in enumerate(makers)
    ]


def _map_batch(
    number: int,
    maker: CrossMapMaker,
    maps: Float[Tensor, "batch layers heads rows columns"],
    translator: Translator,
    pairs: tuple[SentencePair, ...],
    pieces: Sequence[PairPieces],
    exact: Callable[[int], list[Float[Tensor, "layers heads rows columns"]]],
) -> MapBatch:
    def recompute(indices: Sequence[int]) -> list[Float[Tensor, "layers heads rows columns"]]:
        return [exact(index)[number] for index in indices]

    rows, columns = _sizes(maker.level, pieces)
    special = torch.zeros(len(pieces), maps.shape[-1], dtype=torch.bool)
    row_labels, column_labels = [], []
    for index, (pair, pair_pieces) in enumerate(zip(pairs, pieces, strict=True)):
        source, target = pair_pieces.source, pair_pieces.target
        if maker.level == "word":
            is_special = source.special
            words = iter(pair.source)
            specials = (token for token, k in zip(source.tokens, source.positions, strict=True) if source.special[k])
            column_labels.append(tuple(next(specials) if flag else next(words) for flag in source.special))
            row_labels.append(pair.words)
        else:
            is_special = [source.special[position] for position in source.positions]
            column_labels.append(tuple(source.tokens))
            of_words = zip(target.tokens, target.positions, strict=True)
            row_labels.append(tuple(token for token, position in of_words if not target.special[position]))
        special[index, : len(is_special)] = torch.tensor(is_special)
    return MapBatch(
        maps=maps,
        lengths=rows,
        special=torch.zeros(len(pieces), maps.shape[-2], dtype=torch.bool),
        sentences=pairs,
        labels=tuple(row_labels),
        kind=maker.kind,
        level=maker.level,
        noise=max(maker.map_kind.noise, translator.noise),
        recompute=recompute,
        columns=Columns(columns, special, tuple(column_labels)),
    )
