"""Loading bitexts, whose sides are in two files or in one, and the links of their words."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat, zip_longest
from pathlib import Path

from ..errors import CorpusError
from ..gate import BlankWords
from ..lines import file_sha256, text_lines
from ..stream import ReadFile, Stream
from ..tally import CorpusFile
from .bitext import Bitext, LinkFile, PairLinks, SentencePair, check_sure, facts_of_pairs
from .links import Sizes, check_links, number_of_pairs

HELD_PAIRS = 1024
"""The largest number of pairs that are held in memory, about 9 MB with their links."""

SEPARATORS = {"|||": "'|||'", "\t": "a tab"}
"""What may stand between the two sides of a pair in a single file, each with its name in messages."""

_ANY_WORDS = 10**9
"""More words than a sentence has, for links whose sentences are not known."""

_NUMBERED = re.compile(r"\s*<s\s+snum\s*=\s*\"?([0-9]{1,9})\"?\s*>(.*)</s>\s*")


def load_bitext(
    source: str | Path,
    target: str | Path | None = None,
    *,
    gold: str | Path | None = None,
    one_based: bool = False,
    hypotheses: Mapping[str, str | Path] | None = None,
    limit: int | None = None,
    lenient: bool = False,
) -> Bitext:
    """Read sentence pairs in UTF-8, one pair per line, with words separated by white space, and their links.

    Files may be compressed with gzip, bzip2, xz or zip. Lines ``<s snum=12> … </s>`` (the shared tasks of NAACL 2003
    and ACL 2005) are read without their tags. The id of a pair is ``file:line`` of its source side. All errors of the
    files are found at once. The pairs of small bitexts are held in memory; those of others are read again whenever they
    are asked for, see `attentionology.corpora_loaders.stream`.

    Args:
        source: the file of the source sentences, or of both sides with ``|||`` or a tab between them.
        target: the file of the translations, if they are in a separate file.
        gold: the file of the gold links, see `load_links`; None if they are not known.
        one_based: whether gold links in the format talp count words from 1.
        hypotheses: the files of the links of other systems, counted from 0, by name.
        limit: keep at most this many pairs. All lines are read and checked.
        lenient: whether links to words that their sentences do not have are left out and counted.

    Raises:
        ValueError: the limit is less than 1.
        CorpusError: a file cannot be read, the two files have different numbers of lines or are the same file, a line
            does not have two sides, or a side has no words; or links do not belong to the sentence pairs.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.alignment import load_bitext
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, gold = Path(folder, "pairs.txt"), Path(folder, "gold.talp")
        ...     _ = path.write_text("das Haus ||| the house\\ndas Buch ||| the book\\n")
        ...     _ = gold.write_text("0-0 1-1\\n0-0 1p1\\n")
        ...     bitext = load_bitext(path, gold=gold)
        >>> bitext
        Bitext(2 sentence pairs, 4 source words, 4 target words, 'pairs.txt')
        >>> bitext.pairs[1].source, bitext.pairs[1].words, sorted(bitext.pairs[1].gold.sure)
        (('das', 'Buch'), ('the', 'book'), [(0, 0)])
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    paths, separator = _files_of(source, target)
    pairs, sizes, records, first_number = _first_pairs(paths, separator, limit)
    gold_source, gold_file = None, None
    if gold is not None:
        gold_source, gold_file = check_links("gold", gold, sizes, first_number, one_based=one_based, lenient=lenient)
    read_hypotheses = [
        check_links(name, path, sizes, first_number, one_based=False, lenient=lenient)
        for name, path in (hypotheses or {}).items()
    ]
    check_sure(gold_source)
    pairs = replace(pairs, gold=gold_file, hypotheses=tuple((links.name, file) for links, file in read_hypotheses))
    return Bitext(
        Stream(pairs, held=tuple(pairs(0, len(pairs))) if len(pairs) <= HELD_PAIRS else ()),
        records,
        total=sizes.total,
        first_number=first_number,
        gold=gold_source,
        hypotheses=tuple(links for links, _ in read_hypotheses),
    ).knowing(counted=facts_of_pairs(len(pairs), sum(sizes.source), sum(sizes.target)))


def load_links(path: str | Path, bitext: Bitext, *, one_based: bool = False, lenient: bool = False) -> LinkFile:
    """Read the links of a bitext, source word first.

    The format is recognized by the first line:

    * talp, or Pharaoh: one line per pair with links such as ``3-4`` (sure) and ``3p4`` (possible). An empty line is a
      pair without links, unless it is the last one and follows those of all pairs.
    * naacl (the shared tasks of NAACL 2003 and ACL 2005): one line per link with the numbers of the pair, the source
      word and the target word, all from 1, and ``S`` or ``P``. Word 0 is not a word; such links are counted and
      left out.

    The score of a link, as in ``3-4:0.87`` or at the end of a line of naacl, has no effect.

    Args:
        path: the file, which may be compressed with gzip, bzip2, xz or zip.
        bitext: the sentence pairs.
        one_based: whether a talp file counts words from 1.
        lenient: whether links to words that their sentences do not have are left out and counted.

    Raises:
        CorpusError: the file cannot be read, has links for more or fewer pairs than the bitext, or has a link to a word
            that the sentence does not have; if lenient, at least 20 pairs have links, and fewer of them would be left
            out if words were counted from another number or the sides were swapped.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.alignment import Bitext, SentencePair, load_links
        >>> bitext = Bitext((SentencePair(id="1", words=("the", "house"), source=("das", "Haus")),), total=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "gold.talp")
        ...     _ = path.write_text("1-1 2-2 1p2\\n")
        ...     gold = load_links(path, bitext, one_based=True)
        >>> sorted(gold.links[0].sure), gold.counts()["possible"]
        ([(0, 0), (1, 1)], 3)
    """
    sizes = Sizes([len(pair.source) for pair in bitext.pairs], [len(pair) for pair in bitext.pairs], bitext.total)
    source, pairs_of_file = check_links("", path, sizes, bitext.first_number, one_based=one_based, lenient=lenient)
    pairs_with_sizes = zip(pairs_of_file(0, len(bitext)), sizes.source, sizes.target, strict=True)
    links = tuple(pair.within(n_source, n_target) for pair, n_source, n_target in pairs_with_sizes)
    facts = (source.path, source.sha256, source.format, source.one_based)
    return LinkFile(*facts, links, source.repeated, source.null_links, source.outside)


def load_link_files(
    gold: str | Path, hypotheses: Mapping[str, str | Path], *, one_based: bool = False
) -> tuple[LinkFile, dict[str, LinkFile]]:
    """Read gold links and links of other systems without the sentences, source word first; see `load_links`.

    Whether a link is to a word that its sentence has cannot be checked without the sentences.

    Args:
        gold: the file of the gold links.
        hypotheses: the file of each system, by name. In the format talp, they count words from 0.
        one_based: whether a talp file of gold links counts words from 1.

    Raises:
        CorpusError: a file cannot be read, the files have links for different numbers of pairs, a file seems to count
            words from another number, or there is no sure link.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.alignment import load_link_files
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name, text in (("gold", "1-1 2p2\\n1-1\\n"), ("system", "0-0\\n0-1\\n")):
        ...         _ = Path(folder, name).write_text(text)
        ...     gold, systems = load_link_files(
        ...         Path(folder, "gold"), {"ours": Path(folder, "system")}, one_based=True
        ...     )
        >>> [sorted(pair.possible) for pair in gold.links], [sorted(pair.sure) for pair in systems["ours"].links]
        ([[(0, 0), (1, 1)], [(0, 0)]], [[(0, 0)], [(0, 1)]])
    """
    total = max(map(number_of_pairs, (gold, *hypotheses.values())))
    any_words = [_ANY_WORDS] * total
    files = {}
    for name, path in {"": gold, **hypotheses}.items():
        based = one_based and not name
        source, pairs = check_links(name, path, Sizes(any_words, any_words, total), 1, one_based=based, lenient=False)
        files[name] = LinkFile(
            source.path, source.sha256, source.format, source.one_based, tuple(pairs(0, total)), source.repeated,
            source.null_links,
        )  # fmt: skip
    of_gold = files.pop("")
    check_sure(of_gold.source("gold"))
    return of_gold, files


NumberedLine = tuple[int, str]


def _numbered_lines(path: str, place: tuple[int, int] | None) -> Iterator[tuple[NumberedLine, tuple[int, int]]]:
    """Yield the lines of a file with their numbers, each with the place after it: the bytes and the lines before it."""
    offset, lines = place or (0, 0)
    for number, following, line in text_lines(path, offset=offset, lines=lines):
        yield (number, line), (following, number)


def _files_of(source: str | Path, target: str | Path | None) -> tuple[tuple[str, ...], str]:
    """Return the files of a bitext, and what separates the sides if there is one file, as its first line shows."""
    if target is not None:
        return (str(source), str(target)), ""
    for number, _, line in text_lines(source):
        for separator in SEPARATORS:
            if separator in line:
                return (str(source),), separator
        named = " or ".join(SEPARATORS.values())
        message = f"expected source and target with {named} between them; are the sides in two files?"
        raise CorpusError(message, file=source, line=number)
    raise CorpusError("the file contains no sentence pairs", file=source)


def _first_pairs(
    paths: tuple[str, ...], separator: str, limit: int | None
) -> tuple[PairSource, Sizes, tuple[CorpusFile, ...], int]:
    """Read all pairs for the first time, and check every line.

    Returns the pairs up to the limit, their sizes, the records of the files, and the number of the first pair.
    """
    source = PairSource(tuple(ReadFile(_numbered_lines, path) for path in paths), separator)
    try:
        sizes, first_number = _checked_sizes(source, limit)
    except CorpusError:
        _check_lengths(paths)  # if files do not belong together, any other fault is a consequence
        raise
    digests = [file_sha256(path) for path in paths]
    if len(paths) == 2 and digests[0] == digests[1]:
        raise CorpusError(f"this is the same file as {paths[0]}; give two different files", file=paths[1])
    if not sizes.total:
        raise CorpusError("the file contains no sentence pairs", file=paths[0])
    for file in source.files:
        file.check()
    words = [sum(sizes.source), sum(sizes.target)]
    words_of_files = words if len(paths) == 2 else [sum(words)]
    records = tuple(
        CorpusFile(path, digest, len(sizes.source), words_of_file, origin={})
        for path, digest, words_of_file in zip(paths, digests, words_of_files, strict=True)
    )
    return source, sizes, records, first_number


def _checked_sizes(source: PairSource, limit: int | None) -> tuple[Sizes, int]:
    """Check every line, note the pairs up to the limit, and return their sizes and the number of the first one."""
    paths = tuple(file.path for file in source.files)
    source_sizes, target_sizes = array("I"), array("I")
    total, first_number, has_numbers = 0, 1, False
    blank = BlankWords(), BlankWords()  # of both sides
    for read in zip_longest(*(_numbered_lines(path, place=None) for path in paths)):
        if None in read:  # one file has ended before the other, so that this raises
            _check_lengths(paths)
        numbered_lines, places = zip(*read, strict=True)  # one of each file
        source_words, target_words, number = source.words(numbered_lines)
        if not total and number is not None:
            has_numbers, first_number = True, number
        expected = first_number + total
        if number != (expected if has_numbers else None):
            line_number, _ = numbered_lines[0]
            message = f"expected the sentence number (snum) {expected}, found {number or 'none'}"
            raise CorpusError(message, file=paths[0], line=line_number)
        total += 1
        for side, words in zip(blank, (source_words, target_words), strict=True):
            side.add_words(words)
        if limit is None or total <= limit:
            source_sizes.append(len(source_words))
            target_sizes.append(len(target_words))
            for file, place in zip(source.files, places, strict=True):
                file.note(place)
    for side, path in zip(blank, (paths[0], paths[-1]), strict=True):
        side.check(path)
    return Sizes(source_sizes, target_sizes, total), first_number


def _check_lengths(paths: tuple[str, ...]) -> None:
    """Check that both files, if there are two, can be read and have the same number of lines."""
    if len(paths) == 2:
        source_lines, target_lines = (sum(1 for _ in text_lines(path)) for path in paths)
        if source_lines != target_lines:
            message = f"{target_lines:,} lines, but {paths[0]} has {source_lines:,}; line k must translate line k"
            raise CorpusError(message, file=paths[1])


@dataclass(frozen=True)
class PairSource:
    """The source of the pairs of a bitext, whose files are read side by side with those of their links."""

    files: tuple[ReadFile[NumberedLine], ...]
    separator: str  # of the sides, if there is one file
    gold: ReadFile[PairLinks] | None = None
    hypotheses: tuple[tuple[str, ReadFile[PairLinks]], ...] = ()

    def __len__(self) -> int:
        return len(self.files[0])

    def __call__(self, start: int, stop: int) -> Iterator[SentencePair]:
        """Read the pairs from one position up to another."""
        path = self.files[0].path
        names = [name for name, _ in self.hypotheses]
        lines = zip(*(file(start, stop) for file in self.files), strict=True)
        gold = repeat(None, stop - start) if self.gold is None else self.gold(start, stop)
        # For each pair, the links of each system.
        hypotheses: Iterator[tuple[PairLinks, ...]] = repeat((), stop - start)
        if self.hypotheses:
            hypotheses = zip(*(file(start, stop) for _, file in self.hypotheses), strict=True)
        for lines_of_pair, gold_links, links_of_systems in zip(lines, gold, hypotheses, strict=True):
            source, target, _ = self.words(lines_of_pair)
            size = len(source), len(target)
            number, _ = lines_of_pair[0]
            yield SentencePair(
                id=f"{Path(path).name}:{number}",
                words=target,
                source=source,
                text=" ".join(target),
                file=path,
                line=number,
                gold=None if gold_links is None else gold_links.within(*size),
                hypotheses=tuple(
                    (name, links.within(*size).possible) for name, links in zip(names, links_of_systems, strict=True)
                ),
            )

    def words(self, lines: Sequence[NumberedLine]) -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
        """Return the source words, the target words and the number (if any) of a pair, given its line in each file."""
        number, line = lines[0]
        paths = self.files[0].path, self.files[-1].path  # those of both sides, which may be in one file
        sides = line.split(self.separator) if self.separator else [text for _, text in lines]
        if len(sides) != 2:
            separator = SEPARATORS[self.separator]
            message = f"expected source and target with {separator} between them, found {len(sides) - 1} of it"
            raise CorpusError(message, file=paths[0], line=number)
        words_of_sides, pair_numbers = [], set()
        for side, path, name in zip(sides, paths, ("source", "target"), strict=True):
            tagged = _NUMBERED.fullmatch(side)
            pair_numbers.add(int(tagged[1]) if tagged else None)
            words = tuple((tagged[2] if tagged else side).split())
            if not words:
                raise CorpusError(f"the {name} sentence has no words", file=path, line=number)
            words_of_sides.append(words)
        if len(pair_numbers) > 1:
            message = "source and target have different sentence numbers (snum)"
            raise CorpusError(message, file=paths[-1], line=number)
        source_words, target_words = words_of_sides
        return source_words, target_words, pair_numbers.pop()
