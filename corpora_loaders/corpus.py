"""What every corpus is: sentences that know their files and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, overload

from corpora_loaders.errors import CorpusError
from corpora_loaders.sentence import Sentence


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus: where it lies, its SHA-256, and how much was taken from it."""

    path: str
    sha256: str
    sentences: int
    words: int
    origin: dict[str, str]
    """The comments of its first sentence that speak of a licence or a source."""


def refuse_twins(files: Sequence[CorpusFile]) -> None:
    """The last file must not be one of the others again.

    Raises:
        CorpusError: it is.
    """
    if twin := next((f.path for f in files[:-1] if f.sha256 == files[-1].sha256), None):
        raise CorpusError(f"the same file as {twin}; what is in it would count twice", file=files[-1].path)


@dataclass(frozen=True)
class Corpus(Sequence[Sentence]):
    """A list of sentences that knows its relation inventory, its counts and its files.

    Attributes:
        sentences: in file order.
        files: one record per file.
        relations: how often each relation occurs on words that have a head, most frequent first; empty without trees.
        unit: what one of the inputs is called.
    """

    unit: ClassVar[str] = "sentences"

    sentences: tuple[Sentence, ...]
    files: tuple[CorpusFile, ...] = ()
    relations: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        counts = Counter(
            relation
            for sentence in self.sentences
            for head, relation in zip(sentence.heads, sentence.relations, strict=True)
            if head is not None
        )
        ordered = Counter(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))
        object.__setattr__(self, "relations", ordered)

    def __len__(self) -> int:
        return len(self.sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Sentence, ...]: ...
    def __getitem__(self, index: int | slice) -> Sentence | tuple[Sentence, ...]:
        return self.sentences[index]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def counts(self) -> dict[str, int]:
        """How much there is of everything."""
        return {
            "sentences": len(self),
            "words": sum(len(s) for s in self),
            "documents": len({s.document for s in self if s.document is not None}),
        }

    def remarks(self) -> list[str]:
        """What a reader should know about how the sentences came about, a sentence each."""
        return []
