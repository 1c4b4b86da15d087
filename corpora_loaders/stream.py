"""Items that stay in their files, such as the sentences of a treebank, and are read again whenever they are needed.

A loaded sentence takes about 3.5 kB, so that ten million sentences would need 35 GB. `read_files` reads files once,
checks all of them, and keeps only the places from which reading can go on, a few bytes for each sentence. A `Stream` of
few sentences holds them; any other one reads its files again each time. The files must stay as they are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

from .corpus import CorpusFile, Tally, chosen_files, new_digest
from .describing import amount
from .errors import CorpusError, unreadable
from .lines import archive_of

MARKED = 64
"""How many sentences lie between two places from which reading can go on. Reading an item alone reads as many."""

HELD = 4096
"""The largest number of sentences that are held in memory, about 15 MB, so that small corpora are read once."""

Item = TypeVar("Item")
Part = TypeVar("Part")
ItemOut = TypeVar("ItemOut", covariant=True)


class Source(Protocol[ItemOut]):
    """Where the items of a stream come from. It must be possible to compare sources, and to send them to processes."""

    def __len__(self) -> int:
        """The number of items."""
        ...

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
        """Read the items from one position up to another."""
        first, last = bisect_right(self.ends, start), bisect_left(self.ends, stop)
        before = self.ends[first - 1] if first else 0
        for number, item in enumerate(self.items[first : last + 1], start=first):
            yield from self.parts_of(number, item)[max(0, start - before) : stop - before]
            before = self.ends[number]


Reader = Callable[[str, Any], Iterator[tuple[Item, Any]]]
"""Yields the items of a file from a place on, each with the place after it. None is the beginning of the file; after an
item, it means that reading cannot go on there."""


class ReadFile(NamedTuple):
    """A file that has been read once."""

    path: str
    stamp: Stamp
    items: int
    marks: tuple[tuple[int, Any], ...]  # places from which reading can go on, with the numbers of items before them

    def read(self, read: Reader[Item], start: int, stop: int) -> Iterator[Item]:
        """Yield the items from one position in the file up to another."""
        before, place = self.marks[bisect_right(self.marks, start, key=itemgetter(0)) - 1]
        with unchanged({self.path: self.stamp}):
            for item, _ in islice(read(self.path, place), start - before, stop - before):
                yield item
                start += 1
            if start != stop:
                raise changed(self.path)


@dataclass(frozen=True)
class Files(Generic[Item]):
    """The source of the items of files that are read one after the other."""

    read: Reader[Item]
    files: tuple[ReadFile, ...]

    def __len__(self) -> int:
        return sum(file.items for file in self.files)

    def __call__(self, start: int, stop: int) -> Iterator[Item]:
        """Read the items from one position up to another."""
        for file in self.files:
            if start < min(stop, file.items):
                yield from file.read(self.read, start, min(stop, file.items))
            start, stop = max(0, start - file.items), stop - file.items


class FirstReading(NamedTuple, Generic[Item]):
    """What `read_files` returns."""

    source: Files[Item]
    records: tuple[CorpusFile, ...]
    held: tuple[Item, ...]  # all items, if they are few; otherwise none


def read_files(
    paths: str | Path | Iterable[str | Path],
    read: Reader[Item],
    add: Callable[[Item], tuple[Item, int]],
    tally: Tally,
    *,
    contents: str,
    limit: int | None,
    hold: int | None = None,
    check_file: Callable[[str | Path], None] = lambda path: None,
) -> FirstReading[Item]:
    """Read files for the first time, check all of them, and note from where they can be read again.

    Args:
        paths: one file or several. A treebank of Universal Dependencies may be given by name, see `load_treebank`.
        read: yields the items of a file.
        add: receives each item, whose sentences it adds to the tally. It returns the item as it is in the corpus, and
            the number of its sentences.
        tally: the tally, which describes the files.
        contents: what a file must have, for the message about a file that has none.
        limit: read at most this many items from all files together.
        hold: the largest number of sentences that are held. Default: `HELD`.
        check_file: raises an error if the file whose items were added last lacks something.

    Raises:
        ValueError: no file is given, or the limit is less than 1.
        CorpusError: a file cannot be read, is empty, or has changed while it was read; or two files are the same.
    """
    files: list[ReadFile] = []
    records: list[CorpusFile] = []
    held: list[Item] = []
    digests: dict[str, str | Path] = {}
    sentences, most_held = 0, HELD if hold is None else hold
    for path in chosen_files(paths, limit):
        if limit == 0:
            break
        expected = stamp(path)
        marks: list[tuple[int, Any]] = [(0, None)]
        items = since_mark = 0
        for item, place in islice(read(str(path), None), limit):
            item_of_corpus, size = add(item)
            items, sentences, since_mark = items + 1, sentences + size, since_mark + size
            if sentences <= most_held:
                held.append(item_of_corpus)
            else:
                held.clear()
            if since_mark >= MARKED and place is not None:
                marks.append((items, place))
                since_mark = 0
        sha256 = new_digest(path, digests)
        if not items:
            raise CorpusError(f"the file contains no {contents}", file=path)
        check_file(path)
        records.append(tally.end_file(path, sha256))
        check_stamps({str(path): expected})
        files.append(ReadFile(str(path), expected, items, tuple(marks)))
        limit = None if limit is None else limit - items
    return FirstReading(Files(read, tuple(files)), tuple(records), tuple(held))


Stamp = tuple[int, int]
"""The size of a file on disk, and the time of its last modification in nanoseconds."""


def stamp(path: str | Path) -> Stamp:
    """The size and the time of a file, by which a change is noticed."""
    try:
        status = archive_of(path).stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return status.st_size, status.st_mtime_ns


def changed(path: str | Path | None) -> CorpusError:
    """The error for a file that has changed."""
    return CorpusError("the file has changed since it was read first; start again", file=path)


def check_stamps(stamps: Mapping[str, Stamp]) -> None:
    """Check that files are as they were."""
    for path, expected in stamps.items():
        if stamp(path) != expected:
            raise changed(path)


@contextmanager
def unchanged(stamps: Mapping[str, Stamp]) -> Iterator[None]:
    """Check files before and after they are read again. A fault that was not there before is a change, too."""
    check_stamps(stamps)
    try:
        yield
    except CorpusError as error:
        if isinstance(error.__cause__, OSError):  # for example, the file is gone
            raise
        raise changed(error.file) from error
    check_stamps(stamps)
