"""Windows of documents that a model can read: their beginnings, or windows that cover them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar

from ...corpora_loaders import Corpus, CorpusError, Sentence
from ...corpora_loaders.coreference import Document
from ...corpora_loaders.coreference.document import beginning_of
from ...corpora_loaders.documents import Documents
from ...corpora_loaders.stream import Parts, Stream
from ..model.any_model import AnyModel, as_encoder
from ..model.encoder import Encoder
from ..tokens.pieces import Pieces

DOCUMENT_LENGTH = 128
"""How many pieces of a document are read, special tokens included (Clark et al. 2019, §4.3)."""

LONG_WINDOW = 512
"""The default number of pieces of windows that cover documents, if the model takes as many."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Window(Sentence):
    """A stretch of a document.

    Attributes:
        source: the document, or as much of it as the window needs, see
            `attentionology.corpora_loaders.coreference.document.beginning_of`.
        start: the 0-based number of its first word in the document.
        seen: one past the last word of the window before it. Words before that have been read already.

    Example:
        >>> from attentionology import Sentence
        >>> from attentionology.corpora_loaders.coreference import Document
        >>> from attentionology.extractors import Window
        >>> document = Document("d1", (Sentence("s1", ("Cats", "sleep", ".", "They", "dream", ".")),), ())
        >>> Window(id="d1@4", words=document.words[3:], source=document, start=3, seen=4).stop
        6
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
        how: a sentence that says how they were cut.
        cut: how many documents have words that are in no window.
        words_left_out: how many words are in no window.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import make_windows
        >>> from attentionology.corpora_loaders.coreference import Document
        >>> from attentionology.corpora_loaders.documents import Documents
        >>> document = Document("d1", (Sentence("s1", ("Cats", "sleep", ".", "They", "dream", ".")),), ())
        >>> corpus = Documents(document.sentences, documents=(document,))
        >>> windows = make_windows(load_encoder("demo"), corpus, length=5, stride=0)
        >>> windows.cut, windows.words_left_out
        (1, 3)
    """

    unit: ClassVar[str] = "windows"
    limit_unit: ClassVar[str] = "documents"
    has_heads: ClassVar[bool] = False
    divisible: ClassVar[bool] = False
    tokens: ClassVar[str] = "syntactic"

    sentences: Sequence[Window]
    corpus: Documents = field(default_factory=lambda: Documents(()))
    how: str = ""
    cut: int = 0
    words_left_out: int = 0

    def counts(self) -> dict[str, int]:
        """Count what the documents hold, and how much of them is in windows."""
        counts = self.corpus.counts()
        return {
            **counts,
            "sentences": len(self),
            "document_sentences": counts["sentences"],
            "documents_cut": self.cut,
            "words_left_out": self.words_left_out,
        }

    def checks(self) -> dict[str, Any]:
        """Return what was checked of the documents."""
        return self.corpus.checks()

    def remarks(self) -> list[str]:
        """Say how the documents were cut, and pass on the remarks on them."""
        left_out = ""
        if self.cut:
            left_out = f" {self.cut:,} documents are longer; {self.words_left_out:,} of their words were not read."
        return [f"{self.how}{left_out}", *self.corpus.remarks()]


def make_windows(
    encoder: AnyModel, corpus: Documents, *, length: int | None = None, stride: int | None = None
) -> Windows:
    """Cut documents into windows of whole words.

    Args:
        encoder: the model whose pieces are counted, as in `attentionology.extract`.
        corpus: the documents.
        length: the number of pieces of a window, special tokens included. The default is what the model takes, at most
            `LONG_WINDOW`; if only the beginnings of documents are read, it is `DOCUMENT_LENGTH`, unless they come with
            questions.
        stride: the largest number of pieces between the beginnings of two windows. Each starts with the last word that
            begins within this distance, or with the next word if the first one alone is longer. The default is half
            of the pieces of words in a window. 0 reads only the first window of each document.

    Raises:
        ValueError: the length is more than the model takes or too short for a word, or the stride is not from 0 to the
            number of pieces of words in a window.
        CorpusError: there is no document.

    Example:
        >>> from attentionology import Sentence, load_encoder
        >>> from attentionology.extractors import make_windows
        >>> from attentionology.corpora_loaders.coreference import Document
        >>> from attentionology.corpora_loaders.documents import Documents
        >>> document = Document("d1", (Sentence("s1", ("Cats", "sleep", ".", "They", "dream", ".")),), ())
        >>> corpus = Documents(document.sentences, documents=(document,))
        >>> windows = make_windows(load_encoder("demo"), corpus, length=6, stride=2)
        >>> [window.words for window in windows]
        [('Cats', 'sleep', '.', 'They'), ('.', 'They', 'dream', '.')]
    """
    encoder = as_encoder(encoder)
    aligned = encoder.align([Sentence("", ("a",))])[0]
    frame = sum(aligned.special) if isinstance(aligned, Pieces) else 0
    limit = encoder.max_length
    if length is not None and (length <= frame or (limit is not None and length > limit)):
        at_most = "" if limit is None else f", at most {limit}"
        raise ValueError(f"windows must have {frame + 1} pieces or more{at_most}, not {length}")
    longest = length or min(LONG_WINDOW, limit or LONG_WINDOW)
    length_without_questions = longest if length or stride != 0 else min(DOCUMENT_LENGTH, longest)
    if stride is None:
        stride = max(1, (longest - frame) // 2)
    if not 0 <= stride <= longest - frame:
        raise ValueError(f"windows of {longest - frame} pieces must start at most as many pieces apart, not {stride}")
    if not corpus.documents:
        raise CorpusError("there is no document")
    spans_of_documents: list[list[tuple[int, int, int]]] = []  # see `_spans`
    sizes: set[int] = set()
    cut = left_out = 0  # documents, and words of them that are in no window
    for document in corpus.documents:
        size = length_without_questions if document.questions is None else longest
        sizes.add(size)
        spans = list(_spans(encoder, document, size - frame, stride))
        spans_of_documents.append(spans)
        missing = len(document.words) - max((stop for _, stop, _ in spans), default=0)
        cut += missing > 0
        left_out += missing
    pieces = f"{' or '.join(map(str, sorted(sizes)))} pieces"
    how = f"windows of up to {pieces} that start at most {stride} apart" if stride else f"the first {pieces}"
    ends = array("Q", accumulate(map(len, spans_of_documents)))
    return Windows(
        sentences=Stream(Parts(corpus.documents, ends, _WindowsOf(stride > 0, spans_of_documents))),
        files=corpus.files,
        corpus=corpus,
        how=f"Read of each document: {how}.",
        cut=cut,
        words_left_out=left_out,
    )


@dataclass(frozen=True)
class _WindowsOf:
    """Cuts the windows out of a document, which may be read again each time, so that the windows need not be in memory.

    It is a dataclass because streams of windows are equal if these are.
    """

    is_strided: bool
    spans: Sequence[Sequence[tuple[int, int, int]]]  # of each document, see `_spans`

    def __call__(self, index: int, document: Document) -> list[Window]:
        """Return the windows of a document, given its index in the corpus."""
        return [
            Window(
                id=f"{document.id}@{start + 1}" if self.is_strided else document.id,
                words=document.words[start:stop],
                document=document.id,
                file=document.file,
                line=document.line,
                # The only window of a document has its beginning alone, so that many windows can be in memory while the
                # documents are not. Several windows share their document, which takes less than their beginnings would.
                source=document if self.is_strided else beginning_of(document, stop),
                start=start,
                seen=seen,
            )
            for start, stop, seen in self.spans[index]
        ]


def _spans(encoder: Encoder, document: Document, room: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """Yield where the windows of a document start and stop, and what has been read before each, see `Window`.

    They have at most ``room`` pieces. A single word that has more is a window that extraction will skip.
    """
    lengths: list[int] = []
    for sentence, pieces in zip(document.sentences, encoder.align(document.sentences), strict=True):
        # A sentence that cannot be aligned is reported by extraction, too.
        lengths += pieces.word_lengths if isinstance(pieces, Pieces) else [1] * len(sentence)
    before = [0, *accumulate(lengths)]  # the number of pieces before each word, and of all words

    def last_at_most(n_pieces: int) -> int:
        """Return the largest number of words that have at most ``n_pieces`` pieces together."""
        return bisect_right(before, n_pieces) - 1

    n_words = len(document.words)
    start = seen = 0
    while start < n_words:
        stop = max(start + 1, last_at_most(before[start] + room))
        if stop > seen:  # otherwise the window before has all of it
            yield start, stop, seen
        if not stride or stop == n_words:
            return
        seen = stop
        start = max(start + 1, min(last_at_most(before[start] + stride), stop))
