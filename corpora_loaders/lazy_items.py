"""Items of a corpus that stay in their files until they are needed, a window at a time.

What is known about the whole of a corpus, and where each window begins, is in an index
(`attentionology.corpora_loaders.file_index`), which is made in one pass over the files.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

from . import file_index
from .describing import amount
from .errors import CorpusError
from .file_index import FileIndex
from .stamps import changed

Item = TypeVar("Item")
Part = TypeVar("Part")
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
            while len(self._windows) >= self._most:
                self._windows.popitem()  # the one that was added last
            window = self._windows[number] = reader.read(number)
        return window


class Unread(Sequence[Item]):
    """A sequence of items that are read when they are asked for.

    A slice of at most 1,024 items is a tuple; a longer one is lazy, too.
    """

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            items = self._slice(index)
            return tuple(items) if len(items) <= file_index.WINDOW else items
        return self._item(index)

    def stretch(self, start: int, stop: int) -> Unread[Item]:
        """The items from ``start`` up to ``stop``, of which none is read, however few there are."""
        return self._slice(slice(start, stop))

    @abstractmethod
    def _item(self, index: int) -> Item:
        """Read one item."""

    @abstractmethod
    def _slice(self, index: slice) -> Unread[Item]:
        """A slice of which no item is read."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({amount(len(self), 'items')})"


def stretch(items: Sequence[Item], start: int, stop: int) -> Sequence[Item]:
    """The items from ``start`` up to ``stop``. If the items stay in their files, none of them is read.

    Args:
        items: the items, for example a corpus.
        start, stop: the positions, half-open.
    """
    held = getattr(items, "sentences", items)
    return held.stretch(start, stop) if isinstance(held, Unread) else items[start:stop]


class LazyItems(Unread[Item], Generic[Item, Index]):
    """Items of an indexed corpus, which are read when they are asked for.

    Two objects are equal if they stand for the same items of the same index, which is decided without reading them.

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

    def _item(self, index: int) -> Item:
        position = self._positions[index]
        number = self.corpus_index.window_of(position)
        window = self._cache.get(number, WindowReader(self.corpus_index))
        return window[position - self.corpus_index.positions(number).start]

    def _slice(self, index: slice) -> LazyItems[Item, Index]:
        return LazyItems(self.corpus_index, self._positions[index], self._cache)

    def __iter__(self) -> Iterator[Item]:
        reader: WindowReader[Item] = WindowReader(self.corpus_index)
        within = range(0)
        window: tuple[Item, ...] = ()
        for position in self._positions:
            if position not in within:
                number, window = self.corpus_index.window_of(position), ()  # the old window is freed first
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


class LazyParts(Unread[Part], Generic[Item, Part, Index]):
    """Parts of items that stay in their files, such as the sentences of documents.

    Two objects are equal if they stand for the same parts of the same items, which is decided without reading them.

    Args:
        items: all items of a corpus.
        ends: for each item the number of parts of this item and of all items before it.
        parts_of: returns the parts of an item, given its position and the item. It must be comparable.
        positions: the positions of the parts. Default: all.
    """

    def __init__(
        self,
        items: LazyItems[Item, Index],
        ends: array[int],
        parts_of: Callable[[int, Item], Sequence[Part]],
        positions: range | None = None,
    ) -> None:
        self.parts_of = parts_of
        self._items, self._ends = items, ends
        self._positions = range(ends[-1] if ends else 0) if positions is None else positions

    def __len__(self) -> int:
        return len(self._positions)

    def _item(self, index: int) -> Part:
        position = self._positions[index]
        return next(iter(LazyParts(self._items, self._ends, self.parts_of, range(position, position + 1))))

    def _slice(self, index: slice) -> LazyParts[Item, Part, Index]:
        return LazyParts(self._items, self._ends, self.parts_of, self._positions[index])

    def with_parts(self, parts_of: Callable[[int, Item], Sequence[Part]]) -> LazyParts[Item, Part, Index]:
        """The same parts, made in another way."""
        return LazyParts(self._items, self._ends, parts_of, self._positions)

    def __iter__(self) -> Iterator[Part]:
        current, start = -2, 0
        parts: Sequence[Part] = ()
        stream: Iterator[Item] = iter(())
        for position in self._positions:
            if not start <= position < start + len(parts):
                number = bisect_right(self._ends, position)
                if number != current + 1:
                    stream = iter(self._items.stretch(number, len(self._items)))
                parts, start = self.parts_of(number, next(stream)), self._ends[number - 1] if number else 0
                current = number
            yield parts[position - start]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyParts):
            return NotImplemented
        return (self._positions, self._ends, self._items, self.parts_of) == (
            other._positions,
            other._ends,
            other._items,
            other.parts_of,
        )

    def __hash__(self) -> int:
        return hash(self._positions)
