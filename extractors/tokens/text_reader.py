"""Texts as sequences of words → the pieces that a transformer reads, and the word that each piece belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from ...corpora_loaders import Sentence
from ..errors import ExtractionError
from ..maps.batching import obstacle
from ..model.conditions import fitting
from ..model.encoder import Encoder
from ..replaceable.attention_model import Words
from .pieces import Pieces, Unalignable

TextLevel = Literal["word", "piece"]

_TOGETHER_CPU, _TOGETHER = 1024, 16384  # pieces of a batch, see `attentionology.extractors.maps.extraction`


@dataclass(frozen=True)
class TextReader:
    """Reads texts with the tokenizer of an encoder.

    Attributes:
        encoder: the model and its tokenizer.
        level: ``"word"``, or ``"piece"`` to treat every piece that is not a special token as a word.
        batch_cells: the bound on texts × pieces² of what is computed at once.
    """

    encoder: Encoder
    level: str
    batch_cells: int

    def reasons(self, texts: Sequence[Words]) -> list[str | None]:
        """Say of each text why it cannot be read; None if it can be."""
        return [reason for _, reason in self._align(texts)]

    def pieces(self, texts: Sequence[Words]) -> list[Pieces]:
        """The pieces of each text."""
        read = []
        for text, (pieces, reason) in zip(texts, self._align(texts), strict=True):
            if reason is not None or isinstance(pieces, Unalignable):
                begin = " ".join(text[:6]) + (" …" if len(text) > 6 else "")
                raise ExtractionError(f"the text {begin!r} cannot be read: {reason}")
            read.append(pieces)
        return read

    def batches(self, texts: Sequence[Words], *, unpadded: bool) -> Iterator[list[int]]:
        """Yield the indices of texts to read together, longest first; unpadded ones have equal numbers of pieces."""
        lengths = [len(pieces) for pieces in self.pieces(texts)]
        order = sorted(range(len(texts)), key=lambda i: -lengths[i])
        while order:
            longest = lengths[order[0]]
            batch = order[: self.fitting(longest)]
            if unpadded:
                batch = fitting("equal lengths", batch, lengths.__getitem__)
            batch = fitting(self.encoder.batching, batch, lengths.__getitem__)
            yield batch
            del order[: len(batch)]

    def fitting(self, length: int) -> int:
        """Return how many sequences of ``length`` pieces to compute at once; at least one."""
        together = _TOGETHER_CPU if self.encoder.device.type == "cpu" else _TOGETHER
        return max(1, min(self.batch_cells // length**2, together // length))

    def words(self, pieces: Pieces) -> Int[Tensor, " words"]:
        """Return the 0-based positions of the words of a text in its map: word positions, or the pieces themselves."""
        special = torch.tensor(pieces.special)
        return torch.nonzero(~(special if self.level == "word" else special[pieces.positions])).flatten()

    def word_of(self, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"]:
        """Return the 0-based word of each piece, −1 at special tokens and padding."""
        n = max(map(len, batch))
        word_of = torch.full((len(batch), n), -1)
        for row, pieces in enumerate(batch):
            positions = torch.tensor(pieces.positions) if self.level == "word" else torch.arange(len(pieces))
            number = torch.full((len(pieces),), -1)
            words = self.words(pieces)
            number[words] = torch.arange(len(words))
            word_of[row, : len(pieces)] = number[positions]
        return word_of.to(self.encoder.device)

    def _align(self, texts: Sequence[Words]) -> list[tuple[Pieces | Unalignable, str | None]]:
        if not texts:
            return []
        sentences = [Sentence(id=str(i), words=tuple(text)) for i, text in enumerate(texts)]
        aligned = self.encoder.align(sentences)
        return [(pieces, self._obstacle(pieces)) for pieces in aligned]

    def _obstacle(self, pieces: Pieces | Unalignable) -> str | None:
        if isinstance(pieces, Pieces) and not len(pieces):
            return "it has no words, and the tokenizer adds no special tokens"
        return obstacle(pieces, self.encoder.max_length)
