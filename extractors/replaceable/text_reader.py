"""Texts as sequences of words → the pieces that a transformer reads, and the word that each piece belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ...corpora_loaders import Sentence
from ..errors import ExtractionError
from ..maps.batching import cut, most_pieces, obstacle
from ..model.encoder import Encoder
from ..tokens.pieces import Pieces, Unalignable
from .attention_model import Words

TextLevel = Literal["word", "piece"]


@dataclass(frozen=True)
class TextReader:
    """Reads texts with the tokenizer of an encoder.

    At the level ``"piece"``, every piece that is not a special token is a word. ``batch_cells`` is the bound on
    texts × pieces² of what is computed at once.
    """

    encoder: Encoder
    level: str
    batch_cells: int

    def reasons(self, texts: Sequence[Words]) -> list[str | None]:
        """Say of each text why it cannot be read; None if it can be."""
        return [None if isinstance(pieces, Pieces) else str(pieces) for pieces in self._align(texts)]

    def pieces(self, texts: Sequence[Words]) -> list[Pieces]:
        """Return the pieces of each text, or raise `ExtractionError`."""
        read = []
        for text, pieces in zip(texts, self._align(texts), strict=True):
            if isinstance(pieces, Unalignable):
                begin = " ".join(text[:6]) + (" …" if len(text) > 6 else "")
                raise ExtractionError(f"the text {begin!r} cannot be read: {pieces}")
            read.append(pieces)
        return read

    def batches(self, texts: Sequence[Words], *, unpadded: bool) -> Iterator[list[int]]:
        """Yield the indices of texts to read together, longest first; unpadded ones have equal numbers of pieces."""
        lengths = [len(pieces) for pieces in self.pieces(texts)]
        order = sorted(range(len(texts)), key=lambda i: -lengths[i])
        batching = "equal lengths" if unpadded and self.encoder.batching == "padded" else self.encoder.batching
        yield from cut(order, lengths.__getitem__, batching, self.batch_cells, most_pieces(self.encoder.device))

    def fitting(self, length: int) -> int:
        """Return how many sequences of ``length`` pieces to compute at once; at least one."""
        return max(1, min(self.batch_cells // length**2, most_pieces(self.encoder.device) // length))

    def word_of(self, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"]:
        """Return the 0-based word of each piece, −1 at special tokens and padding."""
        rows = [torch.tensor(pieces.word_of) for pieces in batch]
        return pad_sequence(rows, batch_first=True, padding_value=-1).to(self.encoder.device)

    def _align(self, texts: Sequence[Words]) -> list[Pieces | Unalignable]:
        """Return the pieces of each text, or why it cannot be read."""
        if not texts:
            return []
        sentences = [Sentence(id=str(i), words=tuple(text)) for i, text in enumerate(texts)]
        return [self._readable(pieces) for pieces in self.encoder.align(sentences)]

    def _readable(self, pieces: Pieces | Unalignable) -> Pieces | Unalignable:
        """Return the pieces with the words of the level, or why the model cannot read them."""
        if isinstance(pieces, Unalignable):
            return pieces
        if not len(pieces):
            return Unalignable("it has no words, and the tokenizer adds no special tokens")
        if (reason := obstacle(pieces, self.encoder.max_length)) is not None:
            return Unalignable(reason)
        return pieces if self.level == "word" else pieces.apart()
