"""Items of a corpus that stay in their files until they are needed, a window at a time.

What is known about the whole of a corpus, and where each window begins, is in an index
(`attentionology.corpora_loaders.file_index`), which is made in one pass over the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

from attentionology.corpora_loaders import file_index
from attentionology.corpora_loaders.describing import amount
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.file_index import FileIndex
from attentionology.corpora_loaders.stamps import changed

Item = TypeVar("Item")
Index = TypeVar("Index", bound=FileIndex[Any, Any])


class WindowReader(Generic[Item]):
    """Reads windows of an indexed corpus.

    A window that follows the one that was read last is read from where that one ended. In a compressed file, this saves
    decompressing everything before it once more.

    Args:
        index: the index.
    """

    def __init__(self, index: FileIndex[Item, Any]) -> None:
        self._index = index
        self._following = -1
        self._stream: Iterator[Item] = iter(())

    def read(self, number: int) -> tuple[Item, ...]:
        """The items of a window.

        Raises:
            CorpusError: a file has changed since it was indexed, or cannot be read.
        """
        index = self._index
        sources, expected = index.sources_of(number), len(index.positions(number))
        if number != self._following:
            self._stream = index.items_from(number)
        self._following = -1
        try:
            items = tuple(islice(self._stream, expected))
        except CorpusError as error:
            if isinstance(error.__cause__, OSError):
                raise
            raise changed(error.file or sources[0].paths[0]) from error
        for source in sources:
            source.check()
        if len(items) != expected:
            raise changed(sources[0].paths[0])
        self._following = number + 1
        return index.with_ids(number, items)


class WindowCache(Generic[Item]):
    """The windows that are held in memory: those that were read first, and the one that was read last.

    Passes over a corpus start at its beginning again, so the first windows are worth more than those before the last.

    Args:
        index: the index.
        windows: the items of windows that have been read, by the numbers of the windows.
    """

    def __init__(self, index: FileIndex[Item, Any], windows: Mapping[int, tuple[Item, ...]] | None = None) -> None:
        self._most = index.kept_windows
        self._windows = dict(windows or {})

    def get(self, number: int, reader: WindowReader[Item]) -> tuple[Item, ...]:
        """The items of a window, read from the files if they are not held."""
        window = self._windows.get(number)
        if window is None:
            window = reader.read(number)
            while len(self._windows) >= self._most:
                self._windows.popitem()  # the one that was added last
            self._windows[number] = window
        return window


class LazyItems(Sequence[Item], Generic[Item, Index]):
    """Items of an indexed corpus, which are read when they are asked for.

    A slice of at most 1,024 items is a tuple; a longer one is lazy, too. Two objects are equal if they stand for the
    same items of the same index, which is decided without reading them.

    Args:
        index: the index.
        positions: the positions of the items in the corpus. Default: all.
        cache: the windows that are held. Slices share it.
    """

    def __init__(self, index: Index, positions: range | None = None, cache: WindowCache[Item] | None = None) -> None:
        self.corpus_index = index
        self._positions = range(len(index)) if positions is None else positions
        self._cache: WindowCache[Item] = WindowCache(index) if cache is None else cache

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            items = self._at(self._positions[index])
            return tuple(items) if len(items) <= file_index.WINDOW else items
        position = self._positions[index]
        number = self.corpus_index.window_of(position)
        start = self.corpus_index.positions(number).start
        return self._cache.get(number, WindowReader(self.corpus_index))[position - start]

    def stretch(self, start: int, stop: int) -> LazyItems[Item, Index]:
        """The items from ``start`` up to ``stop``, of which none is read, however few there are."""
        return self._at(self._positions[start:stop])

    def _at(self, positions: range) -> LazyItems[Item, Index]:
        return LazyItems(self.corpus_index, positions, self._cache)

    def __iter__(self) -> Iterator[Item]:
        reader: WindowReader[Item] = WindowReader(self.corpus_index)
        within = range(0)
        window: tuple[Item, ...] = ()
        for position in self._positions:
            if position not in within:
                number = self.corpus_index.window_of(position)
                within, window = self.corpus_index.positions(number), self._cache.get(number, reader)
            yield window[position - within.start]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyItems):
            return NotImplemented
        return self._positions == other._positions and (
            self.corpus_index is other.corpus_index or self.corpus_index == other.corpus_index
        )

    def __hash__(self) -> int:
        return hash(self._positions)

    def __reduce__(self) -> tuple[type[LazyItems[Item, Index]], tuple[Index, range]]:
        """Leave out the windows that are held, because another process reads its own."""
        return LazyItems, (self.corpus_index, self._positions)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({amount(len(self), 'items')})"
