"""Sentences → batches of pieces, in memory that does not depend on the corpus, and a log of what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from attentionology.corpora_loaders import Sentence
from attentionology.extractors.errors import ExtractionError
from attentionology.extractors.model.conditions import fitting
from attentionology.extractors.model.encoder import Encoder
from attentionology.extractors.tokens.pieces import Pieces, Unalignable

TooLong = Literal["skip", "error"]

DEFAULT_BATCH_CELLS = 2**16
"""Sentences × pieces × pieces of one batch: 4 sentences of 128 pieces, or 40 of 40."""

WINDOW = 1024
"""How many sentences are sorted by length at a time."""

_BATCH_PIECES_CPU = 1024  # beyond this the activations of a batch fall out of the cache
_BATCH_PIECES = 16384


@dataclass(frozen=True)
class Skipped:
    """A sentence that gave no map, and why."""

    sentence: Sentence
    reason: str


@dataclass
class ExtractionLog:
    """What happened to the sentences on the way; filled while batches are drawn.

    Attributes:
        read: sentences that gave a map.
        words: how many words they have.
        unknown_words: words of which the tokenizer does not know some piece.
        substituted_words: words read as the unknown token because they tokenise to nothing.
        skipped: sentences without a map.
    """

    read: int = 0
    words: int = 0
    unknown_words: int = 0
    substituted_words: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def reasons(self) -> str:
        """Why the first few sentences were skipped, for a message."""
        first = "; ".join(f"{one.sentence.id}: {one.reason}" for one in self.skipped[:3])
        return first + ("; …" if len(self.skipped) > 3 else "")


Batch = list[tuple[Sentence, Pieces]]


def plan(
    encoder: Encoder,
    sentences: Iterable[Sentence],
    batch_cells: int,
    max_length: int | None,
    too_long: TooLong,
    log: ExtractionLog,
) -> Iterator[Batch]:
    """The batches of `extract` before the model has read them, and the log filled; arguments as there."""
    limit = min((one for one in (encoder.max_length, max_length) if one is not None), default=None)
    stream = iter(sentences)
    while window := list(islice(stream, WINDOW)):
        readable = []
        for sentence, pieces in zip(window, encoder.align(window), strict=True):
            reason = obstacle(pieces, limit)
            if reason is None and isinstance(pieces, Pieces):
                readable.append((sentence, pieces))
            elif too_long == "skip":
                log.skipped.append(Skipped(sentence, reason or ""))
            else:
                place = f"{sentence.file}:{sentence.line}: " if sentence.file else ""
                raise ExtractionError(f"{place}sentence {sentence.id!r}: {reason}")
        readable.sort(key=lambda pair: -len(pair[1]))
        for batch in _cut(readable, batch_cells, encoder):
            yield batch
            log.read += len(batch)
            log.words += sum(len(sentence) for sentence, _ in batch)
            log.unknown_words += sum(pieces.unknown for _, pieces in batch)
            log.substituted_words += sum(pieces.substituted for _, pieces in batch)


def obstacle(pieces: Pieces | Unalignable, limit: int | None) -> str | None:
    """Why a sentence cannot be read with at most ``limit`` pieces; None if it can."""
    if isinstance(pieces, Unalignable):
        return str(pieces)
    if limit is not None and len(pieces) > limit:
        return f"too long: {len(pieces)} pieces, the limit is {limit}"
    return None


def _cut(sentences: Batch, batch_cells: int, encoder: Encoder) -> Iterator[Batch]:
    """Cut sentences, longest first, into batches within ``batch_cells`` and what device and model do well with."""
    batch_pieces = _BATCH_PIECES_CPU if encoder.device.type == "cpu" else _BATCH_PIECES
    start = 0
    while start < len(sentences):
        n = len(sentences[start][1])
        size = max(1, min(batch_cells // n**2, batch_pieces // n))
        batch = fitting(encoder.batching, sentences[start : start + size], lambda pair: len(pair[1]))
        yield batch
        start += len(batch)
