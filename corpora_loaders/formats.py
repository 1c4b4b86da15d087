"""The formats of annotated corpora: how a file of each format is recognized, and how it is read.

To add a format, write its reader and add a row to `FORMATS`. The rows of `UNREAD` are formats that are recognized but
not read, because a reader of another format would list one mistake for each of their lines. To read one of them, put a
row with the same recognizer into `FORMATS` in the place of its own.

Example:
    >>> from attentionology.corpora_loaders.formats import FORMATS
    >>> [(corpus_format.name, corpus_format.has_trees) for corpus_format in FORMATS]
    [('conll2012', False), ('conllu', True), ('gap', False), ('conll2009', True), ('conll2008', True), ...
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..storage.nearest import UnknownNameError, describe_unknown
from ..storage.plugins import Plugins, RegistryError, load_entry_point, name_extension, source_of
from .beginning import (
    Beginning,
    beginning_of_file,
    is_clark,
    is_conll2008,
    is_conll2009,
    is_conll2012,
    is_conllu,
    is_conllu_plus,
    is_conllx8,
    is_documents,
    is_gap,
    is_malt_tab,
    is_other_json,
    is_semeval2010,
    is_xml,
)
from .column_formats import (
    placed_clark,
    placed_conll2008,
    placed_conllu_plus,
    placed_conllx8,
    placed_malt_tab,
    placed_semeval2010,
)
from .conll2009 import placed_conll2009
from .conllu_file import placed_sentences, read_conllu
from .coreference.benchmarks import read_gap
from .coreference.conll2012 import read_columns, read_semeval2010
from .coreference.document import Document
from .coreference.entities import read_entities
from .coreference.jsonlines import read_jsonlines
from .errors import CorpusError
from .sentence import Sentence

DocumentReader = Callable[..., Iterator[tuple[Document, Any]]]
"""A function of a path, an `Account` that receives the numbers of what does not become a mention, ``lenient`` (whether
malformed brackets are counted instead of raising an error), and ``place``, which is None or a place that was yielded
before. It yields the documents of the file from that place on, each with the place after it."""

TreeReader = Callable[[str | Path, Any, list[CorpusError] | None], Iterator[tuple[Sentence, Any]]]
"""A function of a path, a place as for a `DocumentReader`, and None or a list. It yields the sentences from that place
on, each with the place after it. With a list, it leaves out sentences with mistakes, and adds the first mistake of
each."""


@dataclass(frozen=True)
class CorpusFormat:
    """One format of annotated corpora.

    Attributes:
        name: the name that `detect_format` returns.
        mentions: the name of the format in messages about files without mentions; empty if it never has any.
        recognize: a function that tells from the beginning of a file whether the file has the format. No two formats
            recognize the same file.
        read_documents: a function that reads documents with mentions.
        read_trees: a function that reads sentences with dependency trees; None if the format has none.
        placed_trees: a function that reads the same sentences from any place in the file, see `TreeReader`. Without it,
            large files are read again from their beginning, and mistakes cannot be left out.
        also: what else has this format, for the help of options.

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
    placed_trees: TreeReader | None = None
    also: str = ""

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
    point = _PLUGINS.find_additions().get(name)
    if point is None:
        raise UnknownNameError(describe_unknown("format", name, list_formats()))
    added = load_entry_point(_PLUGINS.what, point)
    if isinstance(added, CorpusFormat):
        return added
    if not callable(added):
        raise RegistryError(f"{source_of(point)} is neither a function of a path nor a CorpusFormat")

    return format_of_reader(name, added)


def format_of_reader(name: str, read: Callable[[str | Path], Iterator[Sentence]]) -> CorpusFormat:
    """Return the format of a function that yields the sentences of a file. It is chosen by its name alone."""

    def read_trees(path: str | Path) -> Iterator[Sentence]:
        try:
            with name_extension(_PLUGINS.what, name, f"reading {path}"):
                yield from read(path)
        except UnicodeDecodeError as error:
            message = f"the file is not UTF-8 ({error.reason}); convert it first"
            raise CorpusError(message, file=path) from error

    return CorpusFormat(name, "", lambda beginning: False, without_mentions(name), read_trees)


def without_mentions(name: str) -> DocumentReader:
    """Return the reader of documents of a format that has no mentions."""

    def refuse(path: str | Path, *others: Any, **options: Any) -> Iterator[tuple[Document, Any]]:
        raise CorpusError(f"the format {name!r} has no mentions", file=path)

    return refuse


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


CONLLU = CorpusFormat(
    "conllu",
    "CoNLL-U with Entity= in MISC",
    is_conllu,
    read_entities,
    read_conllu,
    placed_sentences,
    also="CoNLL-X",
)


def _read_all(placed: TreeReader) -> Callable[[str | Path], Iterator[Sentence]]:
    """Return a function that reads all sentences of a file."""
    return lambda path: (sentence for sentence, _ in placed(path, None, None))


def _of_trees(name: str, recognize: Callable[[Beginning], bool], placed: TreeReader, *, also: str = "") -> CorpusFormat:
    """Return a format with trees and without mentions."""
    return CorpusFormat(name, "", recognize, without_mentions(name), _read_all(placed), placed, also)


FORMATS: tuple[CorpusFormat, ...] = (
    CorpusFormat("conll2012", "CoNLL-2012 columns", is_conll2012, read_columns),
    CONLLU,
    CorpusFormat("gap", "GAP", is_gap, read_gap),
    _of_trees("conll2009", is_conll2009, placed_conll2009),
    _of_trees("conll2008", is_conll2008, placed_conll2008),
    _of_trees("conllx8", is_conllx8, placed_conllx8),
    _of_trees("conllu-plus", is_conllu_plus, placed_conllu_plus, also=".cupt"),
    _of_trees("malt-tab", is_malt_tab, placed_malt_tab),
    _of_trees("clark", is_clark, placed_clark),
    CorpusFormat(
        "semeval2010",
        "SemEval-2010 columns",
        is_semeval2010,
        read_semeval2010,
        placed_trees=placed_semeval2010,
    ),
    CorpusFormat("jsonlines", "JSON Lines with clusters", is_documents, read_jsonlines),
)
"""All formats, each with how it is recognized and read."""

NAMES = ", ".join(each.name + (f" (also {each.also})" if each.also else "") for each in FORMATS)
"""The names of all formats, in words, for the help of options."""

UNREAD = (
    UnreadFormat(is_other_json, lambda beginning: "JSON Lines without sentences and clusters"),
    UnreadFormat(is_xml, lambda beginning: "XML"),
)
"""Formats that are recognized, but not read: their error is the name of the format."""
