"""Sentences that stay in their files until they are needed, 1,024 of them at a time.

What is known about the whole of a corpus, and where each window of its sentences begins, is in an index, which is made
in one pass over the files: `attentionology.corpora_loaders.treebank_index` for treebanks, and
`attentionology.corpora_loaders.text_index` for plain text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Generic, Protocol, TypeVar, overload

from attentionology.corpora_loaders.corpus import CorpusFile
from attentionology.corpora_loaders.describing import amount
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.stamps import Stamp, changed, check_stamp

WINDOW = 1024
"""The number of sentences in a window; the last window of a corpus may have fewer."""

KEPT_WINDOWS = 4
"""How many windows a lazily read corpus holds, about 15 MB."""


class SentenceIndex(Protocol):
    """Where the sentences of a corpus are. Its length is the number of sentences."""

    @property
    def files(self) -> tuple[CorpusFile, ...]:
        """One record for each file."""
        ...

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        """The stamp of each file when it was indexed."""
        ...

    def __len__(self) -> int: ...

    def first_file(self, window: int) -> int:
        """The number of the file in which a window begins, from 0."""
        ...

    def sentences_from(self, window: int) -> Iterator[Sentence]:
        """The sentences from the beginning of a window to the end of the corpus, with their ids unchanged."""
        ...

    def with_ids(self, window: int, sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
        """The sentences of a window with the ids that they have in the corpus."""
        ...


def in_windows(sentences: Sequence[Sentence], size: int) -> dict[int, tuple[Sentence, ...]]:
    """Return the first sentences of a corpus by the numbers of their windows.

    Args:
        sentences: the sentences, from the first one of the corpus.
        size: the number of sentences in a window.
    """
    return {start // size: tuple(sentences[start : start + size]) for start in range(0, len(sentences), size)}


Index = TypeVar("Index", bound=SentenceIndex)


class WindowReader:
    """Reads windows of an indexed corpus.

    A window that follows the one that was read last is read from where that one ended. In a compressed file, this saves
    decompressing everything before it once more.

    Args:
        index: the index.
    """

    def __init__(self, index: SentenceIndex) -> None:
        self._index = index
        self._following = -1
        self._stream: Iterator[Sentence] = iter(())

    def read(self, number: int) -> tuple[Sentence, ...]:
        """The sentences of a window.

        Raises:
            CorpusError: a file has changed since it was indexed, or cannot be read.
        """
        index, path = self._index, self._index.files[self._index.first_file(number)].path
        expected = min(WINDOW, len(index) - number * WINDOW)
        if number != self._following:
            self._stream = index.sentences_from(number)
        self._following = -1
        try:
            sentences = tuple(islice(self._stream, expected))
        except CorpusError as error:
            if isinstance(error.__cause__, OSError):
                raise
            raise changed(error.file or path) from error
        self._check_files(number)
        if len(sentences) != expected:
            raise changed(path)
        self._following = number + 1
        return index.with_ids(number, sentences)

    def _check_files(self, number: int) -> None:
        """Check the files that a window is read from, see `check_stamp`."""
        index, is_last = self._index, (number + 1) * WINDOW >= len(self._index)
        last = len(index.files) - 1 if is_last else index.first_file(number + 1)
        for file in range(index.first_file(number), last + 1):
            check_stamp(index.files[file].path, index.stamps[file])


class WindowCache:
    """The windows that are held in memory: those that were read first, and the one that was read last.

    Passes over a corpus start at its beginning again, so the first windows are worth more than those before the last.

    Args:
        windows: the sentences of windows that have been read, by the numbers of the windows.
    """

    def __init__(self, windows: dict[int, tuple[Sentence, ...]] | None = None) -> None:
        self._windows = dict(windows or {})

    def get(self, number: int, reader: WindowReader) -> tuple[Sentence, ...]:
        """The sentences of a window, read from the files if they are not held."""
        window = self._windows.get(number)
        if window is None:
            window = reader.read(number)
            while len(self._windows) >= KEPT_WINDOWS:
                self._windows.popitem()  # the one that was added last
            self._windows[number] = window
        return window


class LazySentences(Sequence[Sentence], Generic[Index]):
    """Sentences of an indexed corpus, which are read when they are asked for.

    A slice of at most 1,024 sentences is a tuple; a longer one is lazy, too. Two objects are equal if they stand for
    the same sentences of the same index, which is decided without reading them.

    Args:
        index: the index.
        positions: the positions of the sentences in the corpus. Default: all.
        cache: the windows that are held. Slices share it.
    """

    def __init__(self, index: Index, positions: range | None = None, cache: WindowCache | None = None) -> None:
        self.corpus_index = index
        self._positions = range(len(index)) if positions is None else positions
        self._cache = WindowCache() if cache is None else cache

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sentence]: ...
    def __getitem__(self, index: int | slice) -> Sentence | Sequence[Sentence]:
        if isinstance(index, slice):
            sentences = LazySentences(self.corpus_index, self._positions[index], self._cache)
            return tuple(sentences) if len(sentences) <= WINDOW else sentences
        number, row = divmod(self._positions[index], WINDOW)
        return self._cache.get(number, WindowReader(self.corpus_index))[row]

    def __iter__(self) -> Iterator[Sentence]:
        reader, current = WindowReader(self.corpus_index), -1
        window: tuple[Sentence, ...] = ()
        for position in self._positions:
            number, row = divmod(position, WINDOW)
            if number != current:
                current, window = number, self._cache.get(number, reader)
            yield window[row]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazySentences):
            return NotImplemented
        return self._positions == other._positions and (
            self.corpus_index is other.corpus_index or self.corpus_index == other.corpus_index
        )

    def __hash__(self) -> int:
        return hash(self._positions)

    def __reduce__(self) -> tuple[type[LazySentences[Index]], tuple[Index, range]]:
        """Leave out the windows that are held, because another process reads its own."""
        return LazySentences, (self.corpus_index, self._positions)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({amount(len(self), 'sentences')})"
