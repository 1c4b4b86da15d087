"""Bitexts: sentences and their translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..corpus import Corpus
from ..describing import amount
from .bitext_files import BitextFiles, BitextReading, SentencePair
from .links import LinkSource


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
