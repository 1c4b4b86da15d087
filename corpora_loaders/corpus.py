"""The base of all corpora: sentences with their files, their relations and their counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import ClassVar, TypeVar, overload

from .describing import amount, counts_table, named_files
from .errors import CorpusError
from .lines import file_sha256
from .releases import corpus_path, source_of
from .sentence import Sentence

Item = TypeVar("Item")
Contents = TypeVar("Contents", bound=Sized)

_ORIGIN = re.compile(r"licen[cs]e|source", re.IGNORECASE)


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus.

    Attributes:
        path: the path of the file.
        sha256: the hexadecimal SHA-256 of the file on disk.
        sentences: the number of sentences that were read.
        words: the number of words that were read.
        origin: the comments of its first sentence that mention a license or a source.
        source: the name, the release, the license and the address of a treebank of Universal Dependencies, as far as
            its folder says, see `attentionology.corpora_loaders.releases.source_of`.

    Example:
        >>> from attentionology import load_treebank
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> file = load_treebank(SAMPLE_TREEBANK).files[0]
        >>> file.sentences, file.words, len(file.sha256)
        (157, 2809, 64)
    """

    path: str
    sha256: str
    sentences: int
    words: int
    origin: dict[str, str]
    source: dict[str, str] = field(default_factory=dict)


def read_files(
    paths: str | Path | Iterable[str | Path], read: Callable[[str | Path], Iterator[Item]], limit: int | None
) -> Iterator[tuple[str | Path, str, list[Item]]]:
    """Yield each file with its SHA-256 and the items read from it.

    Args:
        paths: one file or several. A treebank of Universal Dependencies may be given by name, for example
            ``ud:en_ewt:dev``.
        read: yields the items of a file, for example sentences or documents.
        limit: read at most this many items from all files together.

    Raises:
        ValueError: no file is given, or the limit is less than 1.
        CorpusError: two files are the same, so that their items would count twice.
    """
    return digested_files(paths, lambda path, limit_of_file: list(islice(read(path), limit_of_file)), limit)


def digested_files(
    paths: str | Path | Iterable[str | Path], read: Callable[[str | Path, int | None], Contents], limit: int | None
) -> Iterator[tuple[str | Path, str, Contents]]:
    """Yield each file with its SHA-256 and what was read of it; see `read_files`.

    Args:
        paths: one file or several.
        read: reads at most the given number of items of a file, and returns something whose length is their
            number.
        limit: read at most this many items from all files together.
    """
    chosen = [corpus_path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not chosen:
        raise ValueError("no file is given")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    seen: dict[str, str | Path] = {}
    for path in chosen:
        if limit == 0:
            return
        contents = read(path, limit)
        digest = file_sha256(path)
        if digest in seen:
            raise CorpusError(f"this is the same file as {seen[digest]}; its content would count twice", file=path)
        seen[digest] = path
        limit = None if limit is None else limit - len(contents)
        yield path, digest, contents


class FileTally:
    """Counts of the sentences of one file, which are added one by one.

    Attributes:
        sentences: the number of sentences.
        words: the number of words.
        origin: the comments of the first sentence that mention a license or a source.
    """

    def __init__(self) -> None:
        self.sentences = self.words = 0
        self.origin: dict[str, str] = {}
        self._is_long = False  # a sentence of one word may really be "_"
        self._has_words = False

    def __len__(self) -> int:
        return self.sentences

    def add(self, sentence: Sentence) -> None:
        """Count a sentence."""
        if not self.sentences:
            comments = sentence.comments.items()
            self.origin = {key: value for key, value in comments if value and _ORIGIN.search(key)}
        self.sentences += 1
        self.words += len(sentence)
        self._is_long = self._is_long or len(sentence) > 1
        self._has_words = self._has_words or any(word != "_" for word in sentence.words)

    def describe(self, path: str | Path, sha256: str) -> CorpusFile:
        """Describe the file.

        Raises:
            CorpusError: every form is ``_``, as in corpora whose text may not be distributed.
        """
        if self._is_long and not self._has_words:
            folder = Path(path).parent.name
            needed = f"; {folder} needs the text of the original corpus" if folder.startswith("UD_") else ""
            raise CorpusError(f"every form is '_': this corpus was released without its words{needed}", file=path)
        return CorpusFile(str(path), sha256, self.sentences, self.words, self.origin, source_of(path))


def describe_file(path: str | Path, sha256: str, sentences: Iterable[Sentence]) -> CorpusFile:
    """Describe a file from which these sentences were read.

    Raises:
        CorpusError: every form is ``_``, as in corpora whose text may not be distributed.
    """
    tally = FileTally()
    for sentence in sentences:
        tally.add(sentence)
    return tally.describe(path, sha256)


def most_frequent_first(counts: Mapping[str, int]) -> Counter[str]:
    """The counts of relations, most frequent first; those that are equally frequent are in alphabetical order."""
    return Counter(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


class UniqueNames:
    """Makes ids unique by appending ``#2``, ``#3``, … to those that have occurred before.

    Attributes:
        renamed: the number of ids that were changed.
    """

    def __init__(self) -> None:
        self.renamed = 0
        self._used: dict[str, int] = {}  # id → the number of times it was requested

    def __call__(self, name: str) -> str:
        """The id itself if it is new, otherwise the id with a number appended."""
        unused = name
        while unused in self._used:
            self._used[name] += 1
            unused = f"{name}#{self._used[name]}"
        self._used[unused] = 1
        self.renamed += unused != name
        return unused


@dataclass(frozen=True, repr=False)
class Corpus(Sequence[Sentence]):
    """A sequence of sentences with their files, their relations and their counts.

    Attributes:
        sentences: the sentences, in file order.
        files: one record for each file.
        relations: how often each relation occurs on words that have a head, most frequent first. It is empty if there
            are no trees.
        unit: the name of the inputs, in the plural.
        limit_unit: the name of what a limit on the input counts, in the plural.
        has_heads: whether sentences may have syntactic heads.

    Example:
        >>> from attentionology.corpora_loaders import Corpus, Sentence
        >>> corpus = Corpus((Sentence("s1", ("Good", "morning")), Sentence("s2", ("Thanks",))))
        >>> corpus
        Corpus(2 sentences, 3 words)
        >>> [sentence.id for sentence in corpus]
        ['s1', 's2']
        >>> corpus.counts()
        {'sentences': 2, 'words': 3, 'documents': 0}
    """

    unit: ClassVar[str] = "sentences"
    limit_unit: ClassVar[str] = "sentences"
    has_heads: ClassVar[bool] = True

    sentences: Sequence[Sentence]
    files: tuple[CorpusFile, ...] = ()
    relations: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        counts = Counter(
            relation
            for sentence in self.sentences
            for head, relation in zip(sentence.heads, sentence.relations, strict=True)
            if head is not None
        )
        object.__setattr__(self, "relations", most_frequent_first(counts))

    def __len__(self) -> int:
        return len(self.sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sentence]: ...
    def __getitem__(self, index: int | slice) -> Sentence | Sequence[Sentence]:
        return self.sentences[index]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __repr__(self) -> str:
        facts = [*self._amounts(), named_files([file.path for file in self.files])]
        return f"{type(self).__name__}({', '.join(filter(None, facts))})"

    def _repr_html_(self) -> str:
        return counts_table(repr(self), self.counts())

    def _amounts(self) -> list[str]:
        """The amounts that `repr` shows, such as ``2 sentences``."""
        return [amount(len(self), self.unit), amount(sum(len(sentence) for sentence in self), "words")]

    def counts(self) -> dict[str, int]:
        """Numbers of sentences, words and documents."""
        return {
            "sentences": len(self),
            "words": sum(len(sentence) for sentence in self),
            "documents": len({sentence.document for sentence in self if sentence.document is not None}),
        }

    def remarks(self) -> list[str]:
        """What a reader should know about how the corpus was read, one sentence for each remark."""
        return []
