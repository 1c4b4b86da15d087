"""CoNLL-U (Universal Dependencies v2) and CoNLL-X files → sentences.

This module divides a file into sentences; `attentionology.corpora_loaders.conllu_lines` reads one of them. The two
split lines into columns themselves, because an error must name its line, and because forms, glosses and feature values
of real treebanks contain double spaces and equals signs. Ids, heads and comments are parsed by the `conllu` package.

A file may hold more than words and a tree:

* A multiword token (``3-4 du``) is a stretch of the running text that the treebank splits into syntactic words
  (``de le``). The tree connects the syntactic words, so these are the words of the sentence. The range and the form of
  the token are kept in `Sentence.multiword`, from which `attentionology.corpora_loaders.surface` can restore the text.
* An empty node (``8.1``) is a word that is understood but not written, for example an elided verb or a dropped pronoun.
  A model cannot attend to it, and the basic tree does not contain it, so it is not among the words. Its id and its MISC
  column are kept, because the coreference annotation of a dropped pronoun is stored there.
* Enhanced dependencies (column 9) form a graph in which a word can have several heads, some of them empty nodes. All
  measures here need exactly one head for each word, so the column is kept as text in `Sentence.deps` but not used.
* The head may be ``_`` where the annotators left it open. It is read as None. The model reads such a word, since the
  words around it depend on it, but the word is never scored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from conllu.parser import parse_comment_line

from .conllu_lines import COLUMNS, LineBlock, SentenceLines, lost_words
from .errors import CorpusError, together
from .lines import located_lines
from .sentence import Sentence

_LISTED = 10  # the number of mistakes that are reported together
_SHARED_CELLS = 2**13
_DOCUMENT_COMMENT = re.compile(r"#\s*(global\.|newdoc)")
_DOCUMENT = re.compile(r"#\s*newdoc(?:\s+id\s*=\s*(?P<id>.*?))?\s*$")


def read_conllu(path: str | Path) -> Iterator[Sentence]:
    """Yield the sentences of one CoNLL-U or CoNLL-X file, which may be compressed with gzip, bzip2, xz or zip.

    The K-th sentence of the file NAME has the id ``NAME:K`` if it has no ``sent_id``. The K-th document has the id
    ``PATH:docK`` if its ``newdoc`` has none.

    Raises:
        CorpusError: a row has a wrong number of columns or an empty form; ids (including those of empty nodes) are out
            of order; a head is not a number, is outside the sentence, or the heads form a cycle; multiword tokens
            overlap; or an entity is marked on a multiword token. The error lists the first ten mistakes of the file,
            each with file, line and sentence.

    Example:
        >>> from attentionology.corpora_loaders import read_conllu
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> sentence = next(read_conllu(SAMPLE_TREEBANK))
        >>> sentence.id, sentence.document, len(sentence)
        ('garden-01', 'garden', 14)
    """
    for sentence, _ in bookmarked_sentences(path):
        yield sentence


class Bookmark(NamedTuple):
    """A position between two sentences of a file, from which reading can be resumed.

    Attributes:
        offset: the number of bytes before the position, see `attentionology.corpora_loaders.lines.located_lines`.
        line: the number of lines before it.
        sentences: the number of sentences before it.
        documents: the number of documents that begin before it.
        document: the id of the document that goes on at the position, if there is one.
    """

    offset: int = 0
    line: int = 0
    sentences: int = 0
    documents: int = 0
    document: str | None = None


BEGINNING = Bookmark()
"""The position before the first sentence."""


def bookmarked_sentences(path: str | Path, start: Bookmark = BEGINNING) -> Iterator[tuple[Sentence, Bookmark]]:
    """Yield the sentences of a file from a position on, each with the position after it; see `read_conllu`.

    Args:
        path: the file.
        start: the beginning of the file, or a position that was yielded before.

    Raises:
        CorpusError: `read_conllu` raises it.
    """
    readings = _readings(Path(path), start)
    for sentence, faults, after in readings:
        if sentence is None:
            raise _mistakes(faults, readings)
        yield sentence, after


_Reading = tuple[Sentence | None, list[CorpusError], Bookmark]
"""A sentence, or None if there are mistakes; the mistakes; and the position after it."""


def _readings(path: Path, start: Bookmark) -> Iterator[_Reading]:
    """Read one sentence after the other, whether or not there are mistakes in it."""
    pending: list[str] = []  # comments from blocks without words, which belong to the next sentence
    # Treebanks repeat the same few strings, which are stored once. The memory for this is bounded, because a reader may
    # keep none of the sentences. `sys.intern` would keep every string for good in Python 3.12.
    cells: dict[str, str] = {}
    sentences, documents, document = start.sentences, start.documents, start.document
    for block, line, offset in _blocks(path, start):
        for _, text in block.lines:
            match = _DOCUMENT.match(text)
            if match:
                documents += 1
                document = match["id"] or f"{path}:doc{documents}"
        if block.has_rows:
            sentences += 1
            if len(cells) > _SHARED_CELLS:
                cells.clear()
            comments = dict(pair for comment in pending for pair in parse_comment_line(comment))
            lines = SentenceLines(path, block, f"{path.name}:{sentences}", comments)
            sentence = None if lines.faults else lines.sentence(document, cells)
            yield sentence, lines.faults, Bookmark(offset, line, sentences, documents, document)
            pending = []
        elif faults := lost_words(path, block):
            yield None, faults, Bookmark(offset, line, sentences, documents, document)
        else:
            pending += [text for _, text in block.lines if _DOCUMENT_COMMENT.match(text)]


def _blocks(path: Path, start: Bookmark) -> Iterator[tuple[LineBlock, int, int]]:
    """Yield the lines between blank lines, each time with the numbers of lines and bytes up to the next ones."""
    lines: list[tuple[int, str]] = []
    number, offset, blank = start.line, start.offset, None
    for number, offset, text in located_lines(path, offset=start.offset, lines=start.line):
        if text.strip() or text.count("\t") == COLUMNS - 1:  # a row of empty columns is not a blank line
            lines.append((number, text))
        elif lines:
            yield LineBlock(lines, number, blank), number, offset
            lines, blank = [], number
    if lines:
        yield LineBlock(lines, None, blank), number + 1, offset


def _mistakes(faults: list[CorpusError], rest: Iterator[_Reading]) -> CorpusError:
    """The error that lists the first mistakes of a file.

    Args:
        faults: the mistakes of the first sentence that has any.
        rest: the rest of the file.
    """
    listed = list(faults)
    try:
        while len(listed) <= _LISTED and (reading := next(rest, None)):
            listed += reading[1]
    except CorpusError as error:  # the rest cannot be read, for example because it is not UTF-8
        listed.append(error)
    return together(listed, at_most=_LISTED)
