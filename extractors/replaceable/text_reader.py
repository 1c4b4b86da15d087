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
from ..maps.batching import cut, most_pieces, reason_to_skip
from ..model.encoder import Encoder
from ..tokens.pieces import Pieces, Unalignable
from .attention_model import Words, query_of

TextLevel = Literal["word", "piece"]


@dataclass(frozen=True)
class TextReader:
    """Reads texts with the tokenizer of an encoder; at the level ``"piece"``, every piece of a text is a word."""

    encoder: Encoder
    level: str
    batch_cells: int  # the bound on texts × pieces² of what is computed at once

    def reasons(self, texts: Sequence[Words]) -> list[str | None]:
        """Say of each text why it cannot be read; None if it can be."""
        return [None if isinstance(pieces, Pieces) else str(pieces) for pieces in self._align(texts)]

    def pieces(self, texts: Sequence[Words]) -> list[Pieces]:
        """Return the pieces of each text, or raise `ExtractionError`."""
        readable = []
        for text, pieces in zip(texts, self._align(texts), strict=True):
            if isinstance(pieces, Unalignable):
                begin = " ".join(text[:6]) + (" …" if len(text) > 6 else "")
                raise ExtractionError(f"the text {begin!r} cannot be read: {pieces}")
            readable.append(pieces)
        return readable

    def word_of(self, pieces: Sequence[Pieces]) -> Int[Tensor, "batch pieces"]:
        """Return the 0-based word of each piece, −1 at special tokens and padding."""
        words = [torch.tensor(each.word_of) for each in pieces]
        return pad_sequence(words, batch_first=True, padding_value=-1).to(self.encoder.device)

    def batches(self, texts: Sequence[Words], *, unpadded: bool) -> Iterator[list[int]]:
        """Yield the indices of texts to read together, longest first; unpadded ones have equal numbers of pieces."""
        lengths = [len(pieces) for pieces in self.pieces(texts)]
        order = sorted(range(len(texts)), key=lambda i: -lengths[i])
        batching = "equal lengths" if unpadded and self.encoder.batching == "padded" else self.encoder.batching
        yield from cut(order, lengths.__getitem__, batching, self.batch_cells, most_pieces(self.encoder.device))

    def fitting(self, length: int) -> int:
        """Return how many sequences of ``length`` pieces to compute at once; at least one."""
        return max(1, min(self.batch_cells // length**2, most_pieces(self.encoder.device) // length))

    def _align(self, texts: Sequence[Words]) -> list[Pieces | Unalignable]:
        """Return the pieces of each text, with the words of the level, or why it cannot be read."""
        if not texts:
            return []
        aligned: list[Pieces | Unalignable] = []
        sentences = [Sentence(id=str(i), words=tuple(text)) for i, text in enumerate(texts)]
        queries = [query_of(text) for text in texts]
        for pieces in self.encoder.align(sentences, queries if any(queries) else ()):
            reason = reason_to_skip(pieces, self.encoder.max_length)
            if isinstance(pieces, Unalignable) or reason is not None:
                aligned.append(Unalignable(reason))
            elif not len(pieces):
                aligned.append(Unalignable("it has no words, and the tokenizer adds no special tokens"))
            else:
                aligned.append(pieces if self.level == "word" else pieces.unmerged())
        return aligned
