"""Bitexts: sentences and their translations, in two files or in one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from attentionology.corpora_loaders.alignment.links import Link, LinkSource, PairLinks
from attentionology.corpora_loaders.corpus import Corpus, CorpusFile
from attentionology.corpora_loaders.describing import amount, shortened
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import file_sha256, text_lines
from attentionology.corpora_loaders.sentence import Sentence

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

    sentences: tuple[SentencePair, ...]
    total: int = 0
    first_number: int = 1
    gold: LinkSource | None = None
    hypotheses: tuple[LinkSource, ...] = ()

    @property
    def pairs(self) -> tuple[SentencePair, ...]:
        """The sentence pairs, in file order."""
        return self.sentences

    def _amounts(self) -> list[str]:
        counts = self.counts()
        return [amount(counts[name], name.replace("_", " ")) for name in ("sentence_pairs", "source_words")] + [
            amount(counts["words"], "target words")
        ]

    def counts(self) -> dict[str, int]:
        """Numbers of sentence pairs and of words on both sides; ``words`` are those of the target."""
        return {
            "sentence_pairs": len(self),
            "words": sum(len(pair) for pair in self.pairs),
            "source_words": sum(len(pair.source) for pair in self.pairs),
        }


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


def load_bitext(source: str | Path, target: str | Path | None = None, *, limit: int | None = None) -> Bitext:
    """Read sentence pairs in UTF-8, one pair per line, with words separated by white space.

    Files may be compressed with gzip or zip. Lines ``<s snum=12> … </s>`` (the shared tasks of NAACL 2003 and ACL 2005)
    are read without their tags. The id of a pair is ``file:line`` of its source side.

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
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    paths = [str(source)] if target is None else [str(source), str(target)]
    lines = _one_file(source) if target is None else _two_files(source, target)
    pairs = [_pair(paths, number, sides) for number, *sides in lines]
    digests = [file_sha256(path) for path in paths]
    if len(set(digests)) < len(digests):
        raise CorpusError(f"this is the same file as {source}; give two different files", file=target)
    if not pairs:
        raise CorpusError("the file contains no sentence pairs", file=source)
    kept = tuple(pair for pair, _ in pairs[:limit])
    counted = [sum(len(pair.source) for pair in kept), sum(len(pair) for pair in kept)]
    words = counted if target is not None else [sum(counted)]
    return Bitext(
        kept,
        tuple(
            CorpusFile(path, sha256, len(kept), count, {})
            for path, sha256, count in zip(paths, digests, words, strict=True)
        ),
        total=len(pairs),
        first_number=_first_number([number for _, number in pairs], source),
    )


def _one_file(path: str | Path) -> Iterator[tuple[int, str, str]]:
    chosen: BitextFormat | None = None
    for number, line in text_lines(path):
        if chosen is None:
            chosen = next((row for row in FORMATS if row.recognize(line)), None)
        if chosen is None:
            separators = " or ".join(row.name for row in FORMATS)
            message = f"expected source and target with {separators} between them; are the sides in two files?"
            raise CorpusError(message, file=path, line=number)
        yield number, *chosen.split(line, _fault(path, number))


def _two_files(source: str | Path, target: str | Path) -> Iterator[tuple[int, str, str]]:
    sides = [list(text_lines(path)) for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        message = f"{len(sides[1]):,} lines, but {source} has {len(sides[0]):,}; line k must translate line k"
        raise CorpusError(message, file=target)
    for (number, line), (_, translation) in zip(*sides, strict=True):
        yield number, line, translation


def _fault(path: str | Path, line: int) -> Callable[[str], CorpusError]:
    return lambda message: CorpusError(message, file=path, line=line)


def _pair(paths: list[str], line: int, sides: list[str]) -> tuple[SentencePair, int | None]:
    """The pair of a line, and the number that its tag gives to it."""
    words, numbers = [], set()
    for side, path, name in zip(sides, [paths[0], paths[-1]], ("source", "target"), strict=True):
        tagged = _NUMBERED.fullmatch(side)
        numbers.add(int(tagged[1]) if tagged else None)
        words.append(tuple((tagged[2] if tagged else side).split()))
        if not words[-1]:
            raise CorpusError(f"the {name} sentence has no words", file=path, line=line)
    if len(numbers) > 1:
        raise CorpusError("source and target have different sentence numbers (snum)", file=paths[-1], line=line)
    pair = SentencePair(
        id=f"{Path(paths[0]).name}:{line}",
        words=words[1],
        source=words[0],
        text=" ".join(words[1]),
        file=paths[0],
        line=line,
    )
    return pair, numbers.pop()


def _first_number(numbers: list[int | None], path: str | Path) -> int:
    """The number of the first pair: that of its tag, or 1.

    Raises:
        CorpusError: only some lines have a tag, or the numbers are not consecutive.
    """
    first = 1 if numbers[0] is None else numbers[0]
    for index, number in enumerate(numbers):
        if number != (None if numbers[0] is None else first + index):
            message = f"expected the sentence number (snum) {first + index}, found {number or 'none'}"
            raise CorpusError(message, file=path, line=index + 1)
    return first
