"""The map type: attention-like maps of a batch of sentences, the thing every analysis and probe takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentionology.corpora_loaders import Sentence
from attentionology.extractors.maps.batch_line import batch_line

Level = Literal["word", "token"]
Recompute = Callable[[Sequence[int]], list[Float[Tensor, "layers heads n n"]]]

DIRECTIONS = ("dep->head", "head->dep")
"""How attention may point from a word to its syntactic head. ``dep->head``: the dependent attends to it (row of the
map). ``head->dep``: it attends to the dependent (column; the code of Clark et al. 2019 calls it ``head<-dep``)."""

FLOAT32_NOISE = 2e-5
"""Relative difference below which two float32 values of most kinds of maps must not be compared; see `MapBatch.exact`.

Attention weights and norms of vectors are that precise; kinds made of differences say otherwise where they are
registered. Measured over 60,000 close decisions of a 6-layer model in three languages, the relative difference of
the two best candidates is off by at most 1.6e-5 in float32 (in 99.99 % of them by less than 7e-6); of a 12-layer
model by at most 9e-6. `attentionology.extractors.model.doctor` measures it for any model.
"""


@dataclass(frozen=True, repr=False)
class MapBatch:
    """Maps of a batch of sentences, padded to the longest.

    Rows are where attention comes *from* (query), columns where it goes *to* (key). A position is a special
    token or, at word level, a word; at token level, a piece. Arrays are 0-based; what people read is 1-based.

    Attributes:
        maps: shape (batch, layers, heads, n, n), float32, 0 outside the sentence.
        lengths: number of positions of each sentence, special tokens included; shape (batch,).
        special: True at special tokens; shape (batch, n).
        sentences: the sentences, in batch order.
        labels: for each sentence what stands at each position, pieces as the tokenizer writes them.
        forms: the same as text, without the tokenizer's marks.
        kind: name of the map kind, see `attentionology.extractors.kinds`.
        level: ``"word"`` or ``"token"``.
        noise: relative difference below which two values must not be compared, see `exact`.
        recompute: how `exact` gets its maps; None where there is no model behind the batch.
    """

    maps: Float[Tensor, "batch layers heads n n"]
    lengths: Int[Tensor, " batch"]
    special: Bool[Tensor, "batch n"]
    sentences: tuple[Sentence, ...]
    labels: tuple[tuple[str, ...], ...] = ()
    forms: tuple[tuple[str, ...], ...] = ()
    kind: str = "weight"
    level: Level = "word"
    noise: float = FLOAT32_NOISE
    recompute: Recompute | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        return batch_line(self, [repr(self.kind), f"{self.level} level"], self.sentences, self.maps)

    @property
    def words(self) -> Bool[Tensor, "batch n"]:
        """True at words (at token level: at their pieces), False at special tokens and padding."""
        inside = torch.arange(self.maps.shape[-1]) < self.lengths[:, None]
        return inside & ~self.special

    def unpadded(self) -> Iterator[tuple[Sentence, npt.NDArray[np.float32]]]:
        """Yield ``(sentence, array)`` with the array cut to the sentence: shape (layers, heads, n, n)."""
        for sentence, length, maps in zip(self.sentences, self.lengths.tolist(), self.maps, strict=True):
            yield sentence, maps[..., :length, :length].cpu().numpy()

    def exact(self, indices: Sequence[int]) -> list[Float[Tensor, "layers heads n n"]]:
        """Maps of some sentences of the batch, cut to the sentence, recomputed in double precision.

        For decisions that float32 cannot make: rounding differs with batch size, padding and threads, so two
        values that agree to within it must not be compared in float32. Without a model behind the batch
        these are the maps as they stand.
        """
        if self.recompute is not None:
            return self.recompute(indices)
        lengths = self.lengths.tolist()
        return [self.maps[i, ..., : lengths[i], : lengths[i]] for i in indices]
