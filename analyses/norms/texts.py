"""The texts in which the most amplified pairs occur."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...extractors import SharedBatch
    from ..contract import Reader, Request


@dataclass(frozen=True)
class ReadText:
    """A sentence as the model reads it."""

    id: str
    words: tuple[str, ...]
    pieces: tuple[str, ...]  # the pieces of the tokenizer, special tokens included


class _PieceReader:
    """A maker that needs no forward pass: it returns what the model would read."""

    reads_weights = False

    def of(self, batch: SharedBatch) -> list[ReadText]:
        return [
            ReadText(sentence.id, tuple(sentence.words), tuple(pieces.tokens))
            for sentence, pieces in zip(batch.sentences, batch.pieces, strict=True)
        ]


def read_texts(request: Request, keys: Set[int], read: Reader) -> dict[int, ReadText]:
    """Return the sentences with the given keys."""
    from ..shared.resampling import sentence_keys

    def key_of(sentence_id: str) -> int:
        return int(sentence_keys([sentence_id]).view("int64")[0])

    sentences = [sentence for sentence in request.inputs if key_of(sentence.id) in keys]
    if not sentences:
        return {}
    texts = [text for batch in read(sentences, _PieceReader()) for text in batch]
    return {key_of(text.id): text for text in texts}
