"""Links between the words of a sentence and those of its translation, and the formats of files of links.

A reader yields the links of one sentence pair at a time, in the order of the pairs, so that a file can be read without
being held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from ..errors import CorpusError
from ..lines import text_lines

Link = tuple[int, int]
"""A source word and a target word, both 0-based."""

_TALP = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
_NAACL = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?")


@dataclass(frozen=True, slots=True)
class PairLinks:
    """The links of one sentence pair.

    Attributes:
        sure: the sure links.
        possible: all links, those that are only possible and the sure ones.

    Raises:
        ValueError: a sure link is not among the possible ones.

    Example:
        >>> from attentionology.corpora_loaders.alignment import PairLinks
        >>> PairLinks.of(sure=[(0, 0)], possible=[(1, 0)]).possible == {(0, 0), (1, 0)}
        True
    """

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError("every sure link is possible, too")

    @classmethod
    def of(cls, sure: list[Link], possible: list[Link]) -> PairLinks:
        """Make the links of a pair; sure links are added to the possible ones."""
        certain = frozenset(sure)
        # Without links that are only possible, one set serves as both, since gold links take much of a bitext's memory.
        return cls(certain, certain.union(possible) if possible else certain)

    def within(self, sources: int, targets: int) -> PairLinks:
        """Return the links between words that sentences of these numbers of words have."""
        inside = {link for link in self.possible if 0 <= link[0] < sources and 0 <= link[1] < targets}
        return self if len(inside) == len(self.possible) else PairLinks(self.sure & inside, frozenset(inside))


@dataclass(frozen=True)
class LinkSource:
    """Where links are from, and how many there are.

    Attributes:
        name: the name of the links: ``gold``, or that of the system which made them.
        path: the path of the file.
        sha256: the hexadecimal SHA-256 of the file on disk.
        format: the name of its format.
        one_based: whether its words were counted from 1.
        sure, possible: the numbers of sure and of possible links.
        repeated: the number of links that occur more than once in their pair and count once.
        null_links: the number of links to no word, which are left out.
        outside: the number of links to words that their sentences do not have, which are left out.
    """

    name: str
    path: str
    sha256: str
    format: str
    one_based: bool
    sure: int
    possible: int
    repeated: int = 0
    null_links: int = 0
    outside: int = 0


class WrittenLink(NamedTuple):
    """A link with the numbers of its words as they are written, and its line."""

    source: int
    target: int
    sure: bool
    line: int


class LinkPlace(NamedTuple):
    """A place in a file of links: the numbers of bytes, lines and sentence pairs before it."""

    offset: int = 0
    line: int = 0
    pair: int = 0


BEGINNING = LinkPlace()
"""The place before the first link."""


class WrittenPair(NamedTuple):
    """The links of one sentence pair as they are written in a file."""

    pair: int  # the number of the sentence pair, counted from 0 from the first pair of the bitext
    links: list[WrittenLink]
    null_links: int  # the number of links to no word, which are left out
    after: LinkPlace  # the place after them


@dataclass(frozen=True)
class LinkFormat:
    """One format of files of links."""

    name: str
    unit: str  # in which the format counts sentence pairs, for messages
    one_based: bool | None  # whether the format counts words from 1; None if it does not tell
    # Yields the links of the sentence pairs of a file from a place on, except those of pairs without a line. It is
    # given the path, the place, and the number of the first pair of the bitext.
    read: Callable[[str | Path, LinkPlace, int], Iterator[WrittenPair]]


def format_of_links(path: str | Path) -> LinkFormat:
    """Return the format of a file, recognized by its first line with a link. Whatever is not naacl counts as talp."""
    first = next((line.strip() for _, _, line in text_lines(path) if line.strip()), "")
    return NAACL if _NAACL.fullmatch(first) else TALP


def counted_links(written: Sequence[WrittenLink], counted_from: int) -> PairLinks:
    """Return links counted from 0, of which the file gives the number ``counted_from`` to the first word."""
    sure: list[Link] = []
    possible: list[Link] = []
    for link in written:
        (sure if link.sure else possible).append((link.source - counted_from, link.target - counted_from))
    return PairLinks.of(sure, possible)


@dataclass(frozen=True)
class LinkReader:
    """Reads the links of each pair of a bitext, also those outside their pairs, and of pairs that have no line."""

    format: LinkFormat
    first_number: int  # the number of the first pair, for formats that number the pairs
    counted_from: int  # the number of the first word

    def __call__(self, path: str, place: LinkPlace | None) -> Iterator[tuple[PairLinks, None]]:
        """Yield the links of the pairs from a place on; None is the beginning of the file."""
        start = place or BEGINNING
        pair = start.pair
        for written in self.format.read(path, start, self.first_number):
            yield from repeat((PairLinks(), None), written.pair - pair)
            yield counted_links(written.links, self.counted_from), None
            pair = written.pair + 1


def write_links(path: str | Path, links: Iterable[Iterable[Link]]) -> None:
    """Write links in the format talp, counted from 0, one line per pair.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.alignment import write_links
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "links.talp")
        ...     write_links(path, [[(1, 0), (0, 1)], []])
        ...     path.read_text()
        '0-1 1-0\\n\\n'
    """
    with Path(path).open("w", encoding="utf-8") as file:
        for pair in links:
            file.write(" ".join(f"{source}-{target}" for source, target in sorted(pair)) + "\n")


def _read_talp(path: str | Path, start: LinkPlace, first_number: int) -> Iterator[WrittenPair]:
    """One line per pair, with links such as ``3-4`` (sure) and ``3p4`` (possible)."""
    lines = text_lines(path, offset=start.offset, lines=start.line)
    for pair, (number, following, line) in enumerate(lines, start.pair):
        links = []
        for written in line.split():
            match = _TALP.fullmatch(written)
            if match is None:
                message = f"expected links such as 3-4 (sure) or 3p4 (possible), found {written[:40]!r}"
                raise CorpusError(message, file=path, line=number)
            links.append(WrittenLink(int(match[1]), int(match[3]), match[2] == "-", number))
        yield WrittenPair(pair, links, 0, LinkPlace(following, number, pair + 1))


def _read_naacl(path: str | Path, start: LinkPlace, first_number: int) -> Iterator[WrittenPair]:
    """One line per link: the numbers of pair, source word and target word, all from 1, then ``S`` or ``P``.

    Word 0 is no word. A link without a letter is sure.
    """
    current: int | None = None  # the pair whose links are read now
    links: list[WrittenLink] = []
    null_links = 0
    expected, before = first_number + start.pair, start.offset
    number = start.line
    for number, following, line in text_lines(path, offset=start.offset, lines=start.line):
        if line.strip():
            match = _NAACL.fullmatch(line.strip())
            if match is None:
                found = line.strip()[:40]
                message = f"expected the numbers of pair, source and target word, then S or P, found {found!r}"
                raise CorpusError(message, file=path, line=number)
            pair, source, target = (int(group) for group in match.groups()[:3])
            if pair < expected:
                message = f"expected the links of sentence pair {expected} or a later one, found pair {pair}"
                raise CorpusError(message, file=path, line=number)
            if current is not None and pair != expected:
                yield WrittenPair(current, links, null_links, LinkPlace(before, number - 1, current + 1))
                links, null_links = [], 0
            expected, current = pair, pair - first_number
            if source and target:
                links.append(WrittenLink(source, target, match[4] != "P", number))
            else:
                null_links += 1
        before = following
    if current is not None:
        yield WrittenPair(current, links, null_links, LinkPlace(before, number, current + 1))


TALP = LinkFormat("talp", "lines", None, _read_talp)
NAACL = LinkFormat("naacl", "sentence pairs", True, _read_naacl)
