"""The formats of files of word links: how a file of each format is recognized, and how it is read.

To add a format, write its reader and add a row to `FORMATS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import text_lines

_TALP = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
_NAACL = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+[0-9.eE+-]+)?")


@dataclass(frozen=True, slots=True)
class WrittenLink:
    """A link as it is written in a file.

    Attributes:
        pair: the sentence pair that it belongs to, counted from 0 from the first pair of the bitext.
        source, target: the numbers of the words, as they are written.
        sure: whether the link is sure.
        line: the line of the file.
    """

    pair: int
    source: int
    target: int
    sure: bool
    line: int


@dataclass(frozen=True)
class LinkContents:
    """What a file of links holds.

    Attributes:
        links: the links.
        pairs: the number of sentence pairs that the file says something about.
        unit: the unit in which the file counts pairs, for messages.
        one_based: whether its format counts words from 1; None if the format does not tell.
        null_links: the number of links to no word, which are left out.
    """

    links: tuple[WrittenLink, ...]
    pairs: int
    unit: str
    one_based: bool | None = None
    null_links: int = 0


@dataclass(frozen=True)
class LinkFormat:
    """One format of files of links.

    Attributes:
        name: the name of the format.
        recognize: a function that tells from the first line with a link whether a file has the format.
        read: a function that reads the lines of a file; its last argument is the number of the first pair.
    """

    name: str
    recognize: Callable[[str], bool]
    read: Callable[[str | Path, Iterable[tuple[int, str]], int], LinkContents]


def read_link_file(path: str | Path, first_number: int) -> tuple[str, LinkContents]:
    """Return the name of the format of a file and its contents.

    A file of no known format counts as ``talp``, whose reader then reports the line that is wrong.

    Args:
        path: the file.
        first_number: the number of the first pair, for formats that number the pairs.

    Raises:
        CorpusError: the file cannot be read, or a line is not in its format.
    """
    lines = list(text_lines(path))
    first = next((line.strip() for _, line in lines if line.strip()), "")
    link_format = next((row for row in FORMATS if row.recognize(first)), FORMATS[0])
    return link_format.name, link_format.read(path, lines, first_number)


def _read_talp(path: str | Path, lines: Iterable[tuple[int, str]], first_number: int) -> LinkContents:
    """One line per pair, with links such as ``3-4`` (sure) and ``3p4`` (possible)."""
    links, count = [], 0
    for number, line in lines:
        count += 1
        for written in line.split():
            match = _TALP.fullmatch(written)
            if match is None:
                message = f"expected links such as 3-4 (sure) or 3p4 (possible), found {written[:40]!r}"
                raise CorpusError(message, file=path, line=number)
            links.append(WrittenLink(count - 1, int(match[1]), int(match[3]), match[2] == "-", number))
    return LinkContents(tuple(links), count, "lines")


def _read_naacl(path: str | Path, lines: Iterable[tuple[int, str]], first_number: int) -> LinkContents:
    """One line per link: the numbers of pair, source word and target word, all from 1, then ``S`` or ``P``.

    Word 0 is no word. A link without a letter is sure.
    """
    links: list[WrittenLink] = []
    last = first_number - 1
    null_links = 0
    for number, line in _filled(lines):
        match = _NAACL.fullmatch(line.strip())
        if match is None:
            message = f"expected the numbers of pair, source and target word, then S or P, found {line.strip()[:40]!r}"
            raise CorpusError(message, file=path, line=number)
        pair, source, target = (int(group) for group in match.groups()[:3])
        if pair < max(last, first_number):
            message = f"expected the links of sentence pair {max(last, first_number)} or a later one, found pair {pair}"
            raise CorpusError(message, file=path, line=number)
        last = pair
        if source and target:
            links.append(WrittenLink(pair - first_number, source, target, match[4] != "P", number))
        else:
            null_links += 1
    return LinkContents(tuple(links), last - first_number + 1, "sentence pairs", one_based=True, null_links=null_links)


def _filled(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in lines if line.strip())


FORMATS = (
    LinkFormat("talp", lambda line: _TALP.fullmatch(line.split()[0]) is not None if line else True, _read_talp),
    LinkFormat("naacl", lambda line: _NAACL.fullmatch(line) is not None, _read_naacl),
)
"""All formats, each with how it is recognized and read."""
