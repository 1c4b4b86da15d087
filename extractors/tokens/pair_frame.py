"""Two texts in one input, such as ``[CLS] first [SEP] second [SEP]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import ModelError
from .pieces import Pieces, positions_of


class _Piece(NamedTuple):
    """A piece of an input."""

    id: int
    token: str
    segment_id: int


@dataclass(frozen=True)
class PairFrame:
    """The special tokens around a pair, as the tokenizer puts them around two short texts.

    Some tokenizers define special tokens for single texts only. What they put after a text is then put between the two
    texts of a pair as well.
    """

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
        segment_ids = pieces[a[0]].segment_id, pieces[b[0]].segment_id
        if not before + between + after:
            pieces, (a, _) = _read(tokenizer, "a")
            before, between = pieces[: a[0]], pieces[a[-1] + 1 :]
            after = [piece._replace(segment_id=segment_ids[1]) for piece in between]
        return cls(before, between, after, segment_ids)

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)

    def around(self, first: Pieces, second: Pieces, *, typed: bool) -> Pieces:
        """Put two texts into one input, without special tokens that they have already.

        The input has segment ids if it is ``typed``.
        """
        pieces: list[tuple[tuple[int, int] | None, _Piece]] = [(None, special) for special in self.before]
        rest = ((first, self.between), (second, self.after))
        for number, (text, frame) in enumerate(rest):
            for piece, token, word in zip(text.ids, text.tokens, text.word_of, strict=True):
                if word >= 0:
                    pieces.append(((number, word), _Piece(piece, token, self.segment_ids[number])))
            pieces += [(None, special) for special in frame]
        positions, special = positions_of(word for word, _ in pieces)
        return Pieces(
            ids=[piece.id for _, piece in pieces],
            tokens=[piece.token for _, piece in pieces],
            positions=positions,
            special=special,
            substituted=first.substituted + second.substituted,
            unknown=first.unknown + second.unknown,
            segment_ids=[piece.segment_id for _, piece in pieces] if typed else None,
        )


def _read(tokenizer: Any, *texts: str) -> tuple[list[_Piece], tuple[list[int], list[int]]]:
    """Read one or two texts with their frame: all pieces, and the indices of those of each text."""
    encoding = tokenizer(*texts).encodings[0]
    first, second = ([i for i, side in enumerate(encoding.sequence_ids) if side == text] for text in (0, 1))
    return list(map(_Piece, encoding.ids, encoding.tokens, encoding.type_ids)), (first, second)
