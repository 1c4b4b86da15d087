"""Forced decoding of a batch of sentence pairs → maps of its cross-attention, from target words to source words.

Let q be the position at which the decoder reads a piece of the translation. The cross-attention of the piece is the row
q if the *input* of the decoder is aligned (AWI), and the row q − 1, which predicts the piece, if its *output* is (AWO;
Kobayashi et al. 2020, §5). The decoder's input may begin with several tokens, so q is found by the piece.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...corpora_loaders.alignment import SentencePair
from ...storage.nearest import did_you_mean
from ..kinds import MapKind, get_kind
from ..kinds.attention_block import attn, norm, weight
from ..layers import AttentionBlock
from ..layers.verification import check_attention
from ..maps.map_batch import Columns, Level, MapBatch
from ..maps.map_maker import Merge, check_options
from ..tokens.pieces import PairPieces
from ..tokens.word_merging import WordMerger, word_means
from .decoding import ForcedDecoding

AlignmentSetting = Literal["AWI", "AWO"]
"""Whether the row of a target piece is that of the position that reads it (AWI) or that predicts it (AWO)."""

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
        setting: which row is that of a target piece, see `attentionology.extractors.translation.cross_maps`.
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
        check_options(self, self.map_kind, setting=AlignmentSetting, level=Level, merge=Merge)

    @property
    def map_kind(self) -> MapKind:
        """The registered kind of map."""
        return get_kind(self.kind)


class CrossMerger(WordMerger):
    """Merges the pieces of each word on both sides: sum over source pieces, mean over target pieces.

    Columns are source words and the special tokens of the source. Rows are target words, in the setting AWI. They are
    merged in two steps, `sum_columns` and a product with ``mean_matrix``, because makers share the first.
    """

    def __init__(self, batch: Sequence[PairPieces], alpha: Float[Tensor, "batch heads queries keys"]) -> None:
        queries, keys = alpha.shape[-2:]
        super().__init__([pair.source for pair in batch], keys, dtype=alpha.dtype, device=alpha.device)
        means = word_means([pair.target for pair in batch], queries, alpha.dtype)
        self.mean_matrix: Float[Tensor, "batch 1 rows queries"] = means.unsqueeze(1).to(alpha.device)

    def predicting(self) -> CrossMerger:
        """Return the merger of the same pairs in the setting AWO, with the same columns and every row one above."""
        # The first position of the decoder reads no target piece, so that no row leaves the matrix.
        other = copy.copy(self)
        other.mean_matrix = self.mean_matrix.roll(-1, -1)
        return other


@torch.inference_mode()
def cross_map_batches(
    makers: Sequence[CrossMapMaker],
    forward: ForcedDecoding,
    pairs: Sequence[SentencePair],
    pieces: Sequence[PairPieces],
    label: str,
    noise: float,
) -> list[MapBatch]:
    """Return what several makers make of one forward pass, with zeros outside the sentence pairs.

    ``label`` is the name of the model in errors, ``noise`` that of its cross-attention, see `MapBatch.noise`.
    """
    check_attention(forward.attentions, forward.target_mask, forward.source_mask, label, "cross-attention")
    # Of each level: the lengths and labels of rows, which are target words, and the columns, which are source words.
    rows_and_columns: dict[Level, tuple[Tensor, tuple[tuple[str, ...], ...], Columns]] = {}
    mergers: dict[tuple[Level, AlignmentSetting], CrossMerger] = {}
    for level in {maker.level for maker in makers}:
        # At token level, every piece is a word, so that the same mergers only drop the special tokens of the target.
        at_level = pieces if level == "word" else [PairPieces(p.source.unmerged(), p.target.unmerged()) for p in pieces]
        rows_and_columns[level] = _rows_and_columns(level, pairs, at_level)
        mergers[level, "AWI"] = CrossMerger(at_level, forward.attentions[0])
        mergers[level, "AWO"] = mergers[level, "AWI"].predicting()  # rows of the pieces that predict, not those read
    # Layer by layer, because what is recomputed of a layer for all makers is then dropped.
    by_layer = [_maps_of_layer(makers, forward.layer(number), mergers) for number in range(len(forward.attentions))]
    batches = []
    for maker, layers in zip(makers, zip(*by_layer, strict=True), strict=True):
        lengths, labels, columns = rows_and_columns[maker.level]
        maps = torch.stack(layers, dim=1)
        batches.append(
            MapBatch(
                maps=maps,
                lengths=lengths,
                special=torch.zeros(len(pairs), maps.shape[-2], dtype=torch.bool),
                sentences=tuple(pairs),
                labels=labels,
                kind=maker.kind,
                level=maker.level,
                noise=max(maker.map_kind.noise, noise),
                columns=columns,
            )
        )
    return batches


def _maps_of_layer(
    makers: Sequence[CrossMapMaker],
    layer: AttentionBlock,
    mergers: Mapping[tuple[Level, AlignmentSetting], CrossMerger],
) -> list[Float[Tensor, "batch _ _ _"]]:
    """Make the maps of one layer. Makers share its map of each kind, with the sums over the pieces of source words."""
    summed: dict[tuple[str, Level], Tensor] = {}  # by kind and level, because the settings differ in their rows alone
    maps = []
    for maker in makers:
        make_map, merger = CROSS_KINDS[maker.kind], mergers[maker.level, maker.setting]
        if maker.merge == "vector" and maker.level == "word":  # vectors are merged before there is a map to share
            maps.append(make_map(layer.grouped(merger)))
        else:
            key = maker.kind, maker.level
            if key not in summed:
                summed[key] = merger.sum_columns(make_map(layer))
            maps.append(torch.matmul(merger.mean_matrix, summed[key]))  # the means over the pieces of target words
    return maps


def _rows_and_columns(
    level: Level, pairs: Sequence[SentencePair], pieces: Sequence[PairPieces]
) -> tuple[Int[Tensor, " batch"], tuple[tuple[str, ...], ...], Columns]:
    """Return the number of rows of each pair and their labels, and the columns, which are those of all kinds of map."""
    n_rows = torch.tensor([pair.target.words for pair in pieces])
    n_columns = torch.tensor([len(pair.source.special) for pair in pieces])
    is_special = pad_sequence([torch.tensor(pair.source.special) for pair in pieces], batch_first=True)
    if level == "word":
        row_labels = tuple(pair.words for pair in pairs)
        column_labels = tuple(p.source.labels(pair.source) for pair, p in zip(pairs, pieces, strict=True))
    else:
        targets = [pair.target for pair in pieces]
        # Special tokens, which belong to no word, are columns but no rows.
        row_labels = tuple(tuple(compress(target.tokens, [word >= 0 for word in target.word_of])) for target in targets)
        column_labels = tuple(tuple(pair.source.tokens) for pair in pieces)
    return n_rows, row_labels, Columns(n_columns, is_special, column_labels)
