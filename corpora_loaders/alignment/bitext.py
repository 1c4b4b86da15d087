"""Bitexts: sentences and their translations."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from ..corpus import Corpus, CorpusFacts
from ..describing import amount
from ..errors import CorpusError
from ..stream import MARKED, Stamp, Stream, changed, check_stamps, stamp, unchanged
from .bitext_files import BitextFiles, BitextMark, BitextReading, SentencePair, numbered_pairs
from .link_checks import LinkReader, Sizes, first_read
from .links import LinkSource

HELD_PAIRS = 1024
"""The largest number of pairs that are held in memory, about 9 MB with their links."""


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
    divisible: ClassVar[bool] = False

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

    @cached_property
    def counted(self) -> CorpusFacts:
        """What is known about all pairs together. Loaded bitexts know it; others are read once for it."""
        return _facts(len(self), sum(len(pair.source) for pair in self.pairs), sum(len(pair) for pair in self))

    def counts(self) -> dict[str, int]:
        """Numbers of sentence pairs and of words on both sides; ``words`` are those of the target."""
        return dict(self.counted.numbers)

    def remarks(self) -> list[str]:
        """How many links were left out because they are outside their sentence pairs, one sentence for each file."""
        sources = [source for source in (self.gold, *self.hypotheses) if source is not None and source.outside]
        return [
            f"Links of {source.name} ({source.path}) that are outside their sentence pairs, left out: "
            f"{source.outside:,} of {source.outside + source.repeated + source.possible:,}."
            for source in sources
        ]


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
    files = BitextFiles.of(source, target)
    stamps = {path: stamp(path) for path in files.paths}
    reading, marks = BitextReading(files), [files.beginning]
    sizes = array("I"), array("I")
    for pair, after in reading.pairs(limit):
        sizes[0].append(len(pair.source))
        sizes[1].append(len(pair))
        if len(sizes[0]) % MARKED == 0:
            marks.append(after)
    words = [sum(side) for side in sizes]
    records = files.described(len(sizes[0]), *words)
    check_stamps(stamps)
    lengths = Sizes(*sizes, reading.total)

    def read_links(name: str, path: str | Path, *, one_based: bool) -> LinkReader:
        stamps[str(path)] = stamp(path)
        links = first_read(name, path, lengths, reading.first_number, one_based=one_based, lenient=lenient)
        check_stamps({str(path): stamps[str(path)]})
        return links

    gold_links = None if gold is None else read_links("gold", gold, one_based=one_based)
    others = tuple(read_links(name, path, one_based=False) for name, path in (hypotheses or {}).items())
    if gold_links is not None:
        check_sure(gold_links.source.path, gold_links.source.sure)
    pairs = PairSource(files, stamps, len(sizes[0]), tuple(marks), gold_links, others)
    return Bitext(
        Stream(pairs, held=tuple(pairs(0, len(pairs))) if len(pairs) <= HELD_PAIRS else ()),
        records,
        total=reading.total,
        first_number=reading.first_number,
        gold=None if gold_links is None else gold_links.source,
        hypotheses=tuple(links.source for links in others),
    ).knowing(counted=_facts(len(pairs), *words))


@dataclass(frozen=True)
class PairSource:
    """The source of the pairs of a bitext, whose files are read side by side with those of their links."""

    files: BitextFiles
    stamps: Mapping[str, Stamp]  # of the files of the sentences and of the links
    pairs: int
    marks: tuple[BitextMark, ...]  # the places of every `MARKED`-th pair
    gold: LinkReader | None
    hypotheses: tuple[LinkReader, ...]

    def __len__(self) -> int:
        return self.pairs

    def __call__(self, start: int, stop: int) -> Iterator[SentencePair]:
        """Read the items from one position up to another."""
        block = start // MARKED
        with unchanged(self.stamps):
            read = numbered_pairs(self.files, self.marks[block])
            gold = None if self.gold is None else self.gold.links_from(block)
            others = [(links.source.name, links.links_from(block)) for links in self.hypotheses]
            for position in range(block * MARKED, stop):
                pair = next(read, None)
                if pair is None:
                    raise changed(self.files.paths[0])
                size = len(pair[0].source), len(pair[0])
                linked = replace(
                    pair[0],
                    gold=None if gold is None else next(gold).within(*size),
                    hypotheses=tuple((name, next(links).within(*size).possible) for name, links in others),
                )
                if position >= start:
                    yield linked


def _facts(pairs: int, source_words: int, words: int) -> CorpusFacts:
    return CorpusFacts({"sentence_pairs": pairs, "words": words, "source_words": source_words}, Counter())


def check_sure(path: str, sure: int) -> None:
    """Check that gold links have a sure link."""
    if not sure:
        raise CorpusError("the gold links have no sure link", file=path)


LazyBitext = Bitext  # deprecated, and removed in 0.4
open_bitext = load_bitext  # deprecated, and removed in 0.4
