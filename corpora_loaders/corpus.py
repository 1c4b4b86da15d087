"""What every corpus is: sentences that know their files and their counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import ClassVar, TypeVar, overload

from attentionology.corpora_loaders.describing import amount, counts_table, named_files
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import file_sha256
from attentionology.corpora_loaders.sentence import Sentence

Item = TypeVar("Item")

_ORIGIN = re.compile(r"licen[cs]e|source", re.IGNORECASE)


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus: where it lies, its SHA-256, and how much was taken from it."""

    path: str
    sha256: str
    sentences: int
    words: int
    origin: dict[str, str]
    """The comments of its first sentence that speak of a licence or a source."""


def read_files(
    paths: str | Path | Iterable[str | Path], read: Callable[[str | Path], Iterator[Item]], limit: int | None
) -> Iterator[tuple[str | Path, str, list[Item]]]:
    """Yield each file with its SHA-256 and what was read of it.

    Args:
        paths: one file or several.
        read: yields sentences or documents of a file.
        limit: stop after so many of them in all.

    Raises:
        ValueError: no file, or a limit below 1.
        CorpusError: two files are the same, so that what is in them would count twice.
    """
    chosen = [paths] if isinstance(paths, str | Path) else list(paths)
    if not chosen:
        raise ValueError("no file given")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    seen: dict[str, str | Path] = {}
    for path in chosen:
        if limit == 0:
            return
        items = list(islice(read(path), limit))
        digest = file_sha256(path)
        if digest in seen:
            raise CorpusError(f"the same file as {seen[digest]}; what is in it would count twice", file=path)
        seen[digest] = path
        limit = None if limit is None else limit - len(items)
        yield path, digest, items


def describe_file(path: str | Path, sha256: str, sentences: Sequence[Sentence]) -> CorpusFile:
    """The record of a file of which these sentences were taken.

    Raises:
        CorpusError: every form is ``_``, as in corpora whose text may not be distributed.
    """
    if any(len(s) > 1 for s in sentences) and all(word == "_" for s in sentences for word in s.words):
        raise CorpusError("every form is '_': this corpus was released without its words", file=path)
    return CorpusFile(
        path=str(path),
        sha256=sha256,
        sentences=len(sentences),
        words=sum(len(s) for s in sentences),
        origin={k: v for s in sentences[:1] for k, v in s.comments.items() if v and _ORIGIN.search(k)},
    )


class UniqueNames:
    """Gives ids that occur again a number: ``#2``, ``#3``, …

    Attributes:
        renamed: how many got one.
    """

    def __init__(self) -> None:
        self.renamed = 0
        self._used: dict[str, int] = {}  # id → how often it has been asked for

    def __call__(self, name: str) -> str:
        """The id, or one made of it that has not been given before."""
        asked, unused = name, name
        while unused in self._used:
            self._used[asked] += 1
            unused = f"{asked}#{self._used[asked]}"
        self._used[unused] = 1
        self.renamed += unused != asked
        return unused


@dataclass(frozen=True, repr=False)
class Corpus(Sequence[Sentence]):
    """A list of sentences that knows its relation inventory, its counts and its files.

    Attributes:
        sentences: in file order.
        files: one record per file.
        relations: how often each relation occurs on words that have a head, most frequent first; empty without trees.
        unit: what one of the inputs is called.
        limit_unit: what a limit on the input counts.
    """

    unit: ClassVar[str] = "sentences"
    limit_unit: ClassVar[str] = "sentences"

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

    def __repr__(self) -> str:
        facts = [*self._amounts(), named_files([file.path for file in self.files])]
        return f"{type(self).__name__}({', '.join(filter(None, facts))})"

    def _repr_html_(self) -> str:
        return counts_table(repr(self), self.counts())

    def _amounts(self) -> list[str]:
        """How much there is, in a few words for the one line that a Python session shows."""
        return [amount(len(self), self.unit), amount(sum(len(sentence) for sentence in self), "words")]

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
