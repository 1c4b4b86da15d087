"""A bitext whose sentence pairs stay in their files, with their links, until they are needed.

A loaded pair of sentences of 25 words takes about 9 kB with its gold links. A lazily read bitext keeps an index, which
takes less than 1 kB for each window of 1,024 pairs, and one window. Everything else is as in a loaded bitext.

The files of both sides and all files of links are read side by side: files of links list the pairs in the order of the
bitext, so the links of a window of pairs are together as well.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ..file_index import FileIndex, Source, WindowCollector
from ..lazy_items import LazyItems
from ..stamps import check_stamp, stamp
from .bitext import Bitext, check_limit
from .bitext_files import BitextFiles, BitextMark, BitextReading, SentencePair, numbered_pairs
from .link_checks import Sizes
from .link_files import check_sure
from .link_index import LinkIndex, index_links


@dataclass(frozen=True)
class BitextIndex(FileIndex[SentencePair, BitextMark]):
    """Everything about a bitext except its pairs.

    Attributes:
        texts: the files of the sentences.
        counts: the numbers that `attentionology.corpora_loaders.alignment.Bitext.counts` returns.
        gold: the gold links; None if they are not known.
        hypotheses: the links of other systems.
    """

    texts: BitextFiles
    counts: Mapping[str, int]
    gold: LinkIndex | None
    hypotheses: tuple[LinkIndex, ...]

    @property
    def kept_windows(self) -> int:
        """The number of windows that are held: one, which takes about 9 MB."""
        return 1

    def items_from(self, window: int) -> Iterator[SentencePair]:
        """Yield the pairs from the beginning of a window on, with their links."""
        pairs = (pair for pair, _, _ in numbered_pairs(self.texts, self.windows[window].mark))
        if self.gold is None and not self.hypotheses:
            yield from islice(pairs, len(self) - self.windows[window].first)
            return
        gold = None if self.gold is None else self.gold.links_from(window)
        others = [(file.source.name, file.links_from(window)) for file in self.hypotheses]
        for pair in islice(pairs, len(self) - self.windows[window].first):
            size = len(pair.source), len(pair)
            yield replace(
                pair,
                gold=None if gold is None else next(gold).within(*size),
                hypotheses=tuple((name, next(links).within(*size).possible) for name, links in others),
            )


@dataclass(frozen=True, repr=False)
class LazyBitext(Bitext):
    """A bitext whose pairs are read when they are asked for, see `open_bitext`.

    Attributes:
        sentences: the sentence pairs, in file order.

    Example:
        >>> from attentionology.corpora_loaders.alignment import LazyBitext, open_bitext
        >>> from attentionology.corpora_loaders.sample.translation import SAMPLE_PAIRS
        >>> bitext = open_bitext(SAMPLE_PAIRS, limit=20)
        >>> isinstance(bitext, LazyBitext), bitext.sentences
        (True, LazyItems(20 items))
    """

    sentences: LazyItems[SentencePair, BitextIndex]

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", Counter[str]())

    def counts(self) -> dict[str, int]:
        """The numbers that `Bitext.counts` returns, without reading the pairs again."""
        return dict(self.sentences.corpus_index.counts)


def open_bitext(
    source: str | Path,
    target: str | Path | None = None,
    *,
    gold: str | Path | None = None,
    one_based: bool = False,
    hypotheses: Mapping[str, str | Path] | None = None,
    limit: int | None = None,
    lenient: bool = False,
) -> LazyBitext:
    """Index sentence pairs and their links, and return a bitext that reads its pairs when they are asked for.

    The files must stay as they are while the bitext is used. A `CorpusError` reports a file that has changed. All other
    errors of the files are raised here. They are those of `attentionology.corpora_loaders.alignment.load_bitext`,
    `attentionology.corpora_loaders.alignment.load_links` and `attentionology.corpora_loaders.alignment.add_links`.

    Args:
        source: the file of the source sentences, or of both sides with ``|||`` or a tab between them.
        target: the file of the translations, if they are in a separate file.
        gold: the file of the gold links; None if they are not known.
        one_based: whether gold links in the format talp count words from 1.
        hypotheses: the files of the links of other systems, counted from 0, by name.
        limit: keep at most this many pairs. All lines are read and checked.
        lenient: whether links to words that their sentences do not have are left out and counted.

    Raises:
        ValueError: the limit is less than 1.
        CorpusError: a file cannot be read, or does not belong to the others.

    Example:
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.alignment import open_bitext
        >>> _ = Path("pairs.txt").write_text("das Haus ||| the house\\ndas Buch ||| the book\\n")
        >>> _ = Path("gold.talp").write_text("0-0 1-1\\n0-0 1p1\\n")
        >>> bitext = open_bitext("pairs.txt", gold="gold.talp")
        >>> bitext
        LazyBitext(2 sentence pairs, 4 source words, 4 target words, 'pairs.txt')
        >>> bitext.gold.possible, sorted(bitext.pairs[1].gold.sure)
        (4, [(0, 0)])
    """
    check_limit(limit)
    files = BitextFiles.of(source, target)
    stamps = [stamp(path) for path in files.paths]
    reading, collector = BitextReading(files), WindowCollector[SentencePair, BitextMark](0)
    sizes = array("I"), array("I")
    before = files.beginning
    for pair, after in reading.pairs(limit):
        collector.add(pair, 0, before, len(sizes[0]))
        for numbers, words in zip(sizes, (pair.source, pair.words), strict=True):
            numbers.append(len(words))
        before = after
    records = files.described(len(sizes[0]), sum(sizes[0]), sum(sizes[1]))
    for path, expected in zip(files.paths, stamps, strict=True):
        check_stamp(path, expected)
    starts = [start.first for start in collector.windows]

    def indexed(name: str, path: str | Path, *, one_based: bool) -> LinkIndex:
        lengths = Sizes(sizes[0], sizes[1], reading.total)
        return index_links(name, path, lengths, starts, reading.first_number, one_based=one_based, lenient=lenient)

    gold_links = None if gold is None else indexed("gold", gold, one_based=one_based)
    others = tuple(indexed(name, path, one_based=False) for name, path in (hypotheses or {}).items())
    if gold_links is not None:
        check_sure(gold_links.source.path, gold_links.source.sure)
    read = [(path, given) for path, given in zip(files.paths, stamps, strict=True)]
    read += [(links.source.path, links.stamp) for links in (gold_links, *others) if links is not None]
    index = BitextIndex(
        records,
        (Source(tuple(path for path, _ in read), tuple(given for _, given in read), len(sizes[0])),),
        tuple(collector.windows),
        files,
        {"sentence_pairs": len(sizes[0]), "words": sum(sizes[1]), "source_words": sum(sizes[0])},
        gold_links,
        others,
    )
    return LazyBitext(
        LazyItems(index),
        records,
        total=reading.total,
        first_number=reading.first_number,
        gold=None if gold_links is None else gold_links.source,
        hypotheses=tuple(links.source for links in others),
    )
