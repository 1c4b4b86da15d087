"""Noticing files of word links that do not belong to their bitext, while they are read pair by pair.

A file that is counted from another number, cut, or written for the other direction would still give a score, and a
wrong one. So the numbers of words and pairs are compared with the bitext, and a file that does not fit is refused with
the place and, where one change makes all links fit, with that change.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import CorpusError
from ..lines import file_sha256
from .link_formats import LinkFormat, WrittenLink, WrittenPair
from .links import Link, LinkSource, PairLinks

_ENOUGH_PAIRS = 20
"""The smallest number of pairs with links in which it is no coincidence that no first word is linked, or that
fewer links lie outside their pairs when the file is read in another way."""


class Sizes(NamedTuple):
    """The numbers of words of the sentence pairs of a bitext.

    Attributes:
        source: the number of source words of each pair.
        target: the number of target words of each pair.
        total: the number of pairs in the files, which is larger if only some of them are used.
    """

    source: Sequence[int]
    target: Sequence[int]
    total: int


class LinkChecks:
    """Counts and checks the links of a file.

    Args:
        path: the file.
        link_format: its format.
        sizes: the numbers of words of the pairs.
        one_based: whether words are counted from 1, if the format does not tell.
        lenient: whether links to words that their sentences do not have are left out and counted.
    """

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

    def add(self, written: WrittenPair) -> PairLinks | None:
        """Add the links of a pair, and return them counted from 0; None if the pair is not used."""
        self._pairs = written.pair + 1
        self._null_links += written.null_links
        self._ends_with_none = not written.links and not written.null_links
        if written.pair >= len(self.sizes.source):
            return None
        self._check(written)
        size = self.sizes.source[written.pair], self.sizes.target[written.pair]
        links = counted_links(written.links, self.counted_from).within(*size)
        self._links += len(written.links)
        self._sure += len(links.sure)
        self._possible += len(links.possible)
        return links

    def finish(self, name: str) -> LinkSource:
        """Describe the file when all links have been added.

        Args:
            name: the name of the links.

        Raises:
            CorpusError: the file has links for more or fewer pairs than the bitext, or a link to a word that a sentence
                does not have, or seems to be counted from another number.
        """
        # A blank line after the links of all pairs ends the file; any other one is a pair without links.
        if self._pairs != self.sizes.total and not (self._pairs == self.sizes.total + 1 and self._ends_with_none):
            fault = "is the file truncated?" if self._pairs < self.sizes.total else "does it belong to another bitext?"
            message = f"{self._pairs:,} {self.format.unit} of links for {self.sizes.total:,} sentence pairs; {fault}"
            raise CorpusError(message, file=self.path)
        self._check_words()
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

    def _check(self, written: WrittenPair) -> None:
        """Count the links of a pair that are outside it, however the words may be counted."""
        if not written.links:
            return
        self._linked_pairs += 1
        sources, targets, _, _ = zip(*written.links, strict=True)
        least = min(sources), min(targets)
        most = max(sources), max(targets)
        self._has_first_words = self._has_first_words or 0 in least
        size = self.sizes.source[written.pair], self.sizes.target[written.pair]
        for base, turned in self._outside:
            limit = size[::-1] if turned else size
            if base <= min(least) and most[0] - base < limit[0] and most[1] - base < limit[1]:
                continue
            outside = [
                link
                for link in written.links
                if not (0 <= link.source - base < limit[0] and 0 <= link.target - base < limit[1])
            ]
            self._outside[base, turned] += len(outside)
            if (base, turned) == (self.counted_from, False) and self._first_outside is None:
                self._first_outside = written.pair, outside[0]

    def _check_words(self) -> None:
        """Check what was noted about all links.

        Raises:
            CorpusError: a link is outside its sentence pair, or words seem to be counted from 1.
        """
        other = 1 - self.counted_from
        can_choose = self.format.one_based is None
        found = self._outside[self.counted_from, False]
        if self._first_outside is None:
            from_one = can_choose and not self.counted_from and not self._has_first_words
            if from_one and self._linked_pairs >= _ENOUGH_PAIRS:
                message = (
                    "no link is of a first word, and all links fit if words are counted from 1; use one_based=True"
                )
                raise CorpusError(f"{message} (--one-based)", file=self.path)
            return
        choice = "one_based=True (--one-based)" if other else "one_based=False (without --one-based)"
        changes = [((self.counted_from, True), "source and target are swapped")]
        if can_choose:
            changes.insert(0, ((other, False), f"words are counted from {other}: use {choice}"))
            changes.append(((other, True), f"source and target are swapped and words are counted from {other}"))
        hint = "; lenient=True (--lenient) leaves such links out"
        # A misread file must not lose most of its links in silence. In a few pairs, links may fit by chance.
        left = min(self._outside[reading] for reading, _ in changes)
        if left == 0 or (left < found and self.lenient):
            change = next(text for reading, text in changes if self._outside[reading] == left)
            hint = f"; all {'' if not left else f'but {left:,} '}links fit if {change}"
        if self.lenient and (left >= found or self._linked_pairs < _ENOUGH_PAIRS):
            return
        pair, link = self._first_outside
        size = f"{self.sizes.source[pair]} source and {self.sizes.target[pair]} target words"
        written = f"{link.source}-{link.target}"
        message = f"link {written} is outside its sentence pair of {size}, counted from {self.counted_from}{hint}"
        raise CorpusError(message, file=self.path, line=link.line)


def counted_links(written: Sequence[WrittenLink], counted_from: int) -> PairLinks:
    """Return the links of a pair counted from 0.

    Args:
        written: the links as they are written.
        counted_from: the number of the first word in the file.
    """
    sure: list[Link] = []
    possible: list[Link] = []
    for link in written:
        (sure if link.sure else possible).append((link.source - counted_from, link.target - counted_from))
    return PairLinks.of(sure, possible)
