"""The formats of annotated corpora: how a file of each format is recognized, and how it is read.

To add a format, write its reader and add a row to `FORMATS`. The rows of `UNREAD` are formats that are recognized but
not read, because a reader of another format would list one mistake for each of their lines. To read one of them, put a
row with the same recognizer into `FORMATS` in the place of its own.

Example:
    >>> from attentionology.corpora_loaders.formats import FORMATS
    >>> [(corpus_format.name, corpus_format.has_trees) for corpus_format in FORMATS]
    [('conll2012', False), ('conllu', True), ('gap', False)]
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..storage.nearest import UnknownNameError, unknown
from ..storage.plugins import Plugins, RegistryError, loaded, running, source_of
from .beginning import Beginning, beginning_of_file
from .conllu_file import read_conllu
from .coreference.benchmarks import HEADER, read_gap
from .coreference.conll2012 import read_columns
from .coreference.document import Document
from .coreference.entities import read_entities
from .errors import CorpusError
from .lines import WHOLE_NUMBER
from .sentence import Sentence

_FIRST_ID = re.compile(r"1|1-\d+|[01]\.\d+")
_LAST_CELL = re.compile(r"[-_*]|\(.*|.*\)")
_STANDARD_COLUMNS = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
_COLUMNS = re.compile(r"#\s*global\.columns\s*=\s*(?P<names>.*)")
_COLUMNS_2009, _COLUMNS_2010 = 14, 14  # the least numbers of columns
_HEADS_2009 = slice(8, 10)  # the columns HEAD and PHEAD


DocumentReader = Callable[..., Iterator[tuple[Document, Any]]]
"""A function of a path, an `Account` that receives the numbers of what does not become a mention, ``lenient`` (whether
malformed brackets are counted instead of raising an error), and ``place``, which is None or a place that was yielded
before. It yields the documents of the file from that place on, each with the place after it."""


@dataclass(frozen=True)
class CorpusFormat:
    """One format of annotated corpora.

    Attributes:
        name: the name that `detect_format` returns.
        mentions: the name of the format in messages about files without mentions.
        recognize: a function that tells from the beginning of a file whether the file has the format. No two formats
            recognize the same file.
        read_documents: a function that reads documents with mentions.
        read_trees: a function that reads sentences with dependency trees; None if the format has none.

    Example:
        >>> from attentionology.corpora_loaders.formats import format_of
        >>> from attentionology.corpora_loaders import SAMPLE_TREEBANK
        >>> sentence = next(format_of(SAMPLE_TREEBANK).read_trees(SAMPLE_TREEBANK))
        >>> sentence.words[:3]
        ('Harrow', 'Lane', 'Garden')
    """

    name: str
    mentions: str
    recognize: Callable[[Beginning], bool]
    read_documents: DocumentReader
    read_trees: Callable[[str | Path], Iterator[Sentence]] | None = None

    @property
    def has_trees(self) -> bool:
        """Whether the sentences have dependency trees."""
        return self.read_trees is not None


@dataclass(frozen=True)
class UnreadFormat:
    """A format that is recognized, but not read.

    Attributes:
        recognize: a function that tells from the beginning of a file whether the file has the format.
        name: a function that returns what an error calls the format.
    """

    recognize: Callable[[Beginning], bool]
    name: Callable[[Beginning], str]


def format_of(path: str | Path) -> CorpusFormat:
    """Return the format of a corpus, recognized by its first lines.

    A file of no known format counts as CoNLL-U, whose reader then reports the line that is wrong.

    Raises:
        CorpusError: the file cannot be read, or has a format that is recognized, but not read.

    Example:
        >>> from attentionology.corpora_loaders.formats import format_of
        >>> from attentionology.corpora_loaders import SAMPLE_TREEBANK
        >>> format_of(SAMPLE_TREEBANK).name
        'conllu'
    """
    beginning = beginning_of_file(path)
    for corpus_format in FORMATS:
        if corpus_format.recognize(beginning):
            return corpus_format
    for unread in UNREAD:
        if unread.recognize(beginning):
            known = ", ".join(corpus_format.name for corpus_format in FORMATS)
            message = f"this looks like {unread.name(beginning)}, which is none of the formats that are read: {known}"
            raise CorpusError(f"{message}; convert it first", file=path, line=beginning.line)
    return CONLLU


_PLUGINS = Plugins("corpus format", lambda: [each.name for each in FORMATS])


def list_formats() -> list[str]:
    """The names of the formats of annotated corpora, those of the toolkit first.

    Example:
        >>> from attentionology.corpora_loaders import list_formats
        >>> list_formats()[:3]
        ['conll2012', 'conllu', 'gap']
    """
    return _PLUGINS.names()


@functools.cache
def get_format(name: str) -> CorpusFormat:
    """Return the format of a name. A format of another package is that of its entry point.

    The entry point names a function that takes the path of a file and yields its sentences with their trees, or a
    `CorpusFormat`, which may have mentions as well.

    Raises:
        ValueError: there is no such format; the message lists the choices.
        RegistryError: the entry point cannot be loaded, or is neither of the two.

    Example:
        >>> from attentionology.corpora_loaders import get_format
        >>> get_format("gap").has_trees
        False
    """
    for corpus_format in FORMATS:
        if corpus_format.name == name:
            return corpus_format
    point = _PLUGINS.added().get(name)
    if point is None:
        raise UnknownNameError(unknown("format", name, list_formats()))
    added = loaded(_PLUGINS.what, point)
    if isinstance(added, CorpusFormat):
        return added
    if not callable(added):
        raise RegistryError(f"{source_of(point)} is neither a function of a path nor a CorpusFormat")

    return format_of_reader(name, added)


def format_of_reader(name: str, read: Callable[[str | Path], Iterator[Sentence]]) -> CorpusFormat:
    """Return the format of a function that yields the sentences of a file. It is chosen by its name alone."""

    def read_trees(path: str | Path) -> Iterator[Sentence]:
        try:
            with running(_PLUGINS.what, name, f"reading {path}"):
                yield from read(path)
        except UnicodeDecodeError as error:
            message = f"the file is not UTF-8 ({error.reason}); convert it first"
            raise CorpusError(message, file=path) from error

    def no_mentions(path: str | Path, *others: Any, **options: Any) -> Iterator[tuple[Document, Any]]:
        raise CorpusError(f"the format {name!r} has no mentions", file=path)

    return CorpusFormat(name, name, lambda beginning: False, no_mentions, read_trees)


def detect_format(path: str | Path) -> str:
    """Return the name of the format of a corpus, recognized by its first lines; ``"conllu"`` if it is no other.

    Raises:
        CorpusError: the file cannot be read.

    Example:
        >>> from attentionology.corpora_loaders.formats import detect_format
        >>> from attentionology.corpora_loaders import SAMPLE_TREEBANK
        >>> detect_format(SAMPLE_TREEBANK)
        'conllu'
    """
    return format_of(path).name


def _is_json(beginning: Beginning) -> bool:
    return re.match(r'\{\s*"', beginning.row) is not None


def _is_xml(beginning: Beginning) -> bool:
    return beginning.row.startswith(("<?xml", "<!DOCTYPE"))


def _named_columns(beginning: Beginning) -> list[str]:
    """Return the columns of CoNLL-U Plus, unless they are those of CoNLL-U."""
    names = next((match["names"].split() for match in map(_COLUMNS.match, beginning.comments) if match), [])
    return [] if names == _STANDARD_COLUMNS else names


def _is_conllu_plus(beginning: Beginning) -> bool:
    return bool(_named_columns(beginning)) and not _is_json(beginning) and not _is_xml(beginning)


def _has_forms(beginning: Beginning) -> bool:
    """Whether the first row is that of a word with the number 1 and a form; rows of CoNLL-2012 have further numbers."""
    cells = beginning.cells
    return cells[:1] == ["1"] and not any(map(WHOLE_NUMBER.fullmatch, cells[1:3])) and not _named_columns(beginning)


def _is_semeval2010(beginning: Beginning) -> bool:
    return _has_forms(beginning) and beginning.begins_document and len(beginning.cells) >= _COLUMNS_2010


def _is_conll2009(beginning: Beginning) -> bool:
    if not _has_forms(beginning) or beginning.begins_document or len(beginning.cells) < _COLUMNS_2009:
        return False
    return all(head == "_" or WHOLE_NUMBER.fullmatch(head) for head in beginning.cells[_HEADS_2009])


def _has_other_name(beginning: Beginning) -> bool:
    """Whether a file has a format with a mark of its own, although its rows may look like those of another format."""
    recognizers = (_is_json, _is_xml, _is_conllu_plus, _is_semeval2010, _is_conll2009, _is_gap)
    return any(recognize(beginning) for recognize in recognizers)


def _is_conll2012(beginning: Beginning) -> bool:
    """Whether a file begins like CoNLL-2012, with a document or with a row whose last cell may have brackets."""
    if _has_other_name(beginning):
        return False
    if beginning.begins_document:
        return True
    if _is_tree_row(beginning.row):
        return False
    cells = beginning.row.split()
    return len(cells) > 1 and _LAST_CELL.fullmatch(cells[-1]) is not None


def _is_conllu(beginning: Beginning) -> bool:
    return _is_tree_row(beginning.row) and not beginning.begins_document and not _has_other_name(beginning)


def _is_gap(beginning: Beginning) -> bool:
    return beginning.line == 1 and beginning.row.startswith(HEADER)


def _is_tree_row(row: str) -> bool:
    """Whether a first row is in CoNLL-U, judging by its id or, if that is damaged, by its ten columns and its head."""
    words = row.split()
    if len(words) >= 8 and _FIRST_ID.fullmatch(words[0]):
        return True
    columns = row.split("\t")
    if len(columns) != 10 or WHOLE_NUMBER.fullmatch(columns[2]):  # CoNLL-2012 has word numbers here
        return False
    head = columns[6]
    return head == "_" or WHOLE_NUMBER.fullmatch(head) is not None


CONLLU = CorpusFormat(
    "conllu",
    "CoNLL-U with Entity= in MISC",
    _is_conllu,
    read_entities,
    read_conllu,
)

FORMATS: tuple[CorpusFormat, ...] = (
    CorpusFormat("conll2012", "CoNLL-2012 columns", _is_conll2012, read_columns),
    CONLLU,
    CorpusFormat("gap", "GAP", _is_gap, read_gap),
)
"""All formats, each with how it is recognized and read."""

UNREAD = (
    UnreadFormat(
        _is_json,
        lambda beginning: (
            "JSON Lines of documents with sentences and clusters"
            if '"clusters"' in beginning.row and '"sentences"' in beginning.row
            else "JSON Lines"
        ),
    ),
    UnreadFormat(_is_xml, lambda beginning: "XML"),
    UnreadFormat(
        _is_conllu_plus,
        lambda beginning: f"CoNLL-U Plus with the columns {' '.join(_named_columns(beginning))[:200]}",
    ),
    UnreadFormat(_is_semeval2010, lambda beginning: "coreference in the columns of SemEval-2010"),
    UnreadFormat(_is_conll2009, lambda beginning: "CoNLL-2009"),
)
"""Formats that are recognized, but not read: their error is the name of the format."""
