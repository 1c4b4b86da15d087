"""CoNLL-U (Universal Dependencies v2) and CoNLL-X files → sentences, and files with other columns that are read alike.

Reading goes on after a mistake, so that all mistakes of a file can be reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from conllu.parser import parse_comment_line

from .errors import CorpusError, join_errors
from .lines import ENDS, located_lines
from .sentence import Sentence
from .sentence_lines import CONLLU_COLUMNS, Block, Columns, SentenceLines

_LISTED = 10  # the number of mistakes that are reported together
_SHARED_CELLS = 2**13  # the number of strings that are kept, so that equal cells share one
_RETURN = re.compile(r"\r(#|[0-9]+\t|\r)")  # a line ends with CR alone: a comment or a row follows, or an empty line
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
        >>> from attentionology.corpora_loaders import SAMPLE_TREEBANK, read_conllu
        >>> sentence = next(read_conllu(SAMPLE_TREEBANK))
        >>> sentence.id, sentence.document, len(sentence)
        ('garden-01', 'garden', 14)
    """
    for sentence, _ in placed_sentences(path):
        yield sentence


class Place(NamedTuple):
    """A place between two sentences of a file: the numbers of bytes, lines, sentences and documents before it."""

    offset: int = 0
    line: int = 0
    sentences: int = 0
    documents: int = 0
    document: str | None = None  # the id of the document that goes on at the place, if there is one


def placed_sentences(
    path: str | Path,
    start: Place | None = None,
    left_out: list[CorpusError] | None = None,
    *,
    columns: Columns = CONLLU_COLUMNS,
    located: Iterable[tuple[int, int, str]] | None = None,
) -> Iterator[tuple[Sentence, Place]]:
    """Yield the sentences of a file from a place on, each with the place after it; see `read_conllu`.

    A text that is in no file is given as ``located``, its lines as `located_lines` yields them; errors then call it by
    the name that stands in place of the path.

    With a list as ``left_out``, sentences with mistakes are left out, and the first mistake of each is added to it. A
    file whose sentences all have mistakes is an error nevertheless.
    """
    path = Path(path)
    start = start or Place()
    sentences, documents, document = start.sentences, start.documents, start.document
    comments_before: list[str] = []  # from blocks without words; they belong to the next sentence
    faults: list[CorpusError] = []  # after the first one, reading goes on for the sake of further ones alone
    n_good, n_left_out_before = 0, len(left_out or ())
    # Treebanks repeat the same few strings, which are stored once. The memory for this is bounded, because a reader may
    # keep none of the sentences. `sys.intern` would keep every string for good in Python 3.12.
    cells: dict[str, str] = {}
    try:
        if located is None:
            located = located_lines(path, offset=start.offset, lines=start.line)
        for block in _blocks(path, start, columns.number, located):
            comments = [text for _, text in block.lines if columns.is_comment(text)]
            for match in filter(None, map(_DOCUMENT.match, comments)):
                documents += 1
                document = match["id"] or f"{path}:doc{documents}"
            if len(comments) < len(block.lines):  # the block has words
                sentences += 1
                if len(cells) > _SHARED_CELLS:
                    cells.clear()
                sentence_lines = SentenceLines(path, block, f"{path.name}:{sentences}", comments_before, columns)
                found = sentence_lines.faults
                comments_before = []
                if not found and (left_out is not None or not faults):
                    place_after = Place(block.offset, block.end, sentences, documents, document)
                    yield sentence_lines.sentence(document, cells), place_after
                    n_good += 1
            else:
                found = _lost_words(path, block)
                comments_before += () if found else filter(_DOCUMENT_COMMENT.match, comments)
            if left_out is None:
                faults += found
            else:
                left_out += found[:1]
            if len(faults) > _LISTED:
                break
    except CorpusError as error:  # the rest cannot be read, for example because it is not UTF-8
        if not faults:
            raise
        faults.append(error)
    if left_out and not n_good and start == Place():
        faults = left_out[n_left_out_before:]
    if faults:
        raise join_errors(faults, at_most=_LISTED)


def _blocks(path: Path, start: Place, n_columns: int, located: Iterable[tuple[int, int, str]]) -> Iterator[Block]:
    """Yield the blocks of a file from a place on."""
    lines: list[tuple[int, str]] = []
    number, offset, blank_before = start.line, start.offset, None
    for number, offset, text in located:
        if "\r" in text and _RETURN.search(text):  # of a file with such line ends, all would be one line
            raise CorpusError(ENDS, file=path, line=number)
        if text.strip() or 0 < text.count("\t") == n_columns - 1:  # a row of empty columns is not a blank line
            lines.append((number, text))
        elif lines:
            yield Block(lines, blank=number, blank_before=blank_before, end=number, offset=offset)
            lines, blank_before = [], number
    if lines:
        yield Block(lines, blank=None, blank_before=blank_before, end=number + 1, offset=offset)


def _lost_words(path: Path, block: Block) -> list[CorpusError]:
    """Return the mistake in a block of comments, if ``sent_id`` or ``text`` among them shows that words are missing."""
    for number, line in block.lines:
        for key, value in parse_comment_line(line):
            if key in ("sent_id", "text"):
                why = f"; the blank line {block.blank} ended it" if block.blank else ""
                message = f"the sentence has comments but no words{why}; is the file complete?"
                return [CorpusError(message, file=path, line=number, sentence=value if key == "sent_id" else None)]
    return []
