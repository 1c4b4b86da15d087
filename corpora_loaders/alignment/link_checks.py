"""Noticing files of word links that do not belong to their bitext, while they are read for the first time.

A file that is counted from another number, cut, or written for the other direction would still give a score, and a
wrong one. So the numbers of words and pairs are compared with the bitext, and a file that does not fit is refused with
the place and, where one change makes all links fit, with that change.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import CorpusError
from ..lines import file_sha256, text_lines
from ..stream import FirstReading, ReadFile
from .links import (
    BEGINNING,
    LinkFormat,
    LinkReader,
    LinkSource,
    PairLinks,
    WrittenLink,
    WrittenPair,
    counted_links,
    format_of_links,
)

_ENOUGH_PAIRS = 20
"""The smallest number of pairs with links in which it is no coincidence that no first word is linked, or that
fewer links lie outside their pairs when the file is read in another way."""


class Sizes(NamedTuple):
    """The numbers of source and target words of sentence pairs, and the number of all pairs in the files."""

    source: Sequence[int]
    target: Sequence[int]
    total: int


class LinkChecks:
    """Counts and checks the links of a file, pair by pair; for the options see `load_links`."""

    def __init__(
        self, path: str | Path, link_format: LinkFormat, sizes: Sizes, *, one_based: bool, lenient: bool = False
    ) -> None:
        self.path, self.format, self.sizes, self.lenient = path, link_format, sizes, lenient
        self.counted_from = int(one_based if link_format.one_based is None else link_format.one_based)
        self._pairs = self._linked_pairs = 0
        self._sure = self._possible = self._links = self._null_links = 0
        self._has_first_words = self._ends_with_none = False
        # Links outside their pairs, by the number from which words are counted and by whether the sides are swapped.
        self._outside = dict.fromkeys(((base, turned) for base in (0, 1) for turned in (False, True)), 0)
        self._first_outside: tuple[int, WrittenLink] | None = None

    def add(self, written: WrittenPair) -> None:
        """Add the links of a pair, which count only if the bitext has the pair."""
        self._pairs = written.pair + 1
        self._null_links += written.null_links
        self._ends_with_none = not written.links and not written.null_links
        if written.pair >= len(self.sizes.source):
            return
        size = self.sizes.source[written.pair], self.sizes.target[written.pair]
        self._linked_pairs += bool(written.links)
        self._links += len(written.links)
        for base, turned in self._outside:
            sources, targets = size[::-1] if turned else size
            outside = [
                link
                for link in written.links
                if not (0 <= link.source - base < sources and 0 <= link.target - base < targets)
            ]
            self._outside[base, turned] += len(outside)
            if outside and (base, turned) == (self.counted_from, False) and self._first_outside is None:
                self._first_outside = written.pair, outside[0]
        self._has_first_words |= any(0 in (link.source, link.target) for link in written.links)
        links = counted_links(written.links, self.counted_from).within(*size)
        self._sure += len(links.sure)
        self._possible += len(links.possible)

    def finish(self, name: str) -> LinkSource:
        """Check the file when all links have been added, and describe it; its links have this name."""
        # A blank line after the links of all pairs ends the file; any other one is a pair without links.
        if self._pairs != self.sizes.total and not (self._pairs == self.sizes.total + 1 and self._ends_with_none):
            fault = "is the file truncated?" if self._pairs < self.sizes.total else "does it belong to another bitext?"
            message = f"{self._pairs:,} {self.format.unit} of links for {self.sizes.total:,} sentence pairs; {fault}"
            raise CorpusError(message, file=self.path)
        may_be_one_based = self.format.one_based is None and not self.counted_from
        if self._first_outside is not None:
            self._check_outside(*self._first_outside)
        elif may_be_one_based and not self._has_first_words and self._linked_pairs >= _ENOUGH_PAIRS:
            fits = "no link is of a first word, and all links fit if words are counted from 1"
            raise CorpusError(f"{fits}; use one_based=True (--one-based)", file=self.path)
        outside = self._outside[self.counted_from, False]
        return LinkSource(
            name,
            str(self.path),
            file_sha256(self.path),
            self.format.name,
            bool(self.counted_from),
            self._sure,
            self._possible,
            self._links - self._possible - outside,
            self._null_links,
            outside,
        )

    def _check_outside(self, pair: int, link: WrittenLink) -> None:
        """Refuse links outside their pairs, of which this is the first, or all of them if they seem to be misread."""
        other = 1 - self.counted_from
        choice = "one_based=True (--one-based)" if other else "one_based=False (without --one-based)"
        changes = {(self.counted_from, True): "source and target are swapped"}
        if self.format.one_based is None:
            changes = {
                (other, False): f"words are counted from {other}: use {choice}",
                **changes,
                (other, True): f"source and target are swapped and words are counted from {other}",
            }
        found = self._outside[self.counted_from, False]
        best = min(changes, key=self._outside.__getitem__)
        left = self._outside[best]
        # A misread file must not lose most of its links in silence. In a few pairs, links may fit by chance.
        if self.lenient and (left >= found or self._linked_pairs < _ENOUGH_PAIRS):
            return
        hint = "lenient=True (--lenient) leaves such links out"
        if left == 0 or (left < found and self.lenient):
            hint = f"all {f'but {left:,} ' if left else ''}links fit if {changes[best]}"
        size = f"{self.sizes.source[pair]} source and {self.sizes.target[pair]} target words"
        written = f"{link.source}-{link.target}"
        message = f"link {written} is outside its sentence pair of {size}, counted from {self.counted_from}; {hint}"
        raise CorpusError(message, file=self.path, line=link.line)


def first_read(
    name: str, path: str | Path, sizes: Sizes, first_number: int, *, one_based: bool, lenient: bool
) -> tuple[LinkSource, ReadFile[PairLinks]]:
    """Read a file of links for the first time, and check it; see `load_links`."""
    link_format = format_of_links(path)
    checks = LinkChecks(path, link_format, sizes, one_based=one_based, lenient=lenient)
    file = FirstReading(path, LinkReader(link_format, first_number, checks.counted_from))
    try:
        for written in link_format.read(path, BEGINNING, first_number):
            checks.add(written)
            if written.pair < len(sizes.source):
                file.note(written.pair + 1, written.pair + 1, written.after)
    except CorpusError:
        for _ in text_lines(path):  # whatever makes the whole file unreadable is the better explanation
            pass
        raise
    return checks.finish(name), file.finished()
