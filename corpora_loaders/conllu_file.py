"""CoNLL-U (Universal Dependencies v2) and CoNLL-X files → sentences.

This module splits lines into columns itself, because an error must name its line, and because forms, glosses and
feature values of real treebanks contain double spaces and equals signs. Ids, heads and comments are parsed by the
`conllu` package.

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

from conllu.exceptions import ParseException
from conllu.parser import parse_comment_line, parse_id_value, parse_int_value

from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import located_lines
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.tree import depths

_COLUMNS = 10
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
            overlap; or an entity is marked on a multiword token. The error names file, line and sentence.

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
    path = Path(path)
    block: list[tuple[int, str]] = []
    pending: list[str] = []  # comments from blocks without words, which belong to the next sentence
    # Treebanks repeat the same few strings, which are stored once. The memory for this is bounded, because a reader may
    # keep none of the sentences. `sys.intern` would keep every string for good in Python 3.12.
    cells: dict[str, str] = {}
    sentences, documents, document = start.sentences, start.documents, start.document
    for number, offset, line in _with_final_blank(path, start):
        if line.strip() or line.count("\t") == _COLUMNS - 1:  # a row of empty columns is not a blank line
            block.append((number, line))
            continue
        if not block:
            continue
        for _, comment in block:
            match = _DOCUMENT.match(comment)
            if match:
                documents += 1
                document = match["id"] or f"{path}:doc{documents}"
        if any(not text.startswith("#") for _, text in block):
            sentences += 1
            if len(cells) > _SHARED_CELLS:
                cells.clear()
            sentence = _sentence(path, block, f"{path.name}:{sentences}", document, pending, cells)
            yield sentence, Bookmark(offset, number, sentences, documents, document)
            pending = []
        else:
            _check_comments(path, block)
            pending += [text for _, text in block if _DOCUMENT_COMMENT.match(text)]
        block = []


def _with_final_blank(path: Path, start: Bookmark) -> Iterator[tuple[int, int, str]]:
    number, offset = start.line, start.offset
    for number, offset, line in located_lines(path, offset=start.offset, lines=start.line):
        yield number, offset, line
    yield number + 1, offset, ""


def _check_comments(path: Path, block: list[tuple[int, str]]) -> None:
    """Check a block that consists of comments alone.

    Comments between sentences are allowed, but ``sent_id`` and ``text`` show that the words of a sentence are missing.

    Raises:
        CorpusError: the words of a sentence are missing.
    """
    for number, text in block:
        for key, value in parse_comment_line(text):
            if key in ("sent_id", "text"):
                message = "the sentence has comments but no words; is the file complete?"
                raise CorpusError(message, file=path, line=number, sentence=value if key == "sent_id" else None)


def _sentence(
    path: Path,
    block: list[tuple[int, str]],
    default_id: str,
    document: str | None,
    pending: list[str],
    cells: dict[str, str],
) -> Sentence:
    comments: dict[str, str | None] = dict(pair for line in pending for pair in parse_comment_line(line))
    rows: list[list[str]] = []
    lines: list[int] = []
    range_line = 0  # the line of the last multiword token
    multiword: list[tuple[int, int, str]] = []
    empty_nodes: list[str] = []
    empty_misc: list[str] = []
    sentence_id = default_id

    def fail(message: str, line: int) -> CorpusError:
        return CorpusError(message, file=path, line=line, sentence=sentence_id)

    for number, line in block:
        if line.startswith("#"):
            comments.update(parse_comment_line(line))
            sentence_id = comments.get("sent_id") or default_id
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            hint = "; are the columns separated by spaces?" if len(columns) == 1 else ""
            hint = "; line ends must be LF or CR LF, not CR alone" if "\r" in line else hint
            raise fail(f"expected {_COLUMNS} tab-separated columns, found {len(columns)}{hint}", number)
        if not columns[1]:
            raise fail("the form (column 2) is empty", number)
        try:
            word_id = parse_id_value(columns[0])
        except (ParseException, ValueError) as error:
            raise fail(f"the id (column 1) {columns[0][:40]!r} is not a number, range or decimal", number) from error
        if isinstance(word_id, tuple):
            first, kind, last = word_id
            if kind == ".":
                # The id of an empty node names the word that it follows. If the node were somewhere else in the file,
                # the mentions that start or end on it would be lost or misplaced.
                if first != len(rows) or columns[0] in empty_nodes:
                    raise fail(f"empty node {columns[0]} is out of order: it follows word {len(rows)}", number)
                empty_nodes.append(columns[0])
                empty_misc.append(columns[9])
            elif first != len(rows) + 1 or (multiword and first <= multiword[-1][1]):
                raise fail(f"multiword token {columns[0][:40]} overlaps another or is out of order", number)
            else:
                if columns[9].startswith("Entity=") or "|Entity=" in columns[9]:
                    raise fail(f"multiword token {columns[0]} has Entity=, which belongs to its words", number)
                multiword.append((first, last, columns[1]))
                range_line = number
        elif word_id != len(rows) + 1:
            raise fail(f"expected word id {len(rows) + 1}, found {columns[0][:40]!r}", number)
        else:
            rows.append(columns)
            lines.append(number)

    start = block[0][0]
    if not rows:
        raise fail("the sentence has no words", start)
    if multiword and multiword[-1][1] > len(rows):
        raise fail(f"multiword token {multiword[-1][0]}-{multiword[-1][1]} ends after the last word", range_line)

    heads: list[int | None] = []
    for index, (columns, number) in enumerate(zip(rows, lines, strict=True), start=1):
        try:
            head = parse_int_value(columns[6])
        except (ParseException, ValueError) as error:
            raise fail(f"the head (column 7) of word {index} is {columns[6][:40]!r}, not a number", number) from error
        if head is not None and not 0 <= head <= len(rows):
            raise fail(f"the head of word {index} is {columns[6][:40]}, which is outside 0 … {len(rows)}", number)
        if not columns[7] or any(character.isspace() for character in columns[7]):
            raise fail(f"the relation (column 8) of word {index} is {columns[7][:40]!r}, not a name or _", number)
        heads.append(head)
    try:
        depths(heads)
    except ValueError as error:
        raise fail(str(error), start) from error

    def column(index: int) -> tuple[str, ...]:
        return tuple([cells.setdefault(row[index], row[index]) for row in rows])

    return Sentence(
        id=sentence_id,
        words=column(1),
        lemmas=column(2),
        tags=column(3),
        xpos=column(4),
        feats=column(5),
        heads=tuple(heads),
        relations=column(7),
        deps=column(8),
        misc=column(9),
        multiword=tuple(multiword),
        empty_nodes=tuple(empty_nodes),
        empty_misc=tuple(empty_misc),
        comments=comments,
        text=comments.get("text"),
        document=document,
        file=str(path),
        line=start,
        lines=tuple(lines),
    )
