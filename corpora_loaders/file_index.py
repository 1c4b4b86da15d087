"""Indexes of corpora that stay in their files: what is known about all of a corpus, and where its windows begin.

An index is made in one pass over the files, which validates every line and keeps none of the items, for example the
sentences of a treebank. Later, a window of items is read from the position where it begins. The files must stay as they
are: each has a stamp, by which a change is noticed.

`FileIndex` is the common form of all indexes. Most corpora consist of files that are read one after the other;
`index_files` indexes these, and `SerialIndex` reads them. The files of a bitext are read side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from .corpus import CorpusFile, FileTally, digested_files
from .errors import CorpusError
from .stamps import Stamp, check_stamp, stamp

WINDOW = 1024
"""The number of sentences in a window; the last window of a corpus may have fewer. A window of documents has as many
documents as have this number of sentences together."""

KEPT_WINDOWS = 4
"""How many windows a lazily read corpus holds, about 15 MB."""

Item = TypeVar("Item")
Mark = TypeVar("Mark")


@dataclass(frozen=True)
class Source:
    """A file, or several files that are read side by side.

    Attributes:
        paths: the paths of the files.
        stamps: the size and the time of modification of each file, by which a changed file is noticed.
        items: the number of items.
    """

    paths: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    items: int

    def check(self) -> None:
        """Check that the files are as they were when they were indexed.

        Raises:
            CorpusError: a file has changed, or cannot be read.
        """
        for path, expected in zip(self.paths, self.stamps, strict=True):
            check_stamp(path, expected)


@dataclass(frozen=True)
class WindowStart(Generic[Mark]):
    """Where a window begins.

    Attributes:
        source: the number of the source in which it begins, from 0.
        mark: where it begins in that source.
        skipped: the number of items of that source before it.
        first: the number of items of the corpus before it.
    """

    source: int
    mark: Mark
    skipped: int
    first: int


@dataclass(frozen=True)
class FileIndex(ABC, Generic[Item, Mark]):
    """Everything about a corpus except its items. Its length is the number of items.

    Attributes:
        files: one record for each file.
        sources: the files in the way in which they are read.
        windows: where the windows begin, which may reach from one source into the next.
    """

    files: tuple[CorpusFile, ...]
    sources: tuple[Source, ...]
    windows: tuple[WindowStart[Mark], ...]

    def __len__(self) -> int:
        return sum(source.items for source in self.sources)

    @property
    def kept_windows(self) -> int:
        """The number of windows that are held in memory."""
        return KEPT_WINDOWS

    @abstractmethod
    def items_from(self, window: int) -> Iterator[Item]:
        """Yield the items from the beginning of a window on, as `with_ids` takes them."""

    def with_ids(self, window: int, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """Return the items of a window with the ids that they have in the corpus."""
        del window
        return items

    def window_of(self, position: int) -> int:
        """Return the number of the window in which an item is."""
        return bisect_right(self.windows, position, key=_first_of) - 1

    def positions(self, window: int) -> range:
        """Return the positions of the items of a window."""
        following = window + 1
        return range(
            self.windows[window].first, self.windows[following].first if following < len(self.windows) else len(self)
        )

    def sources_of(self, window: int) -> Sequence[Source]:
        """Return the sources from which a window is read."""
        following = self.windows[window + 1 : window + 2]
        stop = following[0].source + 1 if following else len(self.sources)
        return self.sources[self.windows[window].source : stop]


class SerialIndex(FileIndex[Item, Mark]):
    """An index of files that are read one after the other."""

    @abstractmethod
    def read(self, number: int, mark: Mark | None) -> Iterator[Item]:
        """Yield the items of a file.

        Args:
            number: the number of the file, from 0.
            mark: where to begin; None for the beginning of the file.
        """

    def items_from(self, window: int) -> Iterator[Item]:
        """Yield the items from the beginning of a window to the end of the corpus, with their ids unchanged."""
        start = self.windows[window]
        yield from islice(self.read(start.source, start.mark), self.sources[start.source].items - start.skipped)
        for number in range(start.source + 1, len(self.sources)):
            yield from islice(self.read(number, None), self.sources[number].items)


def _first_of(window: WindowStart[Any]) -> int:
    return window.first


class WindowCollector(Generic[Item, Mark]):
    """Notes where windows begin while the items of a corpus are read in order.

    Args:
        keep: the number of windows whose items are kept, from the first one on.

    Attributes:
        windows: the beginnings of the windows.
        kept: the items of the first windows, by the numbers of the windows.
    """

    def __init__(self, keep: int) -> None:
        self.windows: list[WindowStart[Mark]] = []
        self.kept: dict[int, tuple[Item, ...]] = {}
        self._keep = keep
        self._items = self._size = 0
        self._current: list[Item] = []

    def add(self, item: Item, source: int, mark: Mark, skipped: int, size: int = 1) -> None:
        """Add the next item.

        Args:
            item: the item.
            source: the number of its source.
            mark: where it begins in that source.
            skipped: the number of items of that source before it.
            size: the number of its sentences.
        """
        if not self.windows or self._size >= WINDOW:
            self.finish()
            self.windows.append(WindowStart(source, mark, skipped, self._items))
            self._size = 0
        self._items += 1
        self._size += size
        if len(self.windows) <= self._keep:
            self._current.append(item)

    def finish(self) -> None:
        """Keep the items of the last window, if it is one of those whose items are kept."""
        if self._current:
            self.kept[len(self.windows) - 1] = tuple(self._current)
            self._current = []


@dataclass(frozen=True)
class IndexedFiles(Generic[Item, Mark]):
    """What `index_files` returns: the fields of an index, and the items of the first windows by their numbers."""

    files: tuple[CorpusFile, ...]
    sources: tuple[Source, ...]
    windows: tuple[WindowStart[Mark], ...]
    kept: Mapping[int, tuple[Item, ...]]


class CountedFile:
    """Counts the items of a file. Its length is their number.

    Attributes:
        sentences: counts their sentences.
    """

    def __init__(self) -> None:
        self.sentences = FileTally()
        self.items = 0

    def __len__(self) -> int:
        return self.items


def index_files(
    paths: str | Path | Iterable[str | Path],
    read: Callable[[str | Path], Iterator[tuple[Item, Mark]]],
    beginning: Mark,
    add: Callable[[Item, FileTally], tuple[Item, int]],
    *,
    contents: str,
    limit: int | None,
    keep: int,
    check_file: Callable[[str | Path], None] = lambda path: None,
) -> IndexedFiles[Item, Mark]:
    """Index files that are read one after the other, in one pass.

    Args:
        paths: one file or several.
        read: yields the items of a file, each with the position after it.
        beginning: the position before the first item of a file.
        add: receives each item with the tally of its file, to which it adds the sentences of the item. It returns the
            item as it is in the corpus, and the number of its sentences.
        contents: what a file must have, for the message about a file that has none.
        limit: read at most this many items from all files together.
        keep: the number of windows whose items are kept.
        check_file: raises an error if the file whose items were added last lacks something.

    Raises:
        ValueError: no file is given, or the limit is less than 1.
        CorpusError: a file cannot be read, is empty, or has changed while it was read; or two files are the same.
    """
    stamps: list[Stamp] = []
    collector: WindowCollector[Item, Mark] = WindowCollector(keep)

    def read_file(path: str | Path, limit_of_file: int | None) -> CountedFile:
        stamps.append(stamp(path))
        counted, before = CountedFile(), beginning
        for item, after in islice(read(path), limit_of_file):
            in_corpus, size = add(item, counted.sentences)
            collector.add(in_corpus, len(stamps) - 1, before, counted.items, size)
            counted.items += 1
            before = after
        return counted

    files: list[CorpusFile] = []
    sources: list[Source] = []
    for number, (path, sha256, counted) in enumerate(digested_files(paths, read_file, limit)):
        if not counted.items:
            raise CorpusError(f"the file contains no {contents}", file=path)
        check_file(path)
        files.append(counted.sentences.describe(path, sha256))
        check_stamp(path, stamps[number])
        sources.append(Source((str(path),), (stamps[number],), counted.items))
    collector.finish()
    return IndexedFiles(tuple(files), tuple(sources), tuple(collector.windows), collector.kept)
