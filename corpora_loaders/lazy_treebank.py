"""A treebank whose sentences stay in their files until they are needed.

A loaded sentence takes about 3.5 kB, so that ten million sentences would need 35 GB. A lazily read treebank keeps its
index (`attentionology.corpora_loaders.treebank_index`), which takes a few bytes for each sentence, and a few windows of
1,024 sentences. Everything else is as in a loaded treebank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from attentionology.corpora_loaders.describing import amount
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.treebank import TokenChoice, Treebank
from attentionology.corpora_loaders.treebank_index import WINDOW, TreebankIndex, WindowReader, index_and_keep

KEPT_WINDOWS = 4
"""How many windows a lazily read treebank holds, about 15 MB."""


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


class LazySentences(Sequence[Sentence]):
    """Sentences of an indexed treebank, which are read when they are asked for.

    A slice of at most 1,024 sentences is a tuple; a longer one is lazy, too. Two objects are equal if they stand for
    the same sentences of the same index, which is decided without reading them.

    Args:
        index: the index.
        positions: the positions of the sentences in the treebank. Default: all.
        cache: the windows that are held. Slices share it.
    """

    def __init__(self, index: TreebankIndex, positions: range | None = None, cache: WindowCache | None = None) -> None:
        self.treebank_index = index
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
            sentences = LazySentences(self.treebank_index, self._positions[index], self._cache)
            return tuple(sentences) if len(sentences) <= WINDOW else sentences
        number, row = divmod(self._positions[index], WINDOW)
        return self._cache.get(number, WindowReader(self.treebank_index))[row]

    def __iter__(self) -> Iterator[Sentence]:
        reader, current = WindowReader(self.treebank_index), -1
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
            self.treebank_index is other.treebank_index or self.treebank_index == other.treebank_index
        )

    def __hash__(self) -> int:
        return hash(self._positions)

    def __reduce__(self) -> tuple[type[LazySentences], tuple[TreebankIndex, range]]:
        """Leave out the windows that are held, because another process reads its own."""
        return LazySentences, (self.treebank_index, self._positions)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({amount(len(self), 'sentences')})"


@dataclass(frozen=True, repr=False)
class LazyTreebank(Treebank):
    """A treebank whose sentences are read when they are asked for, see `open_treebank`.

    Attributes:
        sentences: the sentences, in file order.

    Example:
        >>> from attentionology.corpora_loaders import LazyTreebank, open_treebank
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> treebank = open_treebank(SAMPLE_TREEBANK)
        >>> isinstance(treebank, LazyTreebank), treebank.sentences
        (True, LazySentences(157 sentences))
    """

    sentences: LazySentences

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", self.sentences.treebank_index.relations)

    def counts(self) -> dict[str, int]:
        """The numbers that `Treebank.counts` returns, without reading the sentences again."""
        return dict(self.sentences.treebank_index.counts)

    def _amounts(self) -> list[str]:
        return [amount(len(self), self.unit), amount(self.counts()["words"], "words")]


def open_treebank(
    paths: str | Path | Iterable[str | Path], *, tokens: TokenChoice = "syntactic", limit: int | None = None
) -> LazyTreebank:
    """Index CoNLL-U or CoNLL-X files, and return a treebank that reads its sentences when they are asked for.

    The files must stay as they are while the treebank is used. A `CorpusError` reports a file that has changed.

    The arguments and errors are those of `attentionology.corpora_loaders.load_treebank`. All errors of the files are
    raised here.

    Example:
        >>> from attentionology.corpora_loaders import open_treebank
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> treebank = open_treebank(SAMPLE_TREEBANK)
        >>> treebank
        LazyTreebank(157 sentences, 2,809 words, 'en_sample.conllu')
        >>> treebank[0].id, [sentence.id for sentence in treebank[1:3]]
        ('garden-01', ['garden-02', 'garden-03'])
    """
    index, first_windows = index_and_keep(paths, tokens=tokens, limit=limit, keep=KEPT_WINDOWS)
    sentences = LazySentences(index, cache=WindowCache(first_windows))
    return LazyTreebank(sentences, index.files, index.tokens, index.renamed)
