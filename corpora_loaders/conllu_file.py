"""CoNLL-U (Universal Dependencies v2) and CoNLL-X files → sentences.

This module splits lines into columns itself, because an error must name its line, and because forms, glosses and
feature values of real treebanks contain double spaces and equals signs. Reading goes on after a mistake, so that all
mistakes of a file can be reported together. A mistake must not cause others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conllu.exceptions import ParseException
from conllu.parser import parse_comment_line, parse_id_value, parse_int_value

from .errors import CorpusError, together
from .lines import ENDS, located_lines
from .sentence import Sentence
from .tree import cycle_error, cycles

_FIELDS = ("id", "words", "lemmas", "tags", "xpos", "feats", "heads", "relations", "deps", "misc")
_COLUMNS = len(_FIELDS)
_ID, _FORM, _HEAD, _RELATION, _MISC = (_FIELDS.index(name) for name in ("id", "words", "heads", "relations", "misc"))
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
    path: str | Path, start: Place | None = None, left_out: list[CorpusError] | None = None
) -> Iterator[tuple[Sentence, Place]]:
    """Yield the sentences of a file from a place on, each with the place after it; see `read_conllu`.

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
        for block in _blocks(path, start):
            comments = [text for _, text in block.lines if text.startswith("#")]
            for match in filter(None, map(_DOCUMENT.match, comments)):
                documents += 1
                document = match["id"] or f"{path}:doc{documents}"
            if len(comments) < len(block.lines):  # the block has words
                sentences += 1
                if len(cells) > _SHARED_CELLS:
                    cells.clear()
                sentence_lines = SentenceLines(path, block, f"{path.name}:{sentences}", comments_before)
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
        raise together(faults, at_most=_LISTED)


class _Block(NamedTuple):
    """The lines between two blank lines."""

    lines: list[tuple[int, str]]  # at least one, each with its number
    blank: int | None  # the blank line that ends them; None at the end of the file
    blank_before: int | None  # the blank line that ended the block before, as far as it is known
    end: int  # the number of lines up to the next block, and that of bytes
    offset: int


def _blocks(path: Path, start: Place) -> Iterator[_Block]:
    """Yield the blocks of a file from a place on."""
    lines: list[tuple[int, str]] = []
    number, offset, blank_before = start.line, start.offset, None
    for number, offset, text in located_lines(path, offset=start.offset, lines=start.line):
        if "\r" in text and _RETURN.search(text):  # of a file with such line ends, all would be one line
            raise CorpusError(ENDS, file=path, line=number)
        if text.strip() or text.count("\t") == _COLUMNS - 1:  # a row of empty columns is not a blank line
            lines.append((number, text))
        elif lines:
            yield _Block(lines, blank=number, blank_before=blank_before, end=number, offset=offset)
            lines, blank_before = [], number
    if lines:
        yield _Block(lines, blank=None, blank_before=blank_before, end=number + 1, offset=offset)


def _lost_words(path: Path, block: _Block) -> list[CorpusError]:
    """Return the mistake in a block of comments, if ``sent_id`` or ``text`` among them shows that words are missing."""
    for number, line in block.lines:
        for key, value in parse_comment_line(line):
            if key in ("sent_id", "text"):
                why = f"; the blank line {block.blank} ended it" if block.blank else ""
                message = f"the sentence has comments but no words{why}; is the file complete?"
                return [CorpusError(message, file=path, line=number, sentence=value if key == "sent_id" else None)]
    return []


class SentenceLines:
    """The lines of one sentence, taken apart; `faults` are the mistakes in the order of their lines."""

    def __init__(self, path: Path, block: _Block, default_id: str, comments: list[str]) -> None:
        self.faults: list[CorpusError] = []
        self._path, self._block, self._id = path, block, default_id
        self._comments = dict(pair for comment in comments for pair in parse_comment_line(comment))
        self._rows: list[list[str]] = []  # of the words, as are the next two
        self._lines: list[int] = []
        self._heads: list[int | None] = []
        self._multiword: list[tuple[int, int, str, int]] = []  # the last number is that of the line
        self._empty_rows: list[list[str]] = []
        self._next: int | None = 1  # the id that the next word must have; None after a row that could not be read
        self._complete = True  # whether all rows were read and are in order
        for number, line in block.lines:
            if line.startswith("#"):
                self._comments.update(parse_comment_line(line))
                self._id = self._comments.get("sent_id") or default_id
            else:
                self._read_row(line, number)
        if self._complete and not self._rows:
            self._fail("the sentence has no words", block.lines[0][0])
        elif self._complete:
            self._check_whole()
            self.faults.sort(key=lambda fault: fault.line or 0)

    def sentence(self, document: str | None, cells: dict[str, str]) -> Sentence:
        """Return the sentence, which has no faults; strings in ``cells`` are used again."""
        columns = zip(*self._rows, strict=True)
        fields: dict[str, Any] = {
            field: tuple(map(cells.setdefault, column, column)) for field, column in zip(_FIELDS, columns, strict=True)
        }
        fields |= {"id": self._id, "heads": tuple(self._heads)}  # in place of the numbers of the words, and of text
        return Sentence(
            **fields,
            multiword=tuple((first, last, form) for first, last, form, _ in self._multiword),
            empty_nodes=tuple(row[_ID] for row in self._empty_rows),
            empty_misc=tuple(row[_MISC] for row in self._empty_rows),
            comments=self._comments,
            text=self._comments.get("text"),
            document=document,
            file=str(self._path),
            line=self._block.lines[0][0],
            lines=tuple(self._lines),
        )

    def _fail(self, message: str, line: int) -> None:
        """Note a mistake in a line."""
        self.faults.append(CorpusError(message, file=self._path, line=line, sentence=self._id))

    def _lose_row(self, message: str, line: int, following: int | None = None) -> None:
        """Note the mistake of a row that is no word; the id that the next word must have is given if it is known."""
        self._fail(message, line)
        self._complete, self._next = False, following

    def _read_row(self, text: str, line: int) -> None:
        """Read the row of a word, an empty node or a multiword token."""
        row = text.split("\t")
        if len(row) != _COLUMNS:
            hint = "; are the columns separated by spaces?" if len(row) == 1 else ""
            hint = f"; {ENDS}" if "\r" in text else hint
            self._lose_row(f"expected {_COLUMNS} tab-separated columns, found {len(row)}{hint}", line)
            return
        if not row[_FORM]:
            self._lose_row("the form (column 2) is empty", line)
            return
        try:
            parsed_id = parse_id_value(row[_ID])
        except (ParseException, ValueError):
            self._lose_row(f"the id (column 1) {row[_ID][:40]!r} is not a number, range or decimal", line)
            return
        if not isinstance(parsed_id, tuple):
            self._read_word(parsed_id, row, line)
            return
        first, separator, last = parsed_id  # such as 8.1 or 2-3
        if separator == ".":
            self._read_empty_node(first, row, line)
        else:
            self._read_multiword(first, last, row, line)

    def _read_word(self, word_id: int | None, row: list[str], line: int) -> None:
        """Read the row of a word. Its id is None if that is ``_``."""
        if word_id is None or word_id != (self._next or word_id):
            message = f"expected word id {self._next or 'or range'}, found {row[_ID][:40]!r}{self._early_end()}"
            self._lose_row(message, line, word_id and word_id + 1)
            return
        self._next = word_id + 1
        self._rows.append(row)
        self._lines.append(line)
        head = None
        try:
            head = parse_int_value(row[_HEAD])
        except (ParseException, ValueError):
            self._fail(f"the head (column 7) of word {word_id} is {row[_HEAD][:40]!r}, not a number", line)
        self._heads.append(head)
        if not row[_RELATION] or any(character.isspace() for character in row[_RELATION]):
            self._fail(f"the relation (column 8) of word {word_id} is {row[_RELATION][:40]!r}, not a name or _", line)

    def _read_empty_node(self, word_before: int, row: list[str], line: int) -> None:
        """Read the row of an empty node, which stands for a word that the text leaves out."""
        # It is not among the words of the sentence, but a mention may consist of it. Its id names the word that it
        # follows. If it were somewhere else in the file, mentions that start or end on it would be lost or misplaced.
        if self._next not in (None, word_before + 1) or any(other[_ID] == row[_ID] for other in self._empty_rows):
            why = f"it follows word {self._next - 1}" if self._next else "there are two of them"
            self._fail(f"empty node {row[_ID]} is out of order: {why}{self._early_end()}", line)
            return
        self._empty_rows.append(row)

    def _read_multiword(self, first: int, last: int, row: list[str], line: int) -> None:
        """Read the row of a multiword token that stands for the words from the first to the last, inclusive."""
        overlaps = bool(self._multiword) and first <= self._multiword[-1][1]  # the last word of the token before
        if self._next not in (None, first) or overlaps:
            name = f"multiword token {row[_ID][:40]}"
            self._fail(f"{name} overlaps another or is out of order{self._early_end()}", line)
        elif row[_MISC].startswith("Entity=") or "|Entity=" in row[_MISC]:
            self._fail(f"multiword token {row[_ID]} has Entity=, which belongs to its words", line)
        else:
            self._multiword.append((first, last, row[_FORM], line))

    def _early_end(self) -> str:
        """Return a hint for a row that should not be the first: a stray blank line may have ended the one before."""
        is_first = not self._rows and not self._multiword and not self._empty_rows
        blank = self._block.blank_before
        return f"; the blank line {blank} ended the sentence before" if is_first and blank else ""

    def _check_whole(self) -> None:
        """Check what can only be checked when all words are known."""
        end_hint = f"; the blank line {self._block.blank} ended the sentence" if self._block.blank else ""
        for first, last, _, line in self._multiword:
            if last > len(self._rows):
                self._fail(f"multiword token {first}-{last} ends after the last word{end_hint}", line)
        heads_inside = list(self._heads)  # None in place of those that are outside the sentence
        for word, (head, line) in enumerate(zip(self._heads, self._lines, strict=True), start=1):
            if head is not None and not 0 <= head <= len(self._rows):
                heads_inside[word - 1] = None
                hint = end_hint if head > 0 else ""
                text = self._rows[word - 1][_HEAD][:40]
                self._fail(f"the head of word {word} is {text}, which is outside 0 … {len(self._rows)}{hint}", line)
        for cycle in cycles(heads_inside):
            words = [f"{word} {self._rows[word - 1][_FORM]!r:.80} (line {self._lines[word - 1]})" for word in cycle]
            self._fail(cycle_error(words), self._lines[cycle[0] - 1])
