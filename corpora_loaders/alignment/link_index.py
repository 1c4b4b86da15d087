"""An index of a file of word links: what is known about all links, and where those of each window of pairs begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..stamps import Stamp, check_stamp, stamp
from .link_checks import LinkChecks, Sizes
from .links import FORMATS, LinkMark, LinkSource, PairLinks, counted_links, format_of_links, written_pairs


@dataclass(frozen=True)
class LinkIndex:
    """Everything about the links of a bitext except the links.

    Attributes:
        source: where the links are from, and how many there are.
        stamp: the size and the time of modification of the file, by which a change is noticed.
        first_number: the number of the first pair, for formats that number the pairs.
        starts: the first pair of each window.
        marks: where the links of each window begin.
    """

    source: LinkSource
    stamp: Stamp
    first_number: int
    starts: tuple[int, ...]
    marks: tuple[LinkMark, ...]

    def links_from(self, window: int) -> Iterator[PairLinks]:
        """Yield the links of each pair from the beginning of a window on, without end, including those outside it.

        Raises:
            CorpusError: the file cannot be read.
        """
        link_format = next(row for row in FORMATS if row.name == self.source.format)
        pair = self.starts[window]
        for written in written_pairs(self.source.path, link_format, self.first_number, self.marks[window]):
            while pair < written.pair:
                yield PairLinks()
                pair += 1
            yield counted_links(written.links, int(self.source.one_based))
            pair += 1
        while True:
            yield PairLinks()


def index_links(
    name: str,
    path: str | Path,
    sizes: Sizes,
    starts: Sequence[int],
    first_number: int,
    *,
    one_based: bool,
    lenient: bool = False,
) -> LinkIndex:
    """Index a file of links.

    Args:
        name: the name of the links.
        path: the file.
        sizes: the numbers of words of the pairs.
        starts: the first pair of each window.
        first_number: the number of the first pair, for formats that number the pairs.
        one_based: whether words are counted from 1, if the format does not tell.
        lenient: whether links to words that their sentences do not have are left out and counted.

    Raises:
        CorpusError: `attentionology.corpora_loaders.alignment.load_links` raises it, or the file was changed while it
            was read.
    """
    expected = stamp(path)
    link_format = format_of_links(path)
    checks = LinkChecks(path, link_format, sizes, one_based=one_based, lenient=lenient)
    marks: list[LinkMark] = []
    for written in written_pairs(path, link_format, first_number):
        while len(marks) < len(starts) and starts[len(marks)] <= written.pair:
            marks.append(written.mark._replace(pair=starts[len(marks)]))
        checks.add(written)
    source = checks.finish(name)
    check_stamp(path, expected)
    return LinkIndex(source, expected, first_number, tuple(starts), tuple(marks))
