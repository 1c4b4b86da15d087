"""Sentence pairs in one input of an encoder, such as ``[CLS] source [SEP] target [SEP]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..tokens.pieces import Pieces


class JointPieces(Pieces):
    """A sentence pair in one input."""

    @property
    def extent(self) -> str:
        """How much the model reads, in words."""
        return f"{len(self)} pieces of both sides"


@dataclass(frozen=True)
class PairTemplate:
    """What a tokenizer puts before, between and after two texts.

    Attributes:
        parts: the ids before, between and after.
        segments: the segment ids of the same tokens.
        texts: the segment ids of both texts.
    """

    parts: tuple[tuple[int, ...], ...]
    segments: tuple[tuple[int, ...], ...]
    texts: tuple[int, int]

    @classmethod
    def of(cls, tokenizer: Any) -> PairTemplate:
        """Read the template off two short texts."""
        first, second = (tokenizer(text, add_special_tokens=False).input_ids for text in ("a", "b"))
        framed = tokenizer("a", "b")
        ids, segments = framed.input_ids, framed.get("token_type_ids") or [0] * len(framed.input_ids)
        start = _find(ids, first, 0)
        middle = None if start is None else start + len(first)
        next_start = None if middle is None else _find(ids, second, middle)
        if start is None or middle is None or next_start is None:
            raise ModelError(f"{type(tokenizer).__name__} does not put its special tokens around two texts")
        end = next_start + len(second)
        bounds = ((0, start), (middle, next_start), (end, len(ids)))
        return cls(
            tuple(tuple(ids[a:b]) for a, b in bounds),
            tuple(tuple(segments[a:b]) for a, b in bounds),
            (segments[start], segments[next_start]),
        )

    def join(self, tokenizer: Any, source: Pieces, target: Pieces) -> JointPieces:
        """Put the pieces of both sides into one input."""
        ids: list[int] = []
        tokens: list[str] = []
        positions: list[int] = []
        special: list[bool] = []
        segments: list[int] = []
        for number, (part, part_segments) in enumerate(zip(self.parts, self.segments, strict=True)):
            for token, segment in zip(part, part_segments, strict=True):
                ids.append(token)
                tokens.append(str(tokenizer.convert_ids_to_tokens(token)))
                positions.append(len(special))
                special.append(True)
                segments.append(segment)
            if number == len(self.texts):
                break
            side = (source, target)[number]
            words: dict[int, int] = {}
            for piece, token_text, position in zip(side.ids, side.tokens, side.positions, strict=True):
                if side.special[position]:
                    continue
                if position not in words:
                    words[position] = len(special)
                    special.append(False)
                ids.append(piece)
                tokens.append(token_text)
                positions.append(words[position])
                segments.append(self.texts[number])
        substituted, unknown = source.substituted + target.substituted, source.unknown + target.unknown
        return JointPieces(ids, tokens, positions, special, substituted, unknown, segments if any(segments) else None)


def _find(ids: Sequence[int], part: Sequence[int], start: int) -> int | None:
    """Return where a part begins; None if it does not occur."""
    places = (k for k in range(start, len(ids) - len(part) + 1) if list(ids[k : k + len(part)]) == list(part))
    return next(places, None) if part else None
