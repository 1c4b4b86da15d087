"""Items that stay in their files, such as the sentences of a treebank, and are read again whenever they are needed.

A loaded sentence takes about 3.5 kB, so that ten million sentences would need 35 GB. `read_files` reads files once,
checks all of them, and keeps only the places from which reading can go on, a few bytes for each sentence. A `Stream` of
few sentences holds them; any other one reads its files again each time. The files must stay as they are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, overload

from .describing import amount
from .errors import CorpusError, unreadable
from .lines import archive_of, content_sha256, file_sha256
from .releases import corpus_path
from .tally import CorpusFile, Tally

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
    """

    def __init__(self, source: Source[Item], positions: range | None = None, held: Sequence[Item] = ()) -> None:
        self._source, self._held = source, held  # all items of the source, if they are few enough to be held
        self._positions = range(len(source)) if positions is None else positions
        # The block of items that was read last, and the position of its first item.
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
        """Return the item at a position of the source."""
        if self._held:
            return self._held[position]
        start = position - position % MARKED
        start_of_block, block = self._block
        if start_of_block != start:  # a whole block is read, because items are often asked for one after the other
            block = tuple(self._source(start, min(start + MARKED, len(self._source))))
            self._block = start, block
        return block[position - start]

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
        first, last = bisect_right(self.ends, start), bisect_left(self.ends, stop)  # the items with these parts
        before = self.ends[first - 1] if first else 0  # the number of parts of all items before
        for number, item in enumerate(self.items[first : last + 1], start=first):
            yield from self.parts_of(number, item)[max(0, start - before) : stop - before]
            before = self.ends[number]


@dataclass
class ReadFile(Generic[Item]):
    """The source of the items of a file, which knows, once it has been read, from where it can be read again.

    ``read`` is given the path, a place and the options. It yields the items from the place on, each with the place
    after it. None is the beginning of the file; after an item, it means that reading cannot go on there.
    """

    read: Callable[..., Iterator[tuple[Item, Any]]]
    path: str
    options: tuple[Any, ...] = ()
    n_items: int = 0  # how many have been read for the first time
    marks: list[tuple[int, Any]] = field(default_factory=lambda: [(0, None)])  # places, and how many items are before
    unmarked: int = 0  # sentences since the last mark
    stamp: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.stamp = stamp(self.path)

    def note(self, place: Any, n_sentences: int = 1) -> None:
        """Note that an item has been read for the first time, how many sentences it has, and the place after it."""
        self.n_items += 1
        self.unmarked += n_sentences
        if self.unmarked >= MARKED and place is not None:
            self.marks.append((self.n_items, place))
            self.unmarked = 0

    def check(self) -> None:
        """Check that the file is as it was when its first reading began."""
        if stamp(self.path) != self.stamp:
            raise self._change_error()

    def _change_error(self) -> CorpusError:
        return CorpusError("the file has changed since it was read first; start again", file=self.path)

    def __len__(self) -> int:
        return self.n_items

    def __call__(self, start: int, stop: int) -> Iterator[Item]:
        """Read the items from one position up to another, as long as the file has not changed."""
        before, place = self.marks[bisect_right(self.marks, start, key=itemgetter(0)) - 1]  # the last mark before them
        self.check()
        position = start
        try:
            for item, _ in islice(self.read(self.path, place, *self.options), start - before, stop - before):
                yield item
                position += 1
        except CorpusError as error:
            if isinstance(error.__cause__, OSError):  # for example, the file is gone
                raise
            raise self._change_error() from error  # a fault that was not there before is a change, too
        if position != stop:
            raise self._change_error()
        self.check()


def stamp(path: str) -> tuple[int, int]:
    """Return the size of a file and the time of its last modification in nanoseconds, which reveal a change."""
    try:
        status = archive_of(path).stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class Files(Generic[Item]):
    """The source of the items of files that are read one after the other."""

    files: tuple[ReadFile[Item], ...]
    rename: Callable[[Item, int], Item] | None = None  # gives the item at a position the id that it has in the corpus

    def __len__(self) -> int:
        return sum(map(len, self.files))

    def __call__(self, start: int, stop: int) -> Iterator[Item]:
        """Read the items from one position up to another."""
        before = 0  # the number of items of the files before
        for file in self.files:
            first, last = max(start - before, 0), min(stop - before, len(file))
            if first < last:
                items = file(first, last)
                yield from items if self.rename is None else map(self.rename, items, count(before + first))
            before += len(file)


def read_files(
    paths: str | Path | Iterable[str | Path],
    read: Callable[..., Iterator[tuple[Item, Any]]],
    add: Callable[[Item], Item],
    tally: Tally,
    *,
    contents: str,
    options: tuple[Any, ...] = (),
    limit: int | None,
    hold: int | None = None,
) -> tuple[tuple[ReadFile[Item], ...], tuple[CorpusFile, ...], tuple[Item, ...]]:
    """Read files for the first time, check all of them, and note from where they can be read again.

    ``read`` and ``options`` are those of `ReadFile`. Each item is given to ``add``, which counts its sentences in the
    tally and returns the item as it is in the corpus. At most ``limit`` items are read; an error says that a file has
    no ``contents``. The results are the files, their descriptions, and all items if their sentences are at most
    ``hold`` (`HELD` by default), otherwise none.
    """
    given = [paths] if isinstance(paths, str | Path) else paths
    resolved = [corpus_path(path) for path in given]
    if not resolved:
        raise ValueError("no file is given")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    most_sentences = HELD if hold is None else hold
    files: list[ReadFile[Item]] = []
    records: list[CorpusFile] = []
    held: list[Item] = []
    path_of: dict[str, str | Path] = {}  # by the digest of what the file holds
    for path in resolved:
        left = None if limit is None else limit - sum(file.n_items for file in files)
        if left == 0:
            break
        file = ReadFile(read, str(path), options)
        for item, place in islice(read(file.path, None, *options), left):  # from its beginning
            sentences_before = tally.sentences
            held.append(add(item))
            if tally.sentences > most_sentences:  # too many to be held
                held.clear()
            file.note(place, tally.sentences - sentences_before)
        sha256 = file_sha256(path)
        content = content_sha256(path) if len(resolved) > 1 else sha256  # a compressed copy is the same file, too
        if content in path_of:
            message = f"this is the same file as {path_of[content]}; its content would count twice"
            raise CorpusError(message, file=path)
        path_of[content] = path
        if not file.n_items:
            raise CorpusError(f"the file contains no {contents}", file=path)
        records.append(tally.end_file(path, sha256))
        file.check()
        files.append(file)
    return tuple(files), tuple(records), tuple(held)
