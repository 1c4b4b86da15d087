"""Forced decoding of a batch of sentence pairs → maps of its cross-attention, from target words to source words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor

from ...storage.nearest import did_you_mean
from ..kinds import MapKind, get_kind
from ..kinds.attention_block import attn, norm
from ..kinds.weight import weight
from ..layers import AttentionBlock
from ..maps.map_batch import Level
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


@torch.inference_mode()
def cross_maps(
    makers: Sequence[CrossMapMaker],
    forward: ForcedDecoding,
    pieces: Sequence[PairPieces],
    name: str = "",
    layers: Collection[int] | None = None,
) -> list[Float[Tensor, "batch layers heads rows columns"]]:
    """Make the maps of several makers from one forward pass, with zeros outside the sentence pairs.

    Makers of one kind share its map of each layer, and the sums over the pieces of source words.

    Args:
        makers: what to make.
        forward: the forward pass.
        pieces: the pieces of each pair.
        name: the name of the model, for messages.
        layers: the layers to make maps of, 0-based; None for all. The maps of the others are 0.

    Raises:
        ModelError: cross-attention is not a distribution, or is not what its weights say.
    """
    forward.check(name)
    mergers = {level: _merger(forward, pieces, level) for level in levels_of(makers)}
    by_maker = [mergers[maker.level].in_setting(maker.setting) for maker in makers]
    results: list[Tensor] = []
    for number in range(len(forward.attentions)) if layers is None else sorted(layers):
        layer = forward.layer(number)
        whole: dict[str, Tensor] = {}
        summed: dict[tuple[str, Level], Tensor] = {}
        for index, (maker, merger) in enumerate(zip(makers, by_maker, strict=True)):
            if maker.merges_vectors:
                layer_map = CROSS_KINDS[maker.kind](layer.grouped(merger))
            else:
                if maker.kind not in whole:
                    whole[maker.kind] = CROSS_KINDS[maker.kind](layer)
                layer_map = whole[maker.kind]
            if len(results) == index:
                shape = (len(pieces), len(forward.attentions), layer_map.shape[1], merger.rows, merger.k)
                results.append(layer_map.new_zeros(shape))
            if maker.merges_vectors:
                results[index][:, number] = layer_map
                continue
            if (maker.kind, maker.level) not in summed:
                summed[maker.kind, maker.level] = merger.merged_columns(layer_map)
            merger.merge_rows(summed[maker.kind, maker.level], out=results[index][:, number])
    return results


def levels_of(makers: Sequence[CrossMapMaker]) -> list[Level]:
    """Return the levels of the makers, each of them once."""
    return list(dict.fromkeys(maker.level for maker in makers))


def _merger(forward: ForcedDecoding, pieces: Sequence[PairPieces], level: Level) -> CrossMerger:
    alpha = forward.attentions[0]
    shape = (forward.target_mask.shape[1], forward.source_mask.shape[1])
    return CrossMerger(at_level(level, pieces), shape, "AWI", dtype=alpha.dtype, device=alpha.device)


def at_level(level: Level, pieces: Sequence[PairPieces]) -> Sequence[PairPieces]:
    """Return the pieces with the positions of a level."""
    return pieces if level == "word" else [apart(pair) for pair in pieces]


def exact_cross_maps(
    makers: Sequence[CrossMapMaker],
    translator: Translator,
    pieces: Sequence[PairPieces],
    layers: Collection[int] | None = None,
) -> list[list[Float[Tensor, "layers heads rows columns"]]]:
    """Make the maps of sentence pairs in float64.

    Args:
        makers: what to make.
        translator: the model.
        pieces: the pieces of each pair. All are read together.
        layers: the layers to make maps of, 0-based; None for all. The decoder is run up to the last of these, and the
            maps of other layers are 0 or missing.

    Returns:
        for each pair a map for each maker, without padding.

    Raises:
        ModelError: cross-attention is not a distribution, or is not what its weights say.
    """
    depth = None if layers is None else max(layers) + 1
    forward = translator.double.decode(pieces, values=read_weights(makers), depth=depth)
    maps = [of_maker.cpu() for of_maker in cross_maps(makers, forward, pieces, translator.name, layers)]
    sizes = [[(row_count(pair.target), len(pair.source.special)) for pair in at_level(maker.level, pieces)]
             for maker in makers]  # fmt: skip
    return [
        [of_maker[index, ..., : size[index][0], : size[index][1]] for of_maker, size in zip(maps, sizes, strict=True)]
        for index in range(len(pieces))
    ]


def read_weights(makers: Sequence[CrossMapMaker]) -> bool:
    """Whether a maker reads the weights of the model."""
    return any(maker.map_kind.reads_weights for maker in makers)
