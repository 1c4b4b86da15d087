"""Documents as the model reads them: their beginnings, or windows over the whole of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

from attentionology.corpora_loaders import Corpus, CorpusError, Sentence
from attentionology.corpora_loaders.coreference import Document, Documents
from attentionology.extractors.model.encoder import Encoder
from attentionology.extractors.tokens.pieces import Pieces

DOCUMENT_LENGTH = 128
"""Pieces of a document that are read, special tokens included (Clark et al. 2019, §4.3)."""

LONG_WINDOW = 512
"""Pieces of a window where nothing else is said and the model takes as many; maps grow with the square."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Window(Sentence):
    """A stretch of a document.

    Attributes:
        source: the document.
        start: its first word, counted from 0 through the document.
        seen: one past the last word of the window before it; what lies before that has been read.
    """

    source: Document
    start: int
    seen: int

    @property
    def stop(self) -> int:
        """One past its last word."""
        return self.start + len(self)


@dataclass(frozen=True, repr=False)
class Windows(Corpus):
    """Windows of documents in order.

    Attributes:
        corpus: the documents.
        how: how they were cut, in words.
        cut: documents of which not everything is in a window.
        words_left_out: words in no window.
    """

    unit: ClassVar[str] = "windows"
    limit_unit: ClassVar[str] = "documents"
    tokens: ClassVar[str] = "syntactic"

    sentences: tuple[Window, ...]
    corpus: Documents = field(default_factory=lambda: Documents(()))
    how: str = ""
    cut: int = 0
    words_left_out: int = 0

    def counts(self) -> dict[str, int]:
        """Of the documents, and how much of them is in windows."""
        counts = self.corpus.counts()
        return {
            **counts,
            "sentences": len(self),
            "document_sentences": counts["sentences"],
            "documents_cut": self.cut,
            "words_left_out": self.words_left_out,
        }

    def remarks(self) -> list[str]:
        """How documents were cut, and the remarks on them."""
        left_out = ""
        if self.cut:
            left_out = f" {self.cut:,} documents are longer; {self.words_left_out:,} of their words were not read."
        return [f"{self.how}{left_out}", *self.corpus.remarks()]


def make_windows(
    encoder: Encoder, corpus: Documents, *, length: int | None = None, stride: int | None = None
) -> Windows:
    """Cut documents into windows of whole words.

    Args:
        encoder: whose pieces count.
        corpus: the documents.
        length: pieces of a window, special tokens included. Default: `DOCUMENT_LENGTH`; with a stride, and for
            documents that come with questions, as many as the model takes, at most `LONG_WINDOW`.
        stride: windows start so many pieces after one another; None: only the first window of each document is read.

    Raises:
        ValueError: a length that is more than the model takes or holds no word, or a stride that is not from 1 to what
            a window holds.
        CorpusError: there is no document.
    """
    most = encoder.max_length
    frame = sum(_aligned(encoder, [Sentence("", ("a",))])[0].special)
    most_told = "" if most is None else f", at most {most}"
    if length is not None and (length <= frame or (most is not None and length > most)):
        raise ValueError(f"windows must have {frame + 1} pieces or more{most_told}, not {length}")

    def length_of(document: Document) -> int:
        usual = DOCUMENT_LENGTH if stride is None and document.questions is None else LONG_WINDOW
        return length or min(usual, most or usual)

    if not corpus.documents:
        raise CorpusError("there is no document")
    lengths = sorted({length_of(document) for document in corpus.documents})
    if stride is not None and not 1 <= stride <= lengths[0] - frame:
        raise ValueError(
            f"windows that hold {lengths[0] - frame} pieces must start as many or fewer apart, not {stride}"
        )
    windows: list[Window] = []
    cut = left_out = 0
    for document in corpus.documents:
        own = list(_windows(encoder, document, length_of(document) - frame, stride))
        windows += own
        missing = len(document.words) - (own[-1].stop if own else 0)
        cut += missing > 0
        left_out += missing
    size = " or ".join(map(str, lengths))
    how = f"windows of up to {size} pieces that start {stride} apart" if stride else f"the first {size} pieces"
    return Windows(
        sentences=tuple(windows),
        files=corpus.files,
        corpus=corpus,
        how=f"Read of each document: {how}.",
        cut=cut,
        words_left_out=left_out,
    )


def _windows(encoder: Encoder, document: Document, room: int, stride: int | None) -> Iterator[Window]:
    """Windows of at most ``room`` pieces; a single word that has more is left to the extraction to refuse."""
    ends = [0, *accumulate(_word_lengths(encoder, document))]  # pieces before each word, and in all
    words = document.words
    start = seen = 0
    while start < len(words):
        stop = max(start + 1, _last_at_most(ends, ends[start] + room))
        name = f"{document.id}@{start + 1}" if stride else document.id
        if stop > seen:  # or the window before has all of it
            yield Window(
                id=name,
                words=words[start:stop],
                document=document.id,
                file=document.file,
                line=document.line,
                source=document,
                start=start,
                seen=seen,
            )
        if stride is None or stop == len(words):
            return
        seen = stop
        start = max(start + 1, min(_last_at_most(ends, ends[start] + stride), stop))


def _last_at_most(ends: Sequence[int], pieces: int) -> int:
    """The largest number of words that have no more than so many pieces."""
    return bisect_right(ends, pieces) - 1


def _word_lengths(encoder: Encoder, document: Document) -> list[int]:
    lengths: list[int] = []
    for sentence, pieces in zip(document.sentences, _aligned(encoder, document.sentences), strict=True):
        words = [0] * len(sentence)
        if isinstance(pieces, Pieces):
            at = [position for position, special in enumerate(pieces.special) if not special]
            word_at = {position: word for word, position in enumerate(at)}
            for position in pieces.positions:
                if position in word_at:
                    words[word_at[position]] += 1
        lengths += [max(1, pieces) for pieces in words]
    return lengths


def _aligned(encoder: Encoder, sentences: Sequence[Sentence]) -> list[Pieces]:
    """Pieces of each sentence; of one that cannot be aligned, none: the extraction will say why."""
    return [one if isinstance(one, Pieces) else Pieces([], [], [], [], 0, 0) for one in encoder.align(sentences)]
