"""Bitexts: sentences and their translations, from two files, or from one in which each line has both sides.

Pairs are read one at a time, so that a bitext need not be held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, NamedTuple

from ..corpus import Corpus, CorpusFile
from ..describing import amount, shortened
from ..errors import CorpusError
from ..lines import file_sha256, located_text_lines, text_lines
from ..sentence import Sentence
from .links import Link, LinkSource, PairLinks

SEPARATORS = {"|||": "'|||'", "\t": "a tab"}
"""What may stand between the two sides of a pair in a single file, each with its name in messages."""

_NUMBERED = re.compile(r"\s*<s\s+snum\s*=\s*\"?([0-9]{1,9})\"?\s*>(.*)</s>\s*")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SentencePair(Sentence):
    """A sentence and its translation. As a `Sentence`, it is the translation: ``words`` are the target words.

    Attributes:
        source: the words of the source sentence.
        gold: the gold links between the words; None if they are not known.
        hypotheses: the links of other systems, each with its name.

    Example:
        >>> from attentionology.corpora_loaders.alignment import SentencePair
        >>> pair = SentencePair(id="1", words=("the", "house"), source=("das", "Haus"))
        >>> pair
        SentencePair('1', 'das Haus ||| the house', 2 source and 2 target words)
        >>> len(pair)
        2
    """

    source: tuple[str, ...]
    gold: PairLinks | None = None
    hypotheses: tuple[tuple[str, frozenset[Link]], ...] = ()

    def __repr__(self) -> str:
        words = shortened(f"{' '.join(self.source)} ||| {' '.join(self.words)}")
        return f"SentencePair({shortened(self.id)}, {words}, {len(self.source)} source and {len(self)} target words)"


@dataclass(frozen=True, repr=False)
class Bitext(Corpus):
    """Sentence pairs with their files.

    Attributes:
        total: the number of pairs in the files, which is larger than that of the pairs if a limit was given.
        first_number: the number of the first pair in files of links that number pairs; all others follow it.
        gold: where the gold links are from; None if the pairs have none.
        hypotheses: where the links of other systems are from.

    Example:
        >>> from attentionology.corpora_loaders.alignment import Bitext, SentencePair
        >>> bitext = Bitext((SentencePair(id="1", words=("the", "house"), source=("das", "Haus")),))
        >>> bitext
        Bitext(1 sentence pair, 2 source words, 2 target words)
    """

    unit: ClassVar[str] = "sentence pairs"
    limit_unit: ClassVar[str] = "sentence pairs"
    has_heads: ClassVar[bool] = False

    sentences: Sequence[SentencePair]
    total: int = 0
    first_number: int = 1
    gold: LinkSource | None = None
    hypotheses: tuple[LinkSource, ...] = ()

    @property
    def pairs(self) -> Sequence[SentencePair]:
        """The sentence pairs, in file order."""
        return self.sentences

    def _amounts(self) -> list[str]:
        counts = self.counts()
        names = {"sentence_pairs": "sentence pairs", "source_words": "source words", "words": "target words"}
        return [amount(counts[name], unit) for name, unit in names.items()]

    def counts(self) -> dict[str, int]:
        """Numbers of sentence pairs and of words on both sides; ``words`` are those of the target."""
        return {
            "sentence_pairs": len(self),
            "words": sum(len(pair) for pair in self.pairs),
            "source_words": sum(len(pair.source) for pair in self.pairs),
        }

    def remarks(self) -> list[str]:
        """How many links were left out because they are outside their sentence pairs, one sentence for each file."""
        sources = [source for source in (self.gold, *self.hypotheses) if source is not None and source.outside]
        return [
            f"Links of {source.name} ({source.path}) that are outside their sentence pairs, left out: "
            f"{source.outside:,} of {source.outside + source.repeated + source.possible:,}."
            for source in sources
        ]


class BitextMark(NamedTuple):
    """A position between two sentence pairs: the number of bytes before it in each file, and of lines."""

    offsets: tuple[int, ...]
    line: int = 0


@dataclass(frozen=True)
class BitextFiles:
    """The files of a bitext: one of each side, or one with both sides and a separator between them."""

    paths: tuple[str, ...]
    separator: str = ""

    @classmethod
    def of(cls, source: str | Path, target: str | Path | None) -> BitextFiles:
        """Recognize the format of the files by the first line."""
        if target is not None:
            return cls((str(source), str(target)))
        for number, line in text_lines(source):
            for separator in SEPARATORS:
                if separator in line:
                    return cls((str(source),), separator)
            named = " or ".join(SEPARATORS.values())
            message = f"expected source and target with {named} between them; are the sides in two files?"
            raise CorpusError(message, file=source, line=number)
        raise CorpusError("the file contains no sentence pairs", file=source)

    @property
    def beginning(self) -> BitextMark:
        """The position before the first pair."""
        return BitextMark((0,) * len(self.paths))

    def sides(self, start: BitextMark) -> Iterator[tuple[str, str, BitextMark]]:
        """Yield the two sides of each pair from a position on, with the position after it."""
        streams = [
            located_text_lines(path, offset=offset, lines=start.line)
            for path, offset in zip(self.paths, start.offsets, strict=True)
        ]
        if self.separator:
            for number, offset, line in streams[0]:
                sides = line.split(self.separator)
                if len(sides) != 2:
                    name = SEPARATORS[self.separator]
                    message = f"expected source and target with {name} between them, found {len(sides) - 1} of it"
                    raise CorpusError(message, file=self.paths[0], line=number)
                yield sides[0], sides[1], BitextMark((offset,), number)
            return
        for one, other in zip_longest(*streams):
            if one is None or other is None:
                self.check_lengths()
                return
            yield one[2], other[2], BitextMark((one[1], other[1]), one[0])

    def check_lengths(self) -> None:
        """Check that two files can be read and have the same number of lines."""
        if self.separator:
            return
        lines = [sum(1 for _ in text_lines(path)) for path in self.paths]
        if lines[0] != lines[-1]:
            message = f"{lines[1]:,} lines, but {self.paths[0]} has {lines[0]:,}; line k must translate line k"
            raise CorpusError(message, file=self.paths[1])

    def described(self, pairs: int, source_words: int, target_words: int) -> tuple[CorpusFile, ...]:
        """Describe the files."""
        words = [source_words, target_words] if len(self.paths) == 2 else [source_words + target_words]
        return tuple(
            CorpusFile(path, file_sha256(path), pairs, count, {}) for path, count in zip(self.paths, words, strict=True)
        )


class BitextReading:
    """Reads all pairs of a bitext, and checks every line.

    Attributes:
        total: the number of pairs in the files.
        first_number: the number of the first pair: that of its tag, or 1.
    """

    def __init__(self, files: BitextFiles) -> None:
        self.files = files
        self.total, self.first_number = 0, 1

    def pairs(self, limit: int | None) -> Iterator[tuple[SentencePair, BitextMark]]:
        """Yield at most so many pairs, each with the position after it; see `load_bitext`."""
        is_numbered = False
        wrong: CorpusError | None = None  # the first fault of the numbers, which is less important than other faults
        try:
            for pair, number, mark in numbered_pairs(self.files, self.files.beginning):
                if not self.total:
                    is_numbered, self.first_number = number is not None, 1 if number is None else number
                expected = self.first_number + self.total
                if number != (expected if is_numbered else None) and wrong is None:
                    message = f"expected the sentence number (snum) {expected}, found {number or 'none'}"
                    wrong = CorpusError(message, file=self.files.paths[0], line=mark.line)
                self.total += 1
                if limit is None or self.total <= limit:
                    yield pair, mark
        except CorpusError:
            self.files.check_lengths()  # if files do not belong together, any other fault is a consequence
            raise
        first, last = self.files.paths[0], self.files.paths[-1]
        if len(self.files.paths) == 2 and file_sha256(first) == file_sha256(last):
            raise CorpusError(f"this is the same file as {first}; give two different files", file=last)
        if not self.total:
            raise CorpusError("the file contains no sentence pairs", file=first)
        if wrong is not None:
            raise wrong


def numbered_pairs(files: BitextFiles, start: BitextMark) -> Iterator[tuple[SentencePair, int | None, BitextMark]]:
    """Yield the pairs from a position on, each with the number that its tag gives to it and the position after it."""
    name = Path(files.paths[0]).name
    for source, target, mark in files.sides(start):
        words, numbers = [], set()
        for side, path, which in ((source, files.paths[0], "source"), (target, files.paths[-1], "target")):
            tagged = _NUMBERED.fullmatch(side)
            numbers.add(int(tagged[1]) if tagged else None)
            words.append(tuple((tagged[2] if tagged else side).split()))
            if not words[-1]:
                raise CorpusError(f"the {which} sentence has no words", file=path, line=mark.line)
        if len(numbers) > 1:
            message = "source and target have different sentence numbers (snum)"
            raise CorpusError(message, file=files.paths[-1], line=mark.line)
        pair = SentencePair(
            id=f"{name}:{mark.line}",
            words=words[1],
            source=words[0],
            text=" ".join(words[1]),
            file=files.paths[0],
            line=mark.line,
        )
        yield pair, numbers.pop(), mark


def load_bitext(source: str | Path, target: str | Path | None = None, *, limit: int | None = None) -> Bitext:
    """Read sentence pairs in UTF-8, one pair per line, with words separated by white space.

    Files may be compressed with gzip, bzip2, xz or zip. Lines ``<s snum=12> … </s>`` (the shared tasks of NAACL 2003
    and ACL 2005) are read without their tags. The id of a pair is ``file:line`` of its source side.

    Args:
        source: the file of the source sentences, or of both sides with ``|||`` or a tab between them.
        target: the file of the translations, if they are in a separate file.
        limit: keep at most this many pairs. All lines are read and checked.

    Raises:
        ValueError: the limit is less than 1.
        CorpusError: a file cannot be read, the two files have different numbers of lines or are the same file, a line
            does not have two sides, or a side has no words.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.alignment import load_bitext
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "pairs.txt")
        ...     _ = path.write_text("das Haus ||| the house\\ndas Buch ||| the book\\n")
        ...     bitext = load_bitext(path)
        >>> bitext
        Bitext(2 sentence pairs, 4 source words, 4 target words, 'pairs.txt')
        >>> bitext.pairs[1].source, bitext.pairs[1].words
        (('das', 'Buch'), ('the', 'book'))
    """
    check_limit(limit)
    files = BitextFiles.of(source, target)
    reading = BitextReading(files)
    pairs = tuple(pair for pair, _ in reading.pairs(limit))
    records = files.described(len(pairs), sum(len(pair.source) for pair in pairs), sum(map(len, pairs)))
    return Bitext(pairs, records, total=reading.total, first_number=reading.first_number)


def check_limit(limit: int | None) -> None:
    """Check that the number of sentence pairs to keep is at least 1."""
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
