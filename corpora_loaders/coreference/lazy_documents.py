"""A coreference corpus whose documents stay in their files until they are needed.

A loaded document of a thousand words takes about 300 kB with its mentions. A lazily read corpus keeps an index, which
takes about 10 bytes for each document and less than 1 kB for each window, and 16 windows. A window has as many
documents as have 1,024 sentences together. Everything else is as in a loaded corpus. A single document is always held
as a whole, because its mentions may refer to any of its words: a CoNLL-U file without ``newdoc`` is one document.

All formats are read in this way. GAP and WinoBias are small, but their readers yield one document at a time anyway.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import file_index
from ..compact import SuffixCollector, Suffixes, UniqueSuffixes, numbered_name
from ..corpus import FileTally, most_frequent_first
from ..file_index import SerialIndex, index_files
from ..lazy_items import LazyItems, LazyParts, WindowCache
from ..sentence import Sentence
from .document import Account, Document
from .documents import DocumentFacts, Documents
from .formats import FORMATS, format_of
from .load import no_mentions, renamed_document

KEPT_TIMES = 4
"""How many times as many windows of documents are held as of other items: 16, which have 16,384 sentences."""


@dataclass(frozen=True)
class DocumentIndex(SerialIndex[Document, Any]):
    """Everything about a coreference corpus except its documents.

    Attributes:
        formats: the name of the format of each file.
        lenient: whether malformed brackets are ignored.
        ends: for each document the number of sentences of this document and of all documents before it.
        document_suffixes, sentence_suffixes: the numbers that were appended to ids.
        facts: what is known about all documents together.
        relations: how often each relation occurs on words that have a head.
    """

    formats: tuple[str, ...]
    lenient: bool
    ends: array[int]
    document_suffixes: Suffixes
    sentence_suffixes: Suffixes
    facts: DocumentFacts
    relations: Mapping[str, int]

    @property
    def kept_windows(self) -> int:
        """The number of windows that are held: more than of a treebank, because documents take longer to read.

        Most of a document is often not in any window of the model, but all of it must be read for its mentions.
        """
        return KEPT_TIMES * file_index.KEPT_WINDOWS

    def read(self, number: int, mark: Any) -> Iterator[Document]:
        """Yield the documents of a file, with their ids unchanged."""
        chosen = next(row for row in FORMATS if row.name == self.formats[number])
        start = chosen.beginning if mark is None else mark
        read = chosen.read_documents(self.files[number].path, Account(), lenient=self.lenient, start=start)
        for document, _ in read:
            yield document

    def with_ids(self, window: int, items: tuple[Document, ...]) -> tuple[Document, ...]:
        """Return the documents of a window with the ids that they and their sentences have in the corpus."""
        positions = self.positions(window)
        first = self.ends[positions.start - 1] if positions.start else 0
        of_documents = self.document_suffixes.of(positions)
        of_sentences = self.sentence_suffixes.of(range(first, self.ends[positions.stop - 1]))
        if not of_documents and not of_sentences:
            return items
        suffixes = iter(of_sentences)
        return tuple(
            renamed_document(
                document,
                numbered_name(document.id, of_documents[row] if of_documents else 0),
                [numbered_name(sentence.id, next(suffixes, 0)) for sentence in document.sentences],
            )
            for row, document in enumerate(items)
        )


@dataclass(frozen=True, repr=False)
class LazyDocuments(Documents):
    """A coreference corpus whose documents are read when they are asked for, see `open_documents`.

    Attributes:
        sentences: the sentences of all documents in order.
        documents: the documents, in file order.

    Example:
        >>> from attentionology.corpora_loaders.coreference import LazyDocuments, open_documents
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> corpus = open_documents(SAMPLE_TREEBANK)
        >>> isinstance(corpus, LazyDocuments), corpus.documents
        (True, LazyItems(10 items))
    """

    documents: LazyItems[Document, DocumentIndex] = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", Counter(self.documents.corpus_index.relations))

    @cached_property
    def facts(self) -> DocumentFacts:
        """What is known about all documents together, without reading them again."""
        return self.documents.corpus_index.facts

    def _sentence_counts(self) -> dict[str, int]:
        return {"sentences": len(self), "words": sum(file.words for file in self.files)}


@dataclass(frozen=True)
class SentencesOf:
    """Returns the sentences of a document, for `attentionology.corpora_loaders.lazy_items.LazyParts`."""

    def __call__(self, number: int, document: Document) -> Sequence[Sentence]:
        """Return the sentences of a document; its number has no effect."""
        return document.sentences


def open_documents(
    paths: str | Path | Iterable[str | Path],
    *,
    lenient: bool = False,
    limit: int | None = None,
    mentions_needed: bool = True,
) -> LazyDocuments:
    """Index coreference corpora, and return a corpus that reads its documents when they are asked for.

    The files must stay as they are while the corpus is used. A `CorpusError` reports a file that has changed.

    The arguments and errors are those of `attentionology.corpora_loaders.coreference.load_documents`. All errors of the
    files are raised here.

    Example:
        >>> from attentionology.corpora_loaders.coreference import open_documents
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> corpus = open_documents(SAMPLE_TREEBANK)
        >>> corpus
        LazyDocuments(10 documents, 157 sentences, 2,809 words, 584 mentions, 'en_sample.conllu')
        >>> corpus.documents[1].id, corpus[20].id
        ('night_train', 'night_train-07')
    """
    account, building = Account(), _Building(mentions_needed=mentions_needed)

    def read(path: str | Path) -> Iterator[tuple[Document, Any]]:
        chosen = format_of(path)
        building.formats.append(chosen.name)
        yield from chosen.read_documents(path, account, lenient=lenient, start=chosen.beginning)

    indexed = index_files(
        paths,
        read,
        None,
        building.add,
        contents="document",
        limit=limit,
        keep=KEPT_TIMES * file_index.KEPT_WINDOWS,
        check_file=building.check_file,
    )
    index = DocumentIndex(
        indexed.files,
        indexed.sources,
        indexed.windows,
        tuple(building.formats),
        lenient,
        building.ends,
        building.document_suffixes.collected(),
        building.sentence_suffixes.collected(),
        building.tally,
        most_frequent_first(building.relations),
    )
    documents = LazyItems(index, cache=WindowCache(index, indexed.kept))
    sentences = LazyParts(documents, index.ends, SentencesOf())
    return LazyDocuments(
        sentences=sentences,
        files=index.files,
        documents=documents,
        account=account,
        renamed=building.unique_documents.renamed,
    )


class _Building:
    """Collects what is known about all documents, document by document."""

    def __init__(self, *, mentions_needed: bool) -> None:
        self.formats: list[str] = []
        self.ends = array("Q")
        self.tally = DocumentFacts()
        self.relations: Counter[str] = Counter()
        self.unique_documents, self.document_suffixes = UniqueSuffixes(), SuffixCollector()
        self.sentence_suffixes = SuffixCollector()
        self._unique_sentences = UniqueSuffixes()
        self._mentions_needed, self._has_mentions = mentions_needed, False

    def add(self, document: Document, tally: FileTally) -> tuple[Document, int]:
        """Count a document, and return it as it is in the corpus."""
        self.tally.add(document)
        self._has_mentions = self._has_mentions or bool(document.mentions)
        self.ends.append((self.ends[-1] if self.ends else 0) + len(document.sentences))
        suffix = self.unique_documents(document.id)
        self.document_suffixes.add(suffix)
        ids = []
        for sentence in document.sentences:
            tally.add(sentence)
            number = self._unique_sentences(sentence.id)
            self.sentence_suffixes.add(number)
            ids.append(numbered_name(sentence.id, number))
            for head, relation in zip(sentence.heads, sentence.relations, strict=True):
                if head is not None:
                    self.relations[relation] += 1
        return renamed_document(document, numbered_name(document.id, suffix), ids), len(document.sentences)

    def check_file(self, path: str | Path) -> None:
        """Check the file whose documents were added last.

        Raises:
            CorpusError: it has no mention.
        """
        if self._mentions_needed and not self._has_mentions:
            raise no_mentions(path)
        self._has_mentions = False
