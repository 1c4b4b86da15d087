"""Any coreference corpus, whatever its format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from attentionology.corpora_loaders.coreference.document import Account, Document, Documents
from attentionology.corpora_loaders.coreference.formats import FORMATS, format_of
from attentionology.corpora_loaders.corpus import CorpusFile, UniqueNames, describe_file, read_files
from attentionology.corpora_loaders.errors import CorpusError


def detect_format(path: str | Path) -> str:
    """Name of the format of a corpus, told by its first lines; ``"conllu"`` if it is none of the others.

    Raises:
        CorpusError: the file cannot be read.
    """
    return format_of(path).name


def load_documents(
    paths: str | Path | Iterable[str | Path],
    *,
    lenient: bool = False,
    limit: int | None = None,
    mentions_needed: bool = True,
) -> Documents:
    """Read coreference corpora: CoNLL-2012 columns, CoNLL-U with ``Entity=``, GAP; the format of each file is detected.

    Args:
        paths: one file or several; ``.gz`` is read as it is.
        lenient: ignore malformed brackets and count them, instead of stopping.
        limit: take the first so many documents only.
        mentions_needed: whether a file without any mention is an error.

    Raises:
        CorpusError: a file cannot be read, has no mention, or two files are the same; see the readers of each format.
    """
    account = Account()

    def read(path: str | Path) -> Iterator[Document]:
        return format_of(path).read_documents(path, account, lenient=lenient)

    documents: list[Document] = []
    files: list[CorpusFile] = []
    names, sentence_names = UniqueNames(), UniqueNames()
    for path, sha256, own in read_files(paths, read, limit):
        if not own:
            raise CorpusError("there is no document in it", file=path)
        if mentions_needed and not any(document.mentions for document in own):
            *others, last = (known.mentions for known in FORMATS)
            message = f"there are no mentions in it; expected are {', '.join(others)}, or {last}"
            raise CorpusError(message, file=path)
        files.append(describe_file(path, sha256, [sentence for document in own for sentence in document.sentences]))
        documents += [_named(document, names(document.id), sentence_names) for document in own]
    return Documents(
        sentences=tuple(sentence for document in documents for sentence in document.sentences),
        files=tuple(files),
        documents=tuple(documents),
        account=account,
        renamed=names.renamed,
    )


def _named(document: Document, name: str, sentence_names: UniqueNames) -> Document:
    """The document under a unique name, its sentences too."""
    ids = [sentence_names(sentence.id) for sentence in document.sentences]
    if name == document.id and ids == [sentence.id for sentence in document.sentences]:
        return document
    sentences = [
        replace(sentence, id=own, document=name) for sentence, own in zip(document.sentences, ids, strict=True)
    ]
    return replace(document, id=name, sentences=tuple(sentences))
