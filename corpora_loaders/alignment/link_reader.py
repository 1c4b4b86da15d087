"""Reading files of word links beside their bitext: once to check them, and again from any place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..stream import MARKED
from .link_checks import LinkChecks, Sizes
from .links import FORMATS, LinkMark, LinkSource, PairLinks, counted_links, format_of_links, written_pairs


@dataclass(frozen=True)
class LinkReader:
    """Reads the links of a bitext again."""

    source: LinkSource
    first_number: int  # the number of the first pair, for formats that number the pairs
    marks: tuple[LinkMark, ...]  # where the links of every `MARKED`-th pair begin, as far as there are any

    def links_from(self, block: int) -> Iterator[PairLinks]:
        """Yield the links of each pair from a mark on, without end, including those outside their pairs."""
        link_format = next(row for row in FORMATS if row.name == self.source.format)
        pair = block * MARKED
        places = self.marks[block : block + 1]  # none if no pair from here on has links
        for written in written_pairs(self.source.path, link_format, self.first_number, *places) if places else ():
            while pair < written.pair:
                yield PairLinks()
                pair += 1
            yield counted_links(written.links, int(self.source.one_based))
            pair += 1
        while True:
            yield PairLinks()


def first_read(
    name: str, path: str | Path, sizes: Sizes, first_number: int, *, one_based: bool, lenient: bool
) -> LinkReader:
    """Read a file of links for the first time, and check it; see `load_links`."""
    link_format = format_of_links(path)
    checks = LinkChecks(path, link_format, sizes, one_based=one_based, lenient=lenient)
    marks: list[LinkMark] = []
    for written in written_pairs(path, link_format, first_number):
        while len(marks) * MARKED <= min(written.pair, len(sizes.source) - 1):
            marks.append(written.mark._replace(pair=len(marks) * MARKED))
        checks.add(written)
    return LinkReader(checks.finish(name), first_number, tuple(marks))
