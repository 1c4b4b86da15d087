"""Two texts in one input, such as ``[CLS] first [SEP] second [SEP]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from .pieces import Pieces, positions_of

_Piece = tuple[int, str, int]
"""A piece of an input: its id, the piece itself, and the id of its segment."""


@dataclass(frozen=True)
class PairFrame:
    """The special tokens around a pair, as the tokenizer puts them around two short texts."""

    before: Sequence[_Piece]
    between: Sequence[_Piece]
    after: Sequence[_Piece]
    segment_ids: tuple[int, int]  # of the pieces of both texts

    @classmethod
    def of(cls, tokenizer: Any) -> PairFrame:
        """Read the frame off two short texts, or raise `ModelError`."""
        pieces, (a, b) = _read(tokenizer, "a", "b")
        if not a or not b:
            raise ModelError(f"{type(tokenizer).__name__} does not put its special tokens around two texts")
        before, between, after = pieces[: a[0]], pieces[a[-1] + 1 : b[0]], pieces[b[-1] + 1 :]
        segment_ids = pieces[a[0]][2], pieces[b[0]][2]
        if not before + between + after:
            # Some tokenizers define special tokens for single texts only. What they put after a text is then put
            # between the two texts of a pair as well.
            pieces, (a, _) = _read(tokenizer, "a")
            before, between = pieces[: a[0]], pieces[a[-1] + 1 :]
            after = [(piece, token, segment_ids[1]) for piece, token, _ in between]
        return cls(before, between, after, segment_ids)

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)

    def around(self, first: Pieces, second: Pieces, *, typed: bool) -> Pieces:
        """Put two texts into one input, with segment ids if it is ``typed``, without special tokens that they have."""
        words: list[tuple[int, int] | None] = [None] * len(self.before)
        pieces = list(self.before)
        for number, (text, frame) in enumerate(((first, self.between), (second, self.after))):
            for piece, token, word in zip(text.ids, text.tokens, text.word_of, strict=True):
                if word >= 0:
                    words.append((number, word))
                    pieces.append((piece, token, self.segment_ids[number]))
            words += [None] * len(frame)
            pieces += frame
        positions, special = positions_of(words)
        return Pieces(
            ids=[piece for piece, _, _ in pieces],
            tokens=[token for _, token, _ in pieces],
            positions=positions,
            special=special,
            substituted=first.substituted + second.substituted,
            unknown=first.unknown + second.unknown,
            segment_ids=[segment for _, _, segment in pieces] if typed else None,
        )


def _read(tokenizer: Any, *texts: str) -> tuple[list[_Piece], tuple[list[int], list[int]]]:
    """Read one or two texts with their frame: all pieces, and the indices of those of each text."""
    encoding = tokenizer(*texts).encodings[0]
    first, second = ([i for i, side in enumerate(encoding.sequence_ids) if side == text] for text in (0, 1))
    return list(zip(encoding.ids, encoding.tokens, encoding.type_ids, strict=True)), (first, second)
