"""Loading coreference corpora of all formats."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from operator import eq
from pathlib import Path
from typing import Any

from ..corpus import Tally
from ..errors import CorpusError
from ..sentence import Sentence
from ..stream import HELD, Files, Parts, Stream, read_files
from ..unique_names import UniqueNames, numbered_name
from .document import Account, Document
from .documents import DocumentFacts, Documents
from .formats import FORMATS, format_of

HELD_IN_DOCUMENTS = 4 * HELD
"""The largest number of sentences of documents that are held: more than of a treebank, because documents take longer to
read, and all of a document must be read even if the model reads only its first window."""


def detect_format(path: str | Path) -> str:
    """The name of the format of a corpus, recognized by its first lines; ``"conllu"`` if it is none of the others.

    Raises:
        CorpusError: the file cannot be read.

    Example:
        >>> from attentionology.corpora_loaders.coreference import detect_format
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> detect_format(SAMPLE_TREEBANK)
        'conllu'
    """
    return format_of(path).name


def load_documents(
    paths: str | Path | Iterable[str | Path],
    *,
    lenient: bool = False,
    limit: int | None = None,
    mentions_needed: bool = True,
) -> Documents:
    """Read coreference corpora with CoNLL-2012 columns, in CoNLL-U with ``Entity=``, or in the format of GAP.

    The format of each file is detected. All errors of the files are found at once. The documents of small corpora are
    held in memory; those of others are read again whenever they are asked for, see
    `attentionology.corpora_loaders.stream`. A single document is always held as a whole, because its mentions may
    refer to any of its words: a CoNLL-U file without ``newdoc`` is one document.

    Args:
        paths: one file or several, which may be compressed with gzip, bzip2, xz or zip.
        lenient: whether malformed brackets are ignored and counted, instead of raising an error.
        limit: read at most this many documents.
        mentions_needed: whether a file without any mention is an error.

    Raises:
        ValueError: no file is given, or the limit is less than 1.
        CorpusError: a file cannot be read or has no mention, or two files are the same; see also the readers of the
            formats.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology import load_documents
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "novel.conll")
        ...     _ = path.write_text("#begin document (novel)\\nAnn (1)\\nsaid -\\nshe (1)\\nslept -\\n#end document\\n")
        ...     documents = load_documents(path)
        >>> documents
        Documents(1 document, 1 sentence, 4 words, 2 mentions, 'novel.conll')
        >>> [(mention.spans, mention.entity, mention.type) for mention in documents.documents[0].mentions]
        [(((0, 1),), '1', 'proper'), (((2, 3),), '1', 'pronoun')]
    """
    account, reader = Account(), DocumentFileReader(lenient)
    tally, facts = Tally(), DocumentFacts()
    unique, sentence_names = UniqueNames(), UniqueNames()
    ends = array("Q")
    has_mentions = False

    def add(document: Document) -> tuple[Document, int]:
        nonlocal has_mentions
        has_mentions = has_mentions or bool(document.mentions)
        facts.add(document)
        for sentence in document.sentences:
            tally.add(sentence)
        ids = [sentence_names(sentence.id) for sentence in document.sentences]
        ends.append(len(ids) + (ends[-1] if ends else 0))
        return renamed_document(document, unique(document.id), ids), len(ids)

    def check_file(path: str | Path) -> None:
        nonlocal has_mentions
        if mentions_needed and not has_mentions:
            raise no_mentions(path)
        has_mentions = False

    first = read_files(
        paths,
        partial(reader, account=account),
        add,
        tally,
        contents="document",
        limit=limit,
        hold=HELD_IN_DOCUMENTS,
        check_file=check_file,
    )
    files = replace(first.source, read=reader)
    source = DocumentSource(files, ends, unique.numbers(), sentence_names.numbers())
    documents = Stream(source, held=first.held)
    return Documents(
        sentences=Stream(Parts(documents, ends, sentences_of)),
        files=first.records,
        documents=documents,
        account=account,
        renamed=unique.renamed,
    ).knowing(counted=tally.counted(), facts=facts)


@dataclass(frozen=True)
class DocumentFileReader:
    """Reads the documents of a file from a place on, each with the place after it."""

    lenient: bool

    def __call__(self, path: str, place: Any, account: Account | None = None) -> Iterator[tuple[Document, Any]]:
        """Yield the items with their places; None is the beginning of the file."""
        chosen = format_of(path)
        start = chosen.beginning if place is None else place
        # What is not used has been counted when the file was read first.
        return chosen.read_documents(path, account or Account(), lenient=self.lenient, start=start)


@dataclass(frozen=True)
class DocumentSource:
    """The source of the documents of a corpus, with the ids that they and their sentences have in it."""

    files: Files[Document]
    ends: array[int]  # for each document the number of sentences of this document and of all documents before it
    numbers: array[int]  # that are appended to the ids, see UniqueNames
    sentence_numbers: array[int]

    def __len__(self) -> int:
        return len(self.files)

    def __call__(self, start: int, stop: int) -> Iterator[Document]:
        """Read the items from one position up to another."""
        row = self.ends[start - 1] if start else 0
        for position, document in enumerate(self.files(start, stop), start):
            numbers = self.sentence_numbers[row : self.ends[position]] or repeat(0)
            ids = [numbered_name(one.id, number) for one, number in zip(document.sentences, numbers, strict=False)]
            number = self.numbers[position] if self.numbers else 0
            yield renamed_document(document, numbered_name(document.id, number), ids)
            row = self.ends[position]


def sentences_of(number: int, document: Document) -> Sequence[Sentence]:
    """The sentences of a document, for `Parts`."""
    del number
    return document.sentences


def no_mentions(path: str | Path) -> CorpusError:
    """The error for a file without mentions."""
    *others, last = (corpus_format.mentions for corpus_format in FORMATS)
    return CorpusError(f"the file contains no mentions; expected {', '.join(others)}, or {last}", file=path)


def renamed_document(document: Document, name: str, ids: Sequence[str]) -> Document:
    """The document with another id, whose sentences have other ids as well."""
    if name == document.id and all(map(eq, ids, (sentence.id for sentence in document.sentences))):
        return document
    sentences = [
        replace(sentence, id=sentence_id, document=name)
        for sentence, sentence_id in zip(document.sentences, ids, strict=True)
    ]
    return replace(document, id=name, sentences=tuple(sentences))


LazyDocuments = Documents  # deprecated, and removed in 0.4
open_documents = load_documents  # deprecated, and removed in 0.4
