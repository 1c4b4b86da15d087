"""Sentence pairs, and their files: two files of sentences, or one in which each line has both sides.

Pairs are read one at a time, so that a bitext need not be held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from ..corpus import CorpusFile
from ..describing import shortened
from ..errors import CorpusError
from ..lines import file_sha256, located_text_lines, text_lines
from ..sentence import Sentence
from .links import Link, PairLinks

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
        """Yield at most ``limit`` pairs, each with the position after it; see `load_bitext`."""
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
