"""Links between the words of a sentence and those of its translation, and the formats of files of links.

To add a format, write its reader and add a row to `FORMATS`. A reader yields the links of one sentence pair at a time,
in the order of the pairs, so that a file can be read without being held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..errors import CorpusError
from ..lines import located_text_lines, text_lines

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


class LinkMark(NamedTuple):
    """A position in a file of links: the numbers of bytes, lines and sentence pairs before it."""

    offset: int = 0
    line: int = 0
    pair: int = 0


BEGINNING = LinkMark()
"""The position before the first link."""


class WrittenPair(NamedTuple):
    """The links of one sentence pair as they are written in a file."""

    pair: int  # the number of the sentence pair, counted from 0 from the first pair of the bitext
    links: list[WrittenLink]
    null_links: int  # the number of links to no word, which are left out
    mark: LinkMark  # the position where they begin


@dataclass(frozen=True)
class LinkFormat:
    """One format of files of links."""

    name: str
    unit: str  # in which the format counts sentence pairs, for messages
    one_based: bool | None  # whether the format counts words from 1; None if it does not tell
    recognize: Callable[[str], bool]  # by the first line with a link
    # Yields the links of the sentence pairs of a file from a position on, except those of pairs without a line. It is
    # given the path, the position, and the number of the first pair of the bitext.
    read: Callable[[str | Path, LinkMark, int], Iterator[WrittenPair]]


def format_of_links(path: str | Path) -> LinkFormat:
    """Return the format of a file; talp, whose reader reports the line that is wrong, if it has none of the formats."""
    first = next((line.strip() for _, line in text_lines(path) if line.strip()), "")
    return next((row for row in FORMATS if row.recognize(first)), FORMATS[0])


def written_pairs(
    path: str | Path, link_format: LinkFormat, first_number: int, start: LinkMark = BEGINNING
) -> Iterator[WrittenPair]:
    """Yield the links of the sentence pairs of a file, from a position on. Pairs without a line are left out."""
    try:
        yield from link_format.read(path, start, first_number)
    except CorpusError:
        for _ in text_lines(path):  # whatever makes the whole file unreadable is the better explanation
            pass
        raise


def counted_links(written: Sequence[WrittenLink], counted_from: int) -> PairLinks:
    """Return links counted from 0, of which the file gives the number ``counted_from`` to the first word."""
    sure: list[Link] = []
    possible: list[Link] = []
    for link in written:
        (sure if link.sure else possible).append((link.source - counted_from, link.target - counted_from))
    return PairLinks.of(sure, possible)


def _read_talp(path: str | Path, start: LinkMark, first_number: int) -> Iterator[WrittenPair]:
    """One line per pair, with links such as ``3-4`` (sure) and ``3p4`` (possible)."""
    before = start
    for number, following, line in located_text_lines(path, offset=start.offset, lines=start.line):
        links = []
        for written in line.split():
            match = _TALP.fullmatch(written)
            if match is None:
                message = f"expected links such as 3-4 (sure) or 3p4 (possible), found {written[:40]!r}"
                raise CorpusError(message, file=path, line=number)
            links.append(WrittenLink(int(match[1]), int(match[3]), match[2] == "-", number))
        yield WrittenPair(before.pair, links, 0, before)
        before = LinkMark(following, number, before.pair + 1)


def _read_naacl(path: str | Path, start: LinkMark, first_number: int) -> Iterator[WrittenPair]:
    """One line per link: the numbers of pair, source word and target word, all from 1, then ``S`` or ``P``.

    Word 0 is no word. A link without a letter is sure.
    """
    current: WrittenPair | None = None
    expected, before = first_number + start.pair, start.offset
    for number, following, line in located_text_lines(path, offset=start.offset, lines=start.line):
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
            expected, index = pair, pair - first_number
            if current is None or index != current.pair:
                if current is not None:
                    yield current
                current = WrittenPair(index, [], 0, LinkMark(before, number - 1, index))
            if source and target:
                current.links.append(WrittenLink(source, target, match[4] != "P", number))
            else:
                current = current._replace(null_links=current.null_links + 1)
        before = following
    if current is not None:
        yield current


FORMATS = (
    LinkFormat("talp", "lines", None, lambda line: not line or bool(_TALP.fullmatch(line.split()[0])), _read_talp),
    LinkFormat("naacl", "sentence pairs", True, lambda line: bool(_NAACL.fullmatch(line)), _read_naacl),
)
"""All formats, each with how it is recognized and read."""
