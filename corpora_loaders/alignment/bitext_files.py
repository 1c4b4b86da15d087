"""The files of bitexts: two files of sentences, or one in which each line has both sides.

Pairs are read one at a time, so that a bitext need not be held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from ..corpus import CorpusFile
from ..errors import CorpusError
from ..lines import file_sha256, located_text_lines, text_lines
from .sentence_pair import SentencePair

_NUMBERED = re.compile(r"\s*<s\s+snum\s*=\s*\"?([0-9]{1,9})\"?\s*>(.*)</s>\s*")


@dataclass(frozen=True)
class BitextFormat:
    """One format of bitexts in a single file.

    Attributes:
        name: the name of the format in messages.
        separator: the text between the two sides of a pair.
    """

    name: str
    separator: str

    def recognize(self, line: str) -> bool:
        """Whether the first line of a file has this format."""
        return self.separator in line

    def split(self, line: str, fault: Callable[[str], CorpusError]) -> tuple[str, str]:
        """Return the source and the target side of a line.

        Raises:
            CorpusError: the separator does not occur exactly once.
        """
        sides = line.split(self.separator)
        if len(sides) != 2:
            raise fault(f"expected source and target with {self.name} between them, found {len(sides) - 1} of it")
        return sides[0], sides[1]


FORMATS = (BitextFormat("'|||'", "|||"), BitextFormat("a tab", "\t"))
"""The formats of bitexts in a single file. To add a format, add a row."""


class BitextMark(NamedTuple):
    """A position between two sentence pairs, from which reading can be resumed.

    Attributes:
        offsets: the number of bytes before the position in each file, see
            `attentionology.corpora_loaders.lines.located_lines`.
        line: the number of lines before it.
    """

    offsets: tuple[int, ...]
    line: int = 0


@dataclass(frozen=True)
class BitextFiles:
    """The files of a bitext: one with both sides, or one of each side.

    Attributes:
        paths: the paths.
        separator: the text between the two sides in one file; empty if there are two files.
    """

    paths: tuple[str, ...]
    separator: str = ""

    @classmethod
    def of(cls, source: str | Path, target: str | Path | None) -> BitextFiles:
        """Recognize the format of the files.

        Raises:
            CorpusError: a file cannot be read, or has neither two sides nor another file that has the other side.
        """
        if target is not None:
            return cls((str(source), str(target)))
        for number, line in text_lines(source):
            chosen = next((row for row in FORMATS if row.recognize(line)), None)
            if chosen is None:
                separators = " or ".join(row.name for row in FORMATS)
                message = f"expected source and target with {separators} between them; are the sides in two files?"
                raise CorpusError(message, file=source, line=number)
            return cls((str(source),), chosen.separator)
        raise CorpusError("the file contains no sentence pairs", file=source)

    @property
    def beginning(self) -> BitextMark:
        """The position before the first pair."""
        return BitextMark((0,) * len(self.paths))

    def lines(self, start: BitextMark) -> Iterator[tuple[str, str, BitextMark]]:
        """Yield the two sides of each pair from a position on, with the position after it.

        Raises:
            CorpusError: a file cannot be read, the two files have different numbers of lines, or a line does not have
                two sides.
        """
        streams = [
            located_text_lines(path, offset=offset, lines=start.line)
            for path, offset in zip(self.paths, start.offsets, strict=True)
        ]
        if len(streams) == 1:
            bitext_format = next(row for row in FORMATS if row.separator == self.separator)
            for number, offset, line in streams[0]:
                yield *bitext_format.split(line, _fault(self.paths[0], number)), BitextMark((offset,), number)
            return
        for one, other in zip_longest(*streams):
            if one is None or other is None:
                self.check_lengths()
                return
            yield one[2], other[2], BitextMark((one[1], other[1]), one[0])

    def check_lengths(self) -> None:
        """Check that two files can be read and have the same number of lines.

        Raises:
            CorpusError: they do not, or cannot be read.
        """
        if len(self.paths) == 1:
            return
        lines = [sum(1 for _ in text_lines(path)) for path in self.paths]
        if len(set(lines)) > 1:
            message = f"{lines[1]:,} lines, but {self.paths[0]} has {lines[0]:,}; line k must translate line k"
            raise CorpusError(message, file=self.paths[1])

    def described(self, pairs: int, source_words: int, target_words: int) -> tuple[CorpusFile, ...]:
        """Describe the files.

        Raises:
            CorpusError: the two files are the same.
        """
        words = [source_words, target_words] if len(self.paths) == 2 else [source_words + target_words]
        digests = [file_sha256(path) for path in self.paths]
        return tuple(
            CorpusFile(path, sha256, pairs, count, {})
            for path, sha256, count in zip(self.paths, digests, words, strict=True)
        )


class BitextReading:
    """Reads all pairs of a bitext, and checks every line.

    Args:
        files: the files.

    Attributes:
        total: the number of pairs in the files.
        first_number: the number of the first pair: that of its tag, or 1.
    """

    def __init__(self, files: BitextFiles) -> None:
        self.files = files
        self.total, self.first_number = 0, 1

    def pairs(self, limit: int | None) -> Iterator[tuple[SentencePair, BitextMark]]:
        """Yield the pairs, each with the position after it.

        Args:
            limit: yield at most this many pairs. All lines are read and checked.

        Raises:
            CorpusError: see `attentionology.corpora_loaders.alignment.load_bitext`.
        """
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
        if len({file_sha256(path) for path in self.files.paths}) < len(self.files.paths):
            message = f"this is the same file as {self.files.paths[0]}; give two different files"
            raise CorpusError(message, file=self.files.paths[1])
        if not self.total:
            raise CorpusError("the file contains no sentence pairs", file=self.files.paths[0])
        if wrong is not None:
            raise wrong


def numbered_pairs(files: BitextFiles, start: BitextMark) -> Iterator[tuple[SentencePair, int | None, BitextMark]]:
    """Yield the pairs from a position on, each with the number that its tag gives to it and the position after it.

    Raises:
        CorpusError: a file cannot be read, or a line does not have two sides with words.
    """
    name = Path(files.paths[0]).name
    for source, target, mark in files.lines(start):
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


def _fault(path: str | Path, line: int) -> Callable[[str], CorpusError]:
    return lambda message: CorpusError(message, file=path, line=line)
