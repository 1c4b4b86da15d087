"""Bitexts: sentences and their translations, with links between their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from ..corpus import Corpus
from ..describing import amount, quote_shortened
from ..errors import CorpusError
from ..sentence import Sentence
from ..tally import CorpusFacts

Link = tuple[int, int]
"""A source word and a target word, both 0-based."""


@dataclass(frozen=True, slots=True)
class PairLinks:
    """The links of one sentence pair.

    Attributes:
        sure: the sure links.
        possible: all links, those that are only possible and the sure ones.

    Raises:
        ValueError: a sure link is not among the possible ones.

    Example:
        >>> from attentionology.corpora_loaders.alignment import PairLinks
        >>> PairLinks.of(sure=[(0, 0)], possible=[(1, 0)]).possible == {(0, 0), (1, 0)}
        True
    """

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError("every sure link is possible, too")

    @classmethod
    def of(cls, sure: list[Link], possible: list[Link]) -> PairLinks:
        """Make the links of a pair; sure links are added to the possible ones."""
        certain = frozenset(sure)
        # Without links that are only possible, one set serves as both, since gold links take much of a bitext's memory.
        return cls(certain, certain.union(possible) if possible else certain)

    def within(self, sources: int, targets: int) -> PairLinks:
        """Return the links that are inside a pair with these numbers of source words and target words."""
        inside = {
            (source, target) for source, target in self.possible if 0 <= source < sources and 0 <= target < targets
        }
        return self if len(inside) == len(self.possible) else PairLinks(self.sure & inside, frozenset(inside))


@dataclass(frozen=True)
class LinkSource:
    """Where links are from, and how many there are.

    Attributes:
        name: the name of the links: ``gold``, or that of the system which made them.
        path: the path of the file.
        sha256: the hexadecimal SHA-256 of the file on disk.
        format: the name of its format.
        one_based: whether its words were counted from 1.
        sure, possible: the numbers of sure and of possible links.
        repeated: the number of links that occur more than once in their pair and count once.
        null_links: the number of links to no word, which are left out.
        outside: the number of links to words that their sentences do not have, which are left out.
    """

    name: str
    path: str
    sha256: str
    format: str
    one_based: bool
    sure: int
    possible: int
    repeated: int = 0
    null_links: int = 0
    outside: int = 0


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
        words = quote_shortened(f"{' '.join(self.source)} ||| {' '.join(self.words)}")
        return (
            f"SentencePair({quote_shortened(self.id)}, {words}, {len(self.source)} source and {len(self)} target words)"
        )


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
        return facts_of_pairs(len(self), sum(len(pair.source) for pair in self.pairs), sum(map(len, self.pairs)))

    def counts(self) -> dict[str, int]:
        """Return numbers of sentence pairs and of words on both sides; ``words`` are those of the target."""
        return dict(self.counted.numbers)

    def remarks(self) -> list[str]:
        """How many links were left out because they are outside their sentence pairs, one sentence for each file."""
        sources = [source for source in (self.gold, *self.hypotheses) if source is not None and source.outside]
        return [
            f"Links of {source.name} ({source.path}) that are outside their sentence pairs, left out: "
            f"{source.outside:,} of {source.outside + source.repeated + source.possible:,}."
            for source in sources
        ]


def facts_of_pairs(n_pairs: int, n_source: int, n_target: int) -> CorpusFacts:
    """Return what is known about all pairs together, given their number and the numbers of words of both sides."""
    return CorpusFacts({"sentence_pairs": n_pairs, "words": n_target, "source_words": n_source}, Counter(), Counter())


@dataclass(frozen=True)
class LinkFile:
    """The links of all sentence pairs of a bitext.

    Attributes:
        links: the links of each pair, counted from 0. All other attributes are those of a `LinkSource`.
    """

    path: str
    sha256: str
    format: str
    one_based: bool
    links: tuple[PairLinks, ...]
    repeated: int = 0
    null_links: int = 0
    outside: int = 0

    def counts(self) -> dict[str, int]:
        """Numbers of sure, possible and repeated links, of links to no word, and of links outside their pairs."""
        return {
            "sure": sum(len(pair.sure) for pair in self.links),
            "possible": sum(len(pair.possible) for pair in self.links),
            "repeated": self.repeated,
            "null_links": self.null_links,
            "outside": self.outside,
        }

    def source(self, name: str) -> LinkSource:
        """Describe the file, whose links have this name."""
        return LinkSource(name, self.path, self.sha256, self.format, self.one_based, **self.counts())


def add_links(bitext: Bitext, gold: LinkFile | None, hypotheses: Mapping[str, LinkFile] | None = None) -> Bitext:
    """Return sentence pairs with their links.

    Args:
        bitext: the sentence pairs.
        gold: their gold links; None if they are not known.
        hypotheses: the links of other systems, by name.

    Raises:
        CorpusError: the gold links have no sure link, so that they say nothing about recall.
        ValueError: there are links for more or fewer pairs than the bitext has.

    Example:
        >>> from attentionology.corpora_loaders.alignment import Bitext, LinkFile, PairLinks, SentencePair, add_links
        >>> bitext = Bitext((SentencePair(id="1", words=("the", "house"), source=("das", "Haus")),), total=1)
        >>> gold = LinkFile("gold.talp", "", "talp", one_based=False, links=(PairLinks.of([(0, 0), (1, 1)], []),))
        >>> sorted(add_links(bitext, gold).pairs[0].gold.sure)
        [(0, 0), (1, 1)]
    """
    hypotheses = hypotheses or {}
    if gold is None and not hypotheses:
        return bitext
    for file in filter(None, [gold, *hypotheses.values()]):
        if len(file.links) != len(bitext):
            raise ValueError(f"{file.path} has links for {len(file.links):,} of {len(bitext):,} sentence pairs")
    gold_source = None if gold is None else gold.source("gold")
    check_sure(gold_source)
    pairs = tuple(
        replace(
            pair,
            gold=None if gold is None else gold.links[index],
            hypotheses=tuple((name, file.links[index].possible) for name, file in hypotheses.items()),
        )
        for index, pair in enumerate(bitext.pairs)
    )
    sources = tuple(file.source(name) for name, file in hypotheses.items())
    return replace(bitext, sentences=pairs, gold=gold_source, hypotheses=sources)


def check_sure(gold: LinkSource | None) -> None:
    """Check that gold links have a sure link."""
    if gold is not None and not gold.sure:
        raise CorpusError("the gold links have no sure link", file=gold.path)
