"""Inputs → batches of pieces, in memory that does not depend on the corpus, and a log of what was left out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, TypeVar

import torch

from ...corpora_loaders import Sentence
from ...corpora_loaders.alignment import SentencePair
from ...storage.nearest import check_choice
from ..errors import ExtractionError
from ..model.conditions import Batching
from ..model.loaded_model import LoadedModel
from ..tokens.pieces import PairPieces, Pieces, Segment, Unalignable
from ..tokens.text_fit import TextFit

TooLong = Literal["skip", "error"]
T = TypeVar("T")
_Window = tuple[list[Any], Sequence[Any]]  # inputs, and the pieces of each or the reason why it has none
_Read = tuple[Sentence, Pieces | PairPieces, int]  # an input, its pieces, and its number among all inputs, from 0

DEFAULT_BATCH_CELLS = 2**16
"""The default bound on sentences × pieces × pieces of one batch: 4 sentences of 128 pieces, or 40 of 40."""

WINDOW = 1024
"""How many sentences are sorted by length at a time."""


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
        fit: whether the vocabulary fits the words; nothing is counted of sentence pairs and of segments.

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
    fit: TextFit = field(default_factory=TextFit, repr=False)

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
        self.fit += other.fit

    def reasons(self) -> str:
        """Say why the first few sentences were skipped, for a message."""
        first = "; ".join(f"{skipped.sentence.id}: {skipped.reason}" for skipped in self.skipped[:3])
        return first + ("; …" if len(self.skipped) > 3 else "")


def plan(
    reader: LoadedModel,
    inputs: Iterable[Sentence],
    batch_pieces: int,
    *,
    batch_cells: int,
    too_long: TooLong,
    max_length: int | None,
    log: ExtractionLog | None,
    noun: str = "sentence",
) -> Iterator[tuple[tuple[Any, ...], list[Any], tuple[int, ...]]]:
    """Yield batches of inputs with the pieces and the index of each, longest first within a window, and fill the log.

    This is the one place that makes batches, of sentences and of sentence pairs. The model has not read them yet.
    ``batch_pieces`` bounds inputs × pieces of a batch; for the other options see `attentionology.extractors.extract`.
    """
    check_limits(batch_cells, too_long, max_length)
    log = ExtractionLog() if log is None else log
    limit = min((length for length in (reader.max_length, max_length) if length is not None), default=None)
    start = 0
    with closing(_windows(reader, inputs)) as windows:
        for window, aligned in windows:
            readable: list[_Read] = []
            for index, (sentence, pieces) in enumerate(zip(window, aligned, strict=True), start):
                reason = reason_to_skip(pieces, limit)
                if reason is None:
                    readable.append((sentence, pieces, index))
                elif too_long == "skip":
                    log.skip(sentence, reason)
                else:
                    location = f"{sentence.file}:{sentence.line}: " if sentence.file else ""
                    raise ExtractionError(f"{location}{noun} {sentence.id!r}: {reason}")
            start += len(window)
            readable.sort(key=_length, reverse=True)  # which leaves inputs of the same length in their order
            for batch in cut(readable, _length, reader.batching, batch_cells, batch_pieces):
                sentences, pieces_of_batch, indices = zip(*batch, strict=True)
                yield sentences, list(pieces_of_batch), indices
                # Whoever draws the next batch is done with this one, so that only now it counts as read.
                log.add(_count(batch))


def _windows(reader: LoadedModel, inputs: Iterable[Any]) -> Generator[_Window, None, None]:
    """Yield windows of inputs with the pieces of each input, or the reason why it has none."""
    stream = iter(inputs)
    if reader.device.type == "cpu":  # which the model keeps busy
        while window := list(islice(stream, WINDOW)):
            yield window, reader.align(window)
        return
    with ThreadPoolExecutor(max_workers=1) as pool:

        def begin() -> Future[_Window]:
            """Read the next window, and tokenize it in a thread while the batches of this one are computed."""
            try:
                window = list(islice(stream, WINDOW))
            except Exception as error:  # which is raised after the batches of this window, as on a CPU
                failed = Future[_Window]()
                failed.set_exception(error)
                return failed
            return pool.submit(lambda: (window, reader.align(window) if window else []))

        following = begin()
        while (current := following.result())[0]:
            following = begin()
            yield current


def _length(read: _Read) -> int:
    return len(read[1])  # the number of its pieces


def _count(batch: Sequence[_Read]) -> ExtractionLog:
    """Count inputs that have been read, and their words."""
    whole_sentences = (
        (sentence, pieces)
        for sentence, pieces, _ in batch
        if isinstance(pieces, Pieces) and not isinstance(sentence, Segment | SentencePair)
    )
    return ExtractionLog(
        read=len(batch),
        words=sum(pieces.words for _, pieces, _ in batch),
        unknown_words=sum(pieces.unknown for _, pieces, _ in batch),
        substituted_words=sum(pieces.substituted for _, pieces, _ in batch),
        fit=TextFit.of(whole_sentences),
    )


def check_limits(batch_cells: int, too_long: str, max_length: int | None) -> None:
    """Raise `ValueError` if inputs cannot be read within such limits."""
    check_choice("too_long", too_long, TooLong)
    if batch_cells < 1 or (max_length is not None and max_length < 1):
        raise ValueError("batch_cells and max_length must be at least 1")


def reason_to_skip(pieces: Pieces | PairPieces | Unalignable, limit: int | None) -> str | None:
    """Say why an input cannot be read with at most ``limit`` pieces; None if it can be read."""
    if isinstance(pieces, Unalignable):
        return str(pieces)
    if limit is not None and len(pieces) > limit:
        return f"too long: {pieces.extent}, the limit is {limit}"
    return None


def usual_cells(device: torch.device) -> int:
    """Return the bound on inputs × pieces² of a batch if none is given."""
    # A GPU is idle between the many small operations of small batches: six kinds of maps took 2.2 times as long.
    return DEFAULT_BATCH_CELLS if device.type == "cpu" else 16 * DEFAULT_BATCH_CELLS


def most_pieces(device: torch.device) -> int:
    """Return the bound on inputs × pieces of a batch that an encoder reads."""
    return 1024 if device.type == "cpu" else 16384  # beyond 1024, its activations fall out of the cache of a CPU


def cut(
    inputs: Iterable[T], length: Callable[[T], int], batching: Batching, batch_cells: int, batch_pieces: int
) -> Iterator[list[T]]:
    """Cut inputs into batches within bounds on inputs × length² and × length; one that exceeds a bound stands alone."""
    batch: list[T] = []
    padded = 0  # the length of the longest input of the batch, to which the others are padded
    for candidate in inputs:
        size, longest = len(batch) + 1, max(padded, length(candidate))  # of the batch with the candidate
        is_too_large = size * longest**2 > batch_cells or size * longest > batch_pieces
        is_apart = batching == "one by one" or (batching == "equal lengths" and length(candidate) != padded)
        if batch and (is_apart or is_too_large):
            yield batch
            batch, longest = [], length(candidate)
        batch.append(candidate)
        padded = longest
    if batch:
        yield batch
