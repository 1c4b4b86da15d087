"""Inputs → batches of pieces, in memory that does not depend on the corpus, and a log of what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, Protocol, TypeVar, runtime_checkable

import torch

from ...corpora_loaders import Sentence
from ..errors import ExtractionError
from ..model.conditions import Batching, fitting
from ..tokens.pieces import Unalignable

TooLong = Literal["skip", "error"]

DEFAULT_BATCH_CELLS = 2**16
"""The default bound on sentences × pieces × pieces of one batch: 4 sentences of 128 pieces, or 40 of 40."""

WINDOW = 1024
"""How many sentences are sorted by length at a time."""

_BATCH_PIECES_CPU = 1024  # beyond this the activations of a batch fall out of the cache
_BATCH_PIECES = 16384


@dataclass(frozen=True)
class Skipped:
    """A sentence that gave no map, and the reason.

    Example:
        >>> from attentionology import Sentence, extract, load_encoder
        >>> from attentionology.extractors import ExtractionLog
        >>> sentences = [Sentence("short", ("Hi",)), Sentence("long", ("a", "b", "c", "d"))]
        >>> log = ExtractionLog()
        >>> batches = list(extract(load_encoder("demo"), sentences, max_length=4, log=log))
        >>> log.skipped[0].reason
        'too long: 6 pieces, the limit is 4'
    """

    sentence: Sentence
    reason: str


@dataclass
class ExtractionLog:
    """What happened to the sentences of a corpus. The log is filled while batches are drawn.

    Attributes:
        read: how many sentences gave a map.
        words: how many words these have; those of sentence pairs are the words of both sides.
        unknown_words: how many of their words have a piece that the tokenizer does not know.
        substituted_words: how many words were read as the unknown token because the tokenizer gives no piece for them.
        skipped: the sentences without a map.

    Example:
        >>> from attentionology import Sentence, extract, load_encoder
        >>> from attentionology.extractors import ExtractionLog
        >>> log = ExtractionLog()
        >>> batches = list(extract(load_encoder("demo"), [Sentence.from_text("Cats sleep.")], log=log))
        >>> log
        ExtractionLog(read=1, words=3, unknown_words=0, substituted_words=0, skipped=[])
    """

    read: int = 0
    words: int = 0
    unknown_words: int = 0
    substituted_words: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, sentence: Sentence, reason: str) -> None:
        """Add a sentence that gave no map."""
        self.skipped.append(Skipped(sentence, reason))

    def add(self, other: ExtractionLog) -> None:
        """Add the counts and the skipped sentences of another log."""
        self.read += other.read
        self.words += other.words
        self.unknown_words += other.unknown_words
        self.substituted_words += other.substituted_words
        self.skipped += other.skipped

    def reasons(self) -> str:
        """Say why the first few sentences were skipped, for a message."""
        first = "; ".join(f"{skipped.sentence.id}: {skipped.reason}" for skipped in self.skipped[:3])
        return first + ("; …" if len(self.skipped) > 3 else "")


@runtime_checkable
class Aligned(Protocol):
    """What a model reads of one input. Its length is the number of pieces that a limit holds for."""

    @property
    def extent(self) -> str:
        """How much the model reads, in words."""
        ...

    @property
    def words(self) -> int:
        """How many words the model reads."""
        ...

    @property
    def unknown(self) -> int:
        """How many words have a piece that is the unknown token."""
        ...

    @property
    def substituted(self) -> int:
        """How many words are read as the unknown token because the tokenizer has no piece for them."""
        ...

    def __len__(self) -> int: ...


Input = TypeVar("Input", bound=Sentence)
Input_contra = TypeVar("Input_contra", bound=Sentence, contravariant=True)
Read = TypeVar("Read", bound=Aligned)
Read_co = TypeVar("Read_co", bound=Aligned, covariant=True)
Batch = list[tuple[Input, Read]]
"""Inputs that are read together, each with its pieces."""


@runtime_checkable
class InputReader(Protocol[Input_contra, Read_co]):
    """A model that inputs are cut into batches for: an encoder for sentences, or a translator for sentence pairs."""

    @property
    def device(self) -> torch.device:
        """The device that the model computes on."""
        ...

    @property
    def max_length(self) -> int | None:
        """The largest number of pieces of an input; None if there is no limit."""
        ...

    @property
    def batching(self) -> Batching:
        """Which inputs may be read together."""
        ...

    def align(self, inputs: Sequence[Input_contra], /) -> Sequence[Read_co | Unalignable]:
        """Tokenize inputs and match words with pieces."""
        ...


def plan(
    reader: InputReader[Input, Read],
    inputs: Iterable[Input],
    batch_cells: int,
    max_length: int | None,
    too_long: TooLong,
    log: ExtractionLog,
    *,
    batch_pieces: int | None = None,
    noun: str = "sentence",
) -> Iterator[Batch[Input, Read]]:
    """Yield the batches of `attentionology.extractors.extract` before the model has read them, and fill the log.

    ``batch_pieces`` bounds inputs × pieces of a batch; None is for a bound that suits the device of an encoder.
    """
    limit = min((length for length in (reader.max_length, max_length) if length is not None), default=None)
    if batch_pieces is None:
        batch_pieces = _BATCH_PIECES_CPU if reader.device.type == "cpu" else _BATCH_PIECES
    stream = iter(inputs)
    while window := list(islice(stream, WINDOW)):
        readable: Batch[Input, Read] = []
        for sentence, pieces in zip(window, reader.align(window), strict=True):
            reason = obstacle(pieces, limit)
            if reason is not None or isinstance(pieces, Unalignable):
                leave_out(sentence, f"{noun} {sentence.id!r}", reason or "", too_long, log)
            else:
                readable.append((sentence, pieces))
        readable.sort(key=lambda pair: -len(pair[1]))
        for batch in _cut(readable, batch_cells, batch_pieces, reader.batching):
            yield batch
            log.read += len(batch)
            log.words += sum(pieces.words for _, pieces in batch)
            log.unknown_words += sum(pieces.unknown for _, pieces in batch)
            log.substituted_words += sum(pieces.substituted for _, pieces in batch)


def leave_out(sentence: Sentence, label: str, reason: str, too_long: TooLong, log: ExtractionLog) -> None:
    """Note in the log that an input cannot be read, or raise `ExtractionError` if ``too_long`` is ``"error"``."""
    if too_long == "skip":
        log.skip(sentence, reason)
        return
    location = f"{sentence.file}:{sentence.line}: " if sentence.file else ""
    raise ExtractionError(f"{location}{label}: {reason}")


def obstacle(pieces: Aligned | Unalignable, limit: int | None) -> str | None:
    """Say why an input cannot be read with at most ``limit`` pieces; None if it can be read."""
    if isinstance(pieces, Unalignable):
        return str(pieces)
    if limit is not None and len(pieces) > limit:
        return f"too long: {pieces.extent}, the limit is {limit}"
    return None


def _cut(
    inputs: Batch[Input, Read], batch_cells: int, batch_pieces: int, batching: Batching
) -> Iterator[Batch[Input, Read]]:
    """Cut inputs, longest first, into batches within both bounds that the model may read together."""
    start = 0
    while start < len(inputs):
        n = len(inputs[start][1])
        size = max(1, min(batch_cells // n**2, batch_pieces // n))
        batch = fitting(batching, inputs[start : start + size], lambda pair: len(pair[1]))
        yield batch
        start += len(batch)
