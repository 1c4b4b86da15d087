"""Any coreference corpus, whatever its format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal

from attentionology.corpora_loaders.conllu_file import read_conllu
from attentionology.corpora_loaders.coreference.conll2012 import BEGIN, read_conll2012
from attentionology.corpora_loaders.coreference.document import Account, Document, Documents
from attentionology.corpora_loaders.coreference.entities import read_entities
from attentionology.corpora_loaders.coreference.gap import HEADER, read_gap
from attentionology.corpora_loaders.corpus import CorpusFile, UniqueNames, describe_file, read_files
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import numbered_lines

Format = Literal["conllu", "conll2012", "gap"]

_FIRST_ID = re.compile(r"1|1-\d+|[01]\.\d+")
_LAST_CELL = re.compile(r"[-_*]|\(.*|.*\)")


def detect_format(path: str | Path) -> Format:
    """Tell the format of a corpus by its first lines; ``"conllu"`` if it is none of the others.

    Raises:
        CorpusError: the file cannot be read.
    """
    for line, text in islice(numbered_lines(path), 1000):
        if line == 1 and text.startswith(HEADER):
            return "gap"
        if BEGIN.match(text):
            return "conll2012"
        if text.strip() and not text.startswith("#"):
            columns = text.split()
            if len(columns) >= 8 and _FIRST_ID.fullmatch(columns[0]):
                return "conllu"
            return "conll2012" if len(columns) > 1 and _LAST_CELL.fullmatch(columns[-1]) else "conllu"
    return "conllu"


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
        return _read(path, lenient, account)

    documents: list[Document] = []
    files: list[CorpusFile] = []
    names, sentence_names = UniqueNames(), UniqueNames()
    for path, sha256, own in read_files(paths, read, limit):
        if not own:
            raise CorpusError("there is no document in it", file=path)
        if mentions_needed and not any(document.mentions for document in own):
            raise CorpusError(
                "there are no mentions in it; expected are CoNLL-2012 columns, CoNLL-U with Entity= in MISC, or GAP",
                file=path,
            )
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


def _read(path: str | Path, lenient: bool, account: Account) -> Iterator[Document]:
    form = detect_format(path)
    if form == "gap":
        return read_gap(path)
    if form == "conllu":
        return read_entities(read_conllu(path), path, account, lenient=lenient)
    return read_conll2012(path, account, lenient=lenient)
