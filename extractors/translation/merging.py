"""Maps between pieces → maps from target words to source words, for the two ways to say which row is a target word's.

In forced decoding, each piece of the translation is once read by the decoder and once predicted by it. Let q be the
position that reads a piece. Its cross-attention is the row q if the *input* of the decoder is aligned (AWI), and the
row q − 1, which predicts the piece, if its *output* is (AWO; Kobayashi et al. 2020, §5). The position is that of the
piece, never a fixed offset, because models begin the decoder's input with one token or several.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..tokens.pieces import Pieces
from ..tokens.word_merging import WordMerger
from .sides import PairPieces

AlignmentSetting = Literal["AWI", "AWO"]
"""Whether the row of a target piece is that of the position that reads it (AWI) or that predicts it (AWO)."""


class CrossMerger(WordMerger):
    """Merges the pieces of each word on both sides: sum over source pieces, mean over target pieces.

    Columns are source words and the special tokens of the source. Rows are target words; special tokens of the target
    have none.

    Args:
        batch: the pieces of each sentence pair.
        shape: the padded numbers of target and of source pieces.
        setting: which row of the map belongs to a target piece.
        dtype, device: the type and the device of the maps.
    """

    def __init__(
        self,
        batch: Sequence[PairPieces],
        shape: tuple[int, int],
        setting: AlignmentSetting,
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        super().__init__([pair.source for pair in batch], shape[1], dtype=dtype, device=device)
        rows = max(row_count(pair.target) for pair in batch)
        chosen = np.zeros((len(batch), 1, rows, shape[0]), dtype=bool)
        offset = 0 if setting == "AWI" else 1
        for index, pair in enumerate(batch):
            positions, is_special = np.array(pair.target.positions), np.array(pair.target.special)
            first = int(is_special.argmin())
            (pieces,) = np.nonzero(~is_special[positions])
            chosen[index, 0, positions[pieces] - first, pieces - offset] = True
        belongs = torch.from_numpy(chosen).to(dtype)
        sizes = belongs.sum(-1, keepdim=True).clamp(min=1)
        self.from_: Float[Tensor, "batch 1 rows queries"] = (belongs / sizes).to(device)
        self.rows, self.setting = rows, setting

    def in_setting(self, setting: AlignmentSetting) -> CrossMerger:
        """Return the merger of the same pairs for a setting. Both share what they know of the columns."""
        if setting == self.setting:
            return self
        other = copy.copy(self)
        # The first position of the decoder reads no target piece, so that nothing leaves the matrix on either side.
        other.from_, other.setting = self.from_.roll(-1 if setting == "AWO" else 1, -1), setting
        return other

    def merged_columns(self, maps: Float[Tensor, "batch heads queries keys"]) -> Float[Tensor, "batch heads queries k"]:
        """Sum the columns of each source word, which is the same in all settings."""
        batch, heads, queries, keys = maps.shape
        return torch.bmm(maps.reshape(batch, heads * queries, keys), self.to).view(batch, heads, queries, self.k)

    def merged_rows(self, summed: Float[Tensor, "batch heads queries k"]) -> Float[Tensor, "batch heads rows k"]:
        """Return the mean of the rows of each target word, given what `merged_columns` returned."""
        return torch.matmul(self.from_, summed)

    def __call__(
        self, maps: Float[Tensor, "batch heads queries keys"], out: Float[Tensor, "batch heads rows k"]
    ) -> None:
        """Merge the maps of one layer into ``out``."""
        out.copy_(self.merged_rows(self.merged_columns(maps)))


def row_count(target: Pieces) -> int:
    """Count the rows of a map of these decoder inputs: the positions that are not special."""
    return target.special.count(False)


def apart(pieces: PairPieces) -> PairPieces:
    """Return the pieces with every piece as a position of its own."""
    return PairPieces(_apart(pieces.source), _apart(pieces.target))


def _apart(pieces: Pieces) -> Pieces:
    special = [pieces.special[position] for position in pieces.positions]
    return Pieces(pieces.ids, pieces.tokens, list(range(len(pieces))), special, pieces.substituted, pieces.unknown)
