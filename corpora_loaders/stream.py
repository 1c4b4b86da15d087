"""Items that stay in their files, such as the sentences of a treebank, and are read again whenever they are needed.

A loaded sentence takes about 3.5 kB, so that ten million sentences would need 35 GB. `read_files` reads files once,
checks all of them, and keeps only the places from which reading can go on, a few bytes for each sentence. A `Stream` of
few sentences holds them; any other one reads its files again each time. The files must stay as they are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, overload

from .corpus import CorpusFile, Tally
from .describing import amount
from .errors import CorpusError, unreadable
from .lines import archive_of, file_sha256
from .releases import corpus_path

MARKED = 64
"""How many sentences lie between two places from which reading can go on. Reading an item alone reads as many."""

HELD = 4096
"""The largest number of sentences that are held in memory, about 15 MB, so that small corpora are read once."""

Item = TypeVar("Item")
Part = TypeVar("Part")
ItemOut = TypeVar("ItemOut", covariant=True)


class Source(Protocol[ItemOut]):
    """Where the items of a stream come from. It must be possible to compare sources, and to send them to processes."""

    def __len__(self) -> int: ...

    def __call__(self, start: int, stop: int) -> Iterator[ItemOut]:
        """Read the items from one position up to another."""
        ...


class Stream(Sequence[Item]):
    """A sequence of items that are read whenever they are asked for. A slice is a stream, too.

    Two streams are equal if they stand for the same items of the same source, which is decided without reading.

    Args:
        source: reads the items.
        positions: the positions of the items in the source. Default: all.
        held: all items of the source, if they are few enough to be held.

    Example:
        >>> from attentionology import load_treebank
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> sentences = load_treebank(SAMPLE_TREEBANK).sentences
        >>> sentences
        Stream(157 items)
        >>> [sentence.id for sentence in sentences[1:3]]
        ['garden-02', 'garden-03']
    """

    def __init__(self, source: Source[Item], positions: range | None = None, held: Sequence[Item] = ()) -> None:
        self._source, self._held = source, held
        self._positions = range(len(source)) if positions is None else positions
        self._block: tuple[int, tuple[Item, ...]] = -1, ()

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[Item]:
        positions = self._positions
        if positions and positions.step == 1 and not self._held:
            return self._source(positions.start, positions.stop)
        return map(self._item, positions)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Stream[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Stream[Item]:
        if isinstance(index, slice):
            return Stream(self._source, self._positions[index], self._held)
        return self._item(self._positions[index])

    def _item(self, position: int) -> Item:
        if self._held:
            return self._held[position]
        first = position - position % MARKED
        if self._block[0] != first:  # items are often asked for one after the other
            self._block = first, tuple(self._source(first, min(first + MARKED, len(self._source))))
        return self._block[1][position - first]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        same_source = self._source is other._source or self._source == other._source
        return self._positions == other._positions and same_source

    def __hash__(self) -> int:
        return hash(self._positions)

    def __reduce__(self) -> tuple[type[Stream[Item]], tuple[Source[Item], range]]:
        """Leave out the items that are held, because another process reads its own."""
        return Stream, (self._source, self._positions)

    def __repr__(self) -> str:
        return f"Stream({amount(len(self), 'items')})"


@dataclass(frozen=True)
class Parts(Generic[Item, Part]):
    """The source of parts of items, such as the sentences of documents."""

    items: Sequence[Item]
    ends: array[int]  # for each item the number of parts of this item and of all items before it
    parts_of: Callable[[int, Item], Sequence[Part]]

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def __call__(self, start: int, stop: int) -> Iterator[Part]:
        """Read the parts from one position up to another."""
        first, last = bisect_right(self.ends, start), bisect_left(self.ends, stop)
        before = self.ends[first - 1] if first else 0
        for number, item in enumerate(self.items[first : last + 1], start=first):
            yield from self.parts_of(number, item)[max(0, start - before) : stop - before]
            before = self.ends[number]


Reader = Callable[[str, Any], Iterator[tuple[Item, Any]]]
"""Yields the items of a file from a place on, each with the place after it. None is the beginning of the file; after an
item, it means that reading cannot go on there."""


@dataclass(frozen=True)
class ReadFile(Generic[Item]):
    """The source of the items of a file that has been read once."""

    read: Reader[Item]
    path: str
    stamp: tuple[int, int]
    items: int
    marks: tuple[tuple[int, Any], ...]  # places from which reading can go on, with the numbers of items before them

    def __len__(self) -> int:
        return self.items

    def __call__(self, start: int, stop: int) -> Iterator[Item]:
        """Read the items from one position up to another, as long as the file has not changed."""
        before, place = self.marks[bisect_right(self.marks, start, key=itemgetter(0)) - 1]
        check_stamp(self.path, self.stamp)
        try:
            for item, _ in islice(self.read(self.path, place), start - before, stop - before):
                yield item
                start += 1
        except CorpusError as error:
            if isinstance(error.__cause__, OSError):  # for example, the file is gone
                raise
            raise _changed(self.path) from error  # a fault that was not there before is a change, too
        if start != stop:
            raise _changed(self.path)
        check_stamp(self.path, self.stamp)


class FirstReading(Generic[Item]):
    """Notes, while a file is read for the first time, the places from which it can be read again."""

    def __init__(self, path: str | Path, read: Reader[Item]) -> None:
        self.path, self._read, self._stamp = str(path), read, stamp(path)
        self._items = self._marked = 0
        self._marks: list[tuple[int, Any]] = [(0, None)]

    def note(self, items: int, sentences: int, place: Any) -> None:
        """Note how many items and sentences have been read, and the place after them."""
        self._items = items
        if sentences - self._marked >= MARKED and place is not None:
            self._marks.append((items, place))
            self._marked = sentences

    def finished(self) -> ReadFile[Item]:
        """The file, which must still be as it was when its reading began."""
        check_stamp(self.path, self._stamp)
        return ReadFile(self._read, self.path, self._stamp, self._items, tuple(self._marks))


def stamp(path: str | Path) -> tuple[int, int]:
    """The size of a file on disk and the time of its last modification in nanoseconds, which reveal a change."""
    try:
        status = archive_of(path).stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return status.st_size, status.st_mtime_ns


def check_stamp(path: str, expected: tuple[int, int]) -> None:
    """Check that a file is as it was."""
    if stamp(path) != expected:
        raise _changed(path)


def _changed(path: str) -> CorpusError:
    return CorpusError("the file has changed since it was read first; start again", file=path)


@dataclass(frozen=True)
class Files(Generic[Item]):
    """The source of the items of files that are read one after the other."""

    files: tuple[ReadFile[Item], ...]
    rename: Callable[[Item, int], Item] | None = None  # gives the item at a position the id that it has in the corpus

    def __len__(self) -> int:
        return sum(map(len, self.files))

    def __call__(self, start: int, stop: int) -> Iterator[Item]:
        """Read the items from one position up to another."""
        items = self._read(start, stop)
        return items if self.rename is None else map(self.rename, items, count(start))

    def _read(self, start: int, stop: int) -> Iterator[Item]:
        for file in self.files:
            if start < min(stop, len(file)):
                yield from file(start, min(stop, len(file)))
            start, stop = max(0, start - len(file)), stop - len(file)


def read_files(
    paths: str | Path | Iterable[str | Path],
    read: Reader[Item],
    add: Callable[[Item], Item],
    tally: Tally,
    *,
    contents: str,
    limit: int | None,
    hold: int | None = None,
    check_file: Callable[[str | Path], None] = lambda path: None,
) -> tuple[tuple[ReadFile[Item], ...], tuple[CorpusFile, ...], tuple[Item, ...]]:
    """Read files for the first time, check all of them, and note from where they can be read again.

    Each item is given to ``add``, which counts its sentences in the tally and returns the item as it is in the corpus.
    The results are the files, their descriptions, and all items if their sentences are at most ``hold`` (`HELD` by
    default), otherwise none.

    Raises:
        ValueError: no file is given, or the limit is less than 1.
        CorpusError: a file cannot be read, is empty, or has changed while it was read; or two files are the same.
    """
    chosen = [corpus_path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not chosen:
        raise ValueError("no file is given")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    files: list[ReadFile[Item]] = []
    records: list[CorpusFile] = []
    held: list[Item] = []
    digests: dict[str, str | Path] = {}
    most_held = HELD if hold is None else hold
    for path in chosen:
        if limit == 0:
            break
        first, sentences_before = FirstReading(path, read), tally.sentences
        items = 0
        for item, place in islice(read(str(path), None), limit):
            items += 1
            held.append(add(item))
            if tally.sentences > most_held:
                held.clear()
            first.note(items, tally.sentences - sentences_before, place)
        sha256 = file_sha256(path)
        if sha256 in digests:
            message = f"this is the same file as {digests[sha256]}; its content would count twice"
            raise CorpusError(message, file=path)
        digests[sha256] = path
        if not items:
            raise CorpusError(f"the file contains no {contents}", file=path)
        check_file(path)
        records.append(tally.end_file(path, sha256))
        files.append(first.finished())
        limit = None if limit is None else limit - items
    return tuple(files), tuple(records), tuple(held)
