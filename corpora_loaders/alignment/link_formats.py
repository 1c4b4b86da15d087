"""The formats of files of word links: how a file of each format is recognized, and how it is read.

To add a format, write its reader and add a row to `FORMATS`. A reader yields the links of one sentence pair at a time,
in the order of the pairs, so that a file can be read without being held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..errors import CorpusError
from ..lines import located_text_lines, text_lines

_TALP = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
_NAACL = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?")


class WrittenLink(NamedTuple):
    """A link as it is written in a file.

    Attributes:
        source, target: the numbers of the words, as they are written.
        sure: whether the link is sure.
        line: the line of the file.
    """

    source: int
    target: int
    sure: bool
    line: int


class LinkMark(NamedTuple):
    """A position in a file of links, at which the links of a sentence pair begin.

    Attributes:
        offset: the number of bytes before the position, see `attentionology.corpora_loaders.lines.located_lines`.
        line: the number of lines before it.
        pair: the number of sentence pairs before it. The next pairs may have no links.
    """

    offset: int = 0
    line: int = 0
    pair: int = 0


BEGINNING = LinkMark()
"""The position before the first link."""


class WrittenPair(NamedTuple):
    """The links of one sentence pair as they are written in a file.

    Attributes:
        pair: the number of the sentence pair, counted from 0 from the first pair of the bitext.
        links: the links.
        null_links: the number of links to no word, which are left out.
        mark: the position where they begin.
    """

    pair: int
    links: list[WrittenLink]
    null_links: int
    mark: LinkMark


LocatedLines = Iterable[tuple[int, int, str]]
"""Lines with their numbers and the offsets of the next lines."""


@dataclass(frozen=True)
class LinkFormat:
    """One format of files of links.

    Attributes:
        name: the name of the format.
        unit: the unit in which the format counts sentence pairs, for messages.
        one_based: whether the format counts words from 1; None if the format does not tell.
        recognize: a function that tells from the first line with a link whether a file has the format.
        read: a function that yields the links of the sentence pairs of a file, given its path, the lines after a
            position, the position, and the number of the first pair. Pairs without a line are left out.
    """

    name: str
    unit: str
    one_based: bool | None
    recognize: Callable[[str], bool]
    read: Callable[[str | Path, LocatedLines, LinkMark, int], Iterator[WrittenPair]]


def format_of_links(path: str | Path) -> LinkFormat:
    """The format of a file of links.

    A file of no known format counts as ``talp``, whose reader then reports the line that is wrong.

    Raises:
        CorpusError: the file cannot be read.
    """
    first = next((line.strip() for _, line in text_lines(path) if line.strip()), "")
    return next((row for row in FORMATS if row.recognize(first)), FORMATS[0])


def written_pairs(
    path: str | Path, link_format: LinkFormat, first_number: int, start: LinkMark = BEGINNING
) -> Iterator[WrittenPair]:
    """Yield the links of the sentence pairs of a file, from a position on. Pairs without a line are left out.

    Args:
        path: the file.
        link_format: its format.
        first_number: the number of the first pair, for formats that number the pairs.
        start: the beginning of the file, or a position that was yielded before.

    Raises:
        CorpusError: the file cannot be read, or a line is not in its format.
    """
    lines = located_text_lines(path, offset=start.offset, lines=start.line)
    try:
        yield from link_format.read(path, lines, start, first_number)
    except CorpusError:
        for _ in text_lines(path):  # whatever makes the whole file unreadable is the better explanation
            pass
        raise


def _read_talp(path: str | Path, lines: LocatedLines, start: LinkMark, first_number: int) -> Iterator[WrittenPair]:
    """One line per pair, with links such as ``3-4`` (sure) and ``3p4`` (possible)."""
    pair, before = start.pair, start.offset
    for number, following, line in lines:
        links = []
        for written in line.split():
            match = _TALP.fullmatch(written)
            if match is None:
                message = f"expected links such as 3-4 (sure) or 3p4 (possible), found {written[:40]!r}"
                raise CorpusError(message, file=path, line=number)
            links.append(WrittenLink(int(match[1]), int(match[3]), match[2] == "-", number))
        yield WrittenPair(pair, links, 0, LinkMark(before, number - 1, pair))
        pair, before = pair + 1, following


def _read_naacl(path: str | Path, lines: LocatedLines, start: LinkMark, first_number: int) -> Iterator[WrittenPair]:
    """One line per link: the numbers of pair, source word and target word, all from 1, then ``S`` or ``P``.

    Word 0 is no word. A link without a letter is sure.
    """
    current: WrittenPair | None = None
    expected, before = first_number + start.pair, start.offset
    for number, following, line in lines:
        if not line.strip():
            before = following
            continue
        match = _NAACL.fullmatch(line.strip())
        if match is None:
            message = f"expected the numbers of pair, source and target word, then S or P, found {line.strip()[:40]!r}"
            raise CorpusError(message, file=path, line=number)
        pair, source, target = (int(group) for group in match.groups()[:3])
        if pair < expected:
            message = f"expected the links of sentence pair {expected} or a later one, found pair {pair}"
            raise CorpusError(message, file=path, line=number)
        if current is None or pair - first_number != current.pair:
            if current is not None:
                yield current
            index = pair - first_number
            current = WrittenPair(index, [], 0, LinkMark(before, number - 1, index))
        if source and target:
            current.links.append(WrittenLink(source, target, match[4] != "P", number))
        else:
            current = current._replace(null_links=current.null_links + 1)
        expected, before = pair, following
    if current is not None:
        yield current


FORMATS = (
    LinkFormat(
        "talp", "lines", None, lambda line: _TALP.fullmatch(line.split()[0]) is not None if line else True, _read_talp
    ),
    LinkFormat("naacl", "sentence pairs", True, lambda line: _NAACL.fullmatch(line) is not None, _read_naacl),
)
"""All formats, each with how it is recognized and read."""
