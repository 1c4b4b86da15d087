"""Links between the words of a sentence and those of its translation, and files of links, which are read pair by pair.

A file that is counted from another number, cut, or written for the other direction would still give a score, and a
wrong one. So the numbers of words and pairs are compared with the bitext, and a file that does not fit is refused with
the place and, where one change makes all links fit, with that change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product, repeat
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from ...storage.durable import write_durably
from ...storage.paths import check_file
from ..errors import CorpusError
from ..lines import file_sha256, text_lines
from ..stream import ReadFile
from .bitext import Link, LinkSource, PairLinks

_SCORE = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""The score that some aligners write after a link. It has no effect: a link is there or not."""

_TALP = re.compile(rf"([0-9]{{1,9}})([-p])([0-9]{{1,9}})(?::{_SCORE})?")
_NAACL = re.compile(r"([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})(?:\s+([SP]))?(?:\s+" + _SCORE + ")?")


_UNITS = {"talp": "lines", "naacl": "sentence pairs"}  # in which the formats count pairs, for messages
_ENOUGH_PAIRS = 20
"""The smallest number of pairs with links in which it is no coincidence that no first word is linked, or that
fewer links lie outside their pairs when the file is read in another way."""


def write_links(path: str | Path, links: Iterable[Iterable[Link]], *, overwrite: bool = False) -> None:
    """Write links in the format talp, counted from 0, one line per pair.

    Args:
        path: the file to write.
        links: the links of each pair.
        overwrite: whether to replace a file.

    Raises:
        StorageError: the file exists, or cannot be written.

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
    target = check_file(path, overwrite=overwrite)
    lines = [" ".join(f"{source}-{target}" for source, target in sorted(pair)) + "\n" for pair in links]
    write_durably(target, "".join(lines).encode())


class WrittenLink(NamedTuple):
    """A link with the numbers of its words as they are written, and its line."""

    source: int
    target: int
    sure: bool
    line: int


Place = tuple[int, int, int]
"""A place in a file of links: the numbers of bytes, lines and sentence pairs before it."""
_BEGINNING: Place = (0, 0, 0)


class WrittenPair(NamedTuple):
    """The links of one sentence pair as they are written in a file."""

    pair: int  # the number of the sentence pair, counted from 0 from the first pair of the bitext
    links: list[WrittenLink]
    null_links: int  # the number of links to no word, which are left out
    after: Place  # the place after them


class Sizes(NamedTuple):
    """The numbers of source and target words of sentence pairs, and the number of all pairs in the files."""

    source: Sequence[int]
    target: Sequence[int]
    total: int


def check_links(
    name: str, path: str | Path, sizes: Sizes, first_number: int, *, one_based: bool, lenient: bool
) -> tuple[LinkSource, ReadFile[PairLinks]]:
    """Read a file of links for the first time, and check it; return its facts, and its pairs to be read again."""
    link_format = _format_of(path)
    counted_from = 1 if one_based or link_format == "naacl" else 0
    checks = LinkChecks(path, link_format, sizes, counted_from, lenient=lenient)
    file = ReadFile(read_links, str(path), (link_format, first_number, counted_from))
    try:
        for written in written_pairs(path, link_format, _BEGINNING, first_number):
            checks.add(written)
            if written.pair < len(sizes.source):
                file.n_items = written.pair  # all before it count as read, because pairs without links may have no line
                file.note(written.after)
    except CorpusError:
        for _ in text_lines(path):  # raises a fault of the whole file, such as its encoding, which explains more
            pass
        raise
    source = checks.finish(name)
    file.check()
    return source, file


def number_of_pairs(path: str | Path) -> int:
    """Return the number of sentence pairs of a file, whose first pair is number 1; a last one without links is none."""
    last = 0
    for pair in written_pairs(path, _format_of(path), _BEGINNING, 1):
        last = pair.pair + 1 if pair.links or pair.null_links else last
    return last


def _format_of(path: str | Path) -> str:
    """Return the name of the format of a file, by its first line that is not blank."""
    first_line = next((line.strip() for _, _, line in text_lines(path) if line.strip()), "")
    return "naacl" if _NAACL.fullmatch(first_line) else "talp"  # whose reader refuses a line of neither format


def read_links(
    path: str, place: Place | None, link_format: str, first_number: int, counted_from: int
) -> Iterator[tuple[PairLinks, None]]:
    """Yield the links of each pair, also those outside their pairs, and of pairs that have no line. See `ReadFile`."""
    place = place or _BEGINNING
    _offset, _line, next_pair = place
    for written in written_pairs(path, link_format, place, first_number):
        yield from repeat((PairLinks(), None), written.pair - next_pair)  # pairs that have no line have no links
        yield counted_links(written.links, counted_from), None
        next_pair = written.pair + 1


def counted_links(written: Sequence[WrittenLink], counted_from: int) -> PairLinks:
    """Return links counted from 0, given those of a file that counts words from ``counted_from``."""
    sure: list[Link] = []
    possible: list[Link] = []
    for link in written:
        (sure if link.sure else possible).append((link.source - counted_from, link.target - counted_from))
    return PairLinks.of(sure, possible)


def written_pairs(path: str | Path, link_format: str, start: Place, first_number: int) -> Iterator[WrittenPair]:
    """Yield the links of the pairs of a file from a place on. Pairs without a line are left out."""
    return _read_naacl(path, start, first_number) if link_format == "naacl" else _read_talp(path, start)


def _read_talp(path: str | Path, start: Place) -> Iterator[WrittenPair]:
    """Read a file with one line per pair, with links such as ``3-4`` (sure), ``3p4`` (possible) and ``3-4:0.87``."""
    offset, lines, first_pair = start
    for pair, (line_number, next_offset, line) in enumerate(text_lines(path, offset=offset, lines=lines), first_pair):
        links = []
        for written in line.split():
            match = _TALP.fullmatch(written)
            if match is None:
                message = f"expected links such as 3-4 (sure), 3p4 (possible) or 3-4:0.87, found {written[:40]!r}"
                raise CorpusError(message, file=path, line=line_number)
            source, separator, target = match.groups()
            links.append(WrittenLink(int(source), int(target), separator == "-", line_number))
        yield WrittenPair(pair, links, null_links=0, after=(next_offset, line_number, pair + 1))


def _read_naacl(path: str | Path, start: Place, first_number: int) -> Iterator[WrittenPair]:
    """Read a file with one line per link: the numbers of pair, source word and target word, then ``S`` or ``P``.

    All are counted from 1, and word 0 is no word. A link without a letter is sure.
    """
    offset, lines, first_pair = start

    def numbered_links() -> Iterator[tuple[int, WrittenLink, int]]:  # the pair, counted from 0, and the next offset
        earliest = first_number + first_pair
        for number, next_offset, line in text_lines(path, offset=offset, lines=lines):
            line = line.strip()
            if not line:
                continue
            match = _NAACL.fullmatch(line)
            if match is None:
                message = f"expected the numbers of pair, source and target word, then S or P, found {line[:40]!r}"
                raise CorpusError(message, file=path, line=number)
            pair, source, target = (int(group) for group in match.groups()[:3])
            if pair < earliest:
                message = f"expected the links of sentence pair {earliest} or a later one, found pair {pair}"
                raise CorpusError(message, file=path, line=number)
            earliest = pair
            yield pair - first_number, WrittenLink(source, target, match[4] != "P", number), next_offset

    for pair, links_of_pair in groupby(numbered_links(), itemgetter(0)):
        _, written, next_offsets = zip(*links_of_pair, strict=True)
        links = [link for link in written if link.source and link.target]
        yield WrittenPair(pair, links, len(written) - len(links), (next_offsets[-1], written[-1].line, pair + 1))


class LinkChecks:
    """Counts and checks the links of a file, pair by pair; for the options see `load_links`."""

    def __init__(
        self, path: str | Path, link_format: str, sizes: Sizes, counted_from: int, *, lenient: bool = False
    ) -> None:
        self.path, self.format, self.sizes, self.lenient = path, link_format, sizes, lenient
        self.counted_from = counted_from
        self._pairs = self._linked_pairs = self._links = self._sure = self._possible = self._null_links = 0
        self._has_first_words = self._ends_with_none = False
        # Links outside their pairs, by the number from which words are counted and by whether the sides are swapped.
        self._outside: Counter[tuple[int, bool]] = Counter()
        self._first_outside: tuple[int, WrittenLink] | None = None  # the index of its pair, and the link

    def add(self, written: WrittenPair) -> None:
        """Add the links of a pair, which count only if the bitext has the pair."""
        self._pairs = written.pair + 1
        self._null_links += written.null_links
        self._ends_with_none = not written.links and not written.null_links  # as at a last blank line, see `finish`
        if written.pair >= len(self.sizes.source):
            return
        n_source, n_target = self.sizes.source[written.pair], self.sizes.target[written.pair]
        self._linked_pairs += bool(written.links)
        self._links += len(written.links)
        self._has_first_words |= any(0 in (link.source, link.target) for link in written.links)
        for first_word, is_swapped in product((0, 1), (False, True)):  # all ways in which the file can be read
            sources, targets = range(first_word, first_word + n_source), range(first_word, first_word + n_target)
            if is_swapped:
                sources, targets = targets, sources
            outside = [link for link in written.links if link.source not in sources or link.target not in targets]
            self._outside[first_word, is_swapped] += len(outside)
            if outside and self._first_outside is None and (first_word, is_swapped) == (self.counted_from, False):
                self._first_outside = written.pair, outside[0]
        links = counted_links(written.links, self.counted_from).within(n_source, n_target)
        self._sure += len(links.sure)
        self._possible += len(links.possible)

    def finish(self, name: str) -> LinkSource:
        """Check the file when all links have been added, and describe it; its links have this name."""
        # A blank line after the links of all pairs ends the file; any other one is a pair without links.
        if self._pairs != self.sizes.total and not (self._pairs == self.sizes.total + 1 and self._ends_with_none):
            fault = "is the file truncated?" if self._pairs < self.sizes.total else "does it belong to another bitext?"
            pairs = f"{self._pairs:,} {_UNITS[self.format]} of links for {self.sizes.total:,} sentence pairs"
            raise CorpusError(f"{pairs}; {fault}", file=self.path)
        if self._first_outside is not None:
            self._check_outside(*self._first_outside)
        elif not self.counted_from and not self._has_first_words and self._linked_pairs >= _ENOUGH_PAIRS:
            fits = "no link is of a first word, and all links fit if words are counted from 1"
            raise CorpusError(f"{fits}; use one_based=True (--one-based)", file=self.path)
        outside = self._outside[self.counted_from, False]  # as the file is read, without swapped sides
        return LinkSource(
            name=name,
            path=str(self.path),
            sha256=file_sha256(self.path),
            format=self.format,
            one_based=self.counted_from == 1,
            sure=self._sure,
            possible=self._possible,
            repeated=self._links - self._possible - outside,  # the possible links include the sure ones
            null_links=self._null_links,
            outside=outside,
        )

    def _check_outside(self, pair: int, link: WrittenLink) -> None:
        """Refuse links outside their pairs, of which this is the first, or all of them if they seem to be misread."""
        other = 1 - self.counted_from
        choice = "one_based=True (--one-based)" if other else "one_based=False (without --one-based)"
        changes = {
            (other, False): f"words are counted from {other}: use {choice}",
            (self.counted_from, True): "source and target are swapped",
            (other, True): f"source and target are swapped and words are counted from {other}",
        }
        if self.format == "naacl":  # which says from where words are counted
            changes = {change: text for change, text in changes.items() if change[0] == self.counted_from}
        outside = self._outside[self.counted_from, False]
        best = min(changes, key=self._outside.__getitem__)
        still_outside = self._outside[best]
        # A misread file must not lose most of its links in silence. In a few pairs, links may fit by chance.
        if self.lenient and (still_outside >= outside or self._linked_pairs < _ENOUGH_PAIRS):
            return
        hint = "lenient=True (--lenient) leaves such links out"
        if still_outside == 0 or (still_outside < outside and self.lenient):
            links = f"all but {still_outside:,} links" if still_outside else "all links"
            hint = f"{links} fit if {changes[best]}"
        size = f"{self.sizes.source[pair]} source and {self.sizes.target[pair]} target words"
        written = f"{link.source}-{link.target}"
        message = f"link {written} is outside its sentence pair of {size}, counted from {self.counted_from}; {hint}"
        raise CorpusError(message, file=self.path, line=link.line)
