"""The formats of annotated corpora, one row each: how a file of the format is told, and how it is read.

To add a format, write its reader and add a row to `FORMATS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from attentionology.corpora_loaders.conllu_file import read_conllu
from attentionology.corpora_loaders.coreference.conll2012 import BEGIN, read_conll2012
from attentionology.corpora_loaders.coreference.document import Account, Document
from attentionology.corpora_loaders.coreference.entities import read_entities
from attentionology.corpora_loaders.coreference.gap import HEADER, read_gap
from attentionology.corpora_loaders.lines import WHOLE_NUMBER, numbered_lines
from attentionology.corpora_loaders.sentence import Sentence

_FIRST_ID = re.compile(r"1|1-\d+|[01]\.\d+")
_LAST_CELL = re.compile(r"[-_*]|\(.*|.*\)")
_READ_AT_MOST = 1000  # lines, until there is one that is not empty and no comment


@dataclass(frozen=True)
class Beginning:
    """What a format is told by.

    Attributes:
        comments: the lines before the first row that start with ``#``.
        row: the first line that is neither blank nor a comment; empty if there is none.
        line: its number, from 1.
    """

    comments: tuple[str, ...] = ()
    row: str = ""
    line: int = 0


class DocumentReader(Protocol):
    """A reader of documents."""

    def __call__(self, path: str | Path, account: Account, *, lenient: bool) -> Iterator[Document]:
        """Yield the documents of a file, and count in the account what is not among the mentions."""
        ...


@dataclass(frozen=True)
class CorpusFormat:
    """One format.

    Attributes:
        name: what `detect_format` returns.
        mentions: what a file with mentions is called in messages.
        recognize: whether a file that begins like this is of the format. No two formats recognize the same file.
        read_documents: reads sentences with mentions.
        read_trees: reads sentences with dependency trees; None where the format has none.
    """

    name: str
    mentions: str
    recognize: Callable[[Beginning], bool]
    read_documents: DocumentReader
    read_trees: Callable[[str | Path], Iterator[Sentence]] | None = None

    @property
    def has_trees(self) -> bool:
        """Whether its sentences have dependency trees."""
        return self.read_trees is not None


def format_of(path: str | Path) -> CorpusFormat:
    """The format of a corpus, told by its first lines.

    A file that is of no known format counts as CoNLL-U, whose reader then says in which line it expected what.

    Raises:
        CorpusError: the file cannot be read.
    """
    beginning = _beginning(path)
    return next((known for known in FORMATS if known.recognize(beginning)), CONLLU)


def _beginning(path: str | Path) -> Beginning:
    comments: list[str] = []
    for line, text in islice(numbered_lines(path), _READ_AT_MOST):
        if text.startswith("#"):
            comments.append(text)
        elif text.strip():
            return Beginning(tuple(comments), text, line)
    return Beginning(tuple(comments))


def _is_conll2012(beginning: Beginning) -> bool:
    if any(map(BEGIN.match, beginning.comments)):
        return True
    if _is_gap(beginning) or _is_tree_row(beginning.row):
        return False
    columns = beginning.row.split()
    return len(columns) > 1 and _LAST_CELL.fullmatch(columns[-1]) is not None


def _is_conllu(beginning: Beginning) -> bool:
    return _is_tree_row(beginning.row) and not _is_conll2012(beginning)


def _is_gap(beginning: Beginning) -> bool:
    return beginning.line == 1 and beginning.row.startswith(HEADER)


def _is_tree_row(row: str) -> bool:
    """Whether a first row is one of CoNLL-U: by its id or, where that is damaged, by its ten columns and its head."""
    columns = row.split()
    if len(columns) >= 8 and _FIRST_ID.fullmatch(columns[0]):
        return True
    columns = row.split("\t")
    if len(columns) != 10 or WHOLE_NUMBER.fullmatch(columns[2]):  # in CoNLL-2012 the third column is the word's number
        return False
    return columns[6] == "_" or WHOLE_NUMBER.fullmatch(columns[6]) is not None


def _read_conllu_documents(path: str | Path, account: Account, *, lenient: bool) -> Iterator[Document]:
    return read_entities(read_conllu(path), path, account, lenient=lenient)


def _read_gap_documents(path: str | Path, account: Account, *, lenient: bool) -> Iterator[Document]:
    return read_gap(path)  # it has no brackets that could be malformed


CONLLU = CorpusFormat("conllu", "CoNLL-U with Entity= in MISC", _is_conllu, _read_conllu_documents, read_conllu)

FORMATS = (
    CorpusFormat("conll2012", "CoNLL-2012 columns", _is_conll2012, read_conll2012),
    CONLLU,
    CorpusFormat("gap", "GAP", _is_gap, _read_gap_documents),
)
"""All formats."""
