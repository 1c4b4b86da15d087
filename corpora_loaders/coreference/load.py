"""Loading coreference corpora of all formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import eq
from pathlib import Path

from ..corpus import CorpusFile, UniqueNames, describe_file, read_files
from ..errors import CorpusError
from .document import Account, Document
from .documents import Documents
from .formats import FORMATS, format_of


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

    The format of each file is detected.

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
    account = Account()

    def read(path: str | Path) -> Iterator[Document]:
        chosen = format_of(path)
        for document, _ in chosen.read_documents(path, account, lenient=lenient, start=chosen.beginning):
            yield document

    documents: list[Document] = []
    files: list[CorpusFile] = []
    unique_names, sentence_names = UniqueNames(), UniqueNames()
    for path, sha256, of_file in read_files(paths, read, limit):
        if not of_file:
            raise CorpusError("the file contains no document", file=path)
        if mentions_needed and not any(document.mentions for document in of_file):
            raise no_mentions(path)
        sentences = [sentence for document in of_file for sentence in document.sentences]
        files.append(describe_file(path, sha256, sentences))
        for document in of_file:
            name = unique_names(document.id)
            documents.append(
                renamed_document(document, name, [sentence_names(sentence.id) for sentence in document.sentences])
            )
    return Documents(
        sentences=tuple(sentence for document in documents for sentence in document.sentences),
        files=tuple(files),
        documents=tuple(documents),
        account=account,
        renamed=unique_names.renamed,
    )


def no_mentions(path: str | Path) -> CorpusError:
    """The error for a file without mentions."""
    *others, last = (corpus_format.mentions for corpus_format in FORMATS)
    return CorpusError(f"the file contains no mentions; expected {', '.join(others)}, or {last}", file=path)


def renamed_document(document: Document, name: str, ids: Sequence[str]) -> Document:
    """The document with another id, whose sentences have other ids as well.

    Args:
        document: the document.
        name: its id, unique in the corpus.
        ids: the ids of its sentences, unique in the corpus.
    """
    if name == document.id and all(map(eq, ids, (sentence.id for sentence in document.sentences))):
        return document
    sentences = [
        replace(sentence, id=sentence_id, document=name)
        for sentence, sentence_id in zip(document.sentences, ids, strict=True)
    ]
    return replace(document, id=name, sentences=tuple(sentences))
