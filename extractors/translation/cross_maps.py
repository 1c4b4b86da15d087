"""Forced decoding of a batch of sentence pairs → maps of its cross-attention, from target words to source words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float, Int
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
    """Make the maps of several makers from one forward pass, with zeros outside the sentence pairs.

    Makers of one kind share its map of each layer, and the sums over the pieces of source words.

    Raises:
        ModelError: cross-attention is not a distribution, or is not what its weights say.
    """
    forward.check(name)
    mergers = {level: _merger(forward, pieces, level) for level in _levels(makers)}
    by_maker = [mergers[maker.level].in_setting(maker.setting) for maker in makers]
    results: list[Tensor] = []
    for number, layer in enumerate(forward.layers()):
        whole: dict[str, Tensor] = {}
        summed: dict[tuple[str, Level], Tensor] = {}
        for index, (maker, merger) in enumerate(zip(makers, by_maker, strict=True)):
            if maker.merges_vectors:
                layer_map = CROSS_KINDS[maker.kind](layer.grouped(merger))
            else:
                if maker.kind not in whole:
                    whole[maker.kind] = CROSS_KINDS[maker.kind](layer)
                layer_map = whole[maker.kind]
            if number == 0:
                shape = (len(pieces), len(forward.attentions), layer_map.shape[1], merger.rows, merger.k)
                results.append(layer_map.new_zeros(shape))
            if maker.merges_vectors:
                results[index][:, number] = layer_map
                continue
            if (maker.kind, maker.level) not in summed:
                summed[maker.kind, maker.level] = merger.merged_columns(layer_map)
            merger.merge_rows(summed[maker.kind, maker.level], out=results[index][:, number])
    return results


def _levels(makers: Sequence[CrossMapMaker]) -> list[Level]:
    """Return the levels of the makers, each of them once."""
    return list(dict.fromkeys(maker.level for maker in makers))


def _merger(forward: ForcedDecoding, pieces: Sequence[PairPieces], level: Level) -> CrossMerger:
    alpha = forward.attentions[0]
    shape = (forward.target_mask.shape[1], forward.source_mask.shape[1])
    return CrossMerger(_grouped(level, pieces), shape, "AWI", dtype=alpha.dtype, device=alpha.device)


def _grouped(level: Level, pieces: Sequence[PairPieces]) -> Sequence[PairPieces]:
    """Return the pieces with the positions of a level."""
    return pieces if level == "word" else [apart(pair) for pair in pieces]


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
        grouped = _grouped(level, pieces)
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


def exact_cross_maps(
    makers: Sequence[CrossMapMaker], translator: Translator, pieces: Sequence[PairPieces]
) -> list[list[Float[Tensor, "layers heads rows columns"]]]:
    """Make the maps of sentence pairs in float64.

    Args:
        makers: what to make.
        translator: the model.
        pieces: the pieces of each pair. All are read together.

    Returns:
        for each pair a map for each maker, without padding.

    Raises:
        ModelError: cross-attention is not a distribution, or is not what its weights say.
    """
    forward = translator.double.decode(pieces, values=_read_weights(makers))
    maps = [of_maker.cpu() for of_maker in cross_maps(makers, forward, pieces, translator.name)]
    sizes = [[(row_count(pair.target), len(pair.source.special)) for pair in _grouped(maker.level, pieces)]
             for maker in makers]  # fmt: skip
    return [
        [of_maker[index, ..., : size[index][0], : size[index][1]] for of_maker, size in zip(maps, sizes, strict=True)]
        for index in range(len(pieces))
    ]


def _read_weights(makers: Sequence[CrossMapMaker]) -> bool:
    """Whether a maker reads the weights of the model."""
    return any(maker.map_kind.reads_weights for maker in makers)


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

    maps = cross_maps(makers, translator.decode(pieces, values=_read_weights(makers)), pieces, translator.name)
    frames = {level: _Frame.of(level, pairs, pieces) for level in _levels(makers)}
    return [
        MapBatch(
            maps=maps[number],
            lengths=frames[maker.level].lengths,
            special=torch.zeros(len(pieces), maps[number].shape[-2], dtype=torch.bool),
            sentences=pairs,
            labels=frames[maker.level].labels,
            kind=maker.kind,
            level=maker.level,
            noise=max(maker.map_kind.noise, translator.noise),
            recompute=functools.partial(_recompute, exact, number),
            columns=frames[maker.level].columns,
        )
        for number, maker in enumerate(makers)
    ]


def _recompute(
    exact: Callable[[int], list[Float[Tensor, "layers heads rows columns"]]],
    number: int,
    indices: Sequence[int],
    _first_layers: int | None = None,
) -> list[Float[Tensor, "layers heads rows columns"]]:
    """Return the maps of one of several makers for some pairs."""
    return [exact(index)[number] for index in indices]
