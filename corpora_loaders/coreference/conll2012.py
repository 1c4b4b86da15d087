"""CoNLL-2012 column files: OntoNotes, OntoGUM, WinoBias, LitBank, and others with brackets in the last column.

A document starts at ``#begin document`` (with or without a name) and must end at ``#end document``: without it, words
may be missing. A file without these lines is one document. The definitions say what the other columns are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CorpusError
from ..lines import WHOLE_NUMBER, text_lines
from ..sentence import Sentence
from .benchmarks import winobias_document
from .building import Brackets, build_document
from .document import Account, Document
from .heads import Constituent, ParseError, read_parse
from .layouts import BEGIN, EMPTY, END, FULL, PIECE, SEMEVAL2010, Layout, columns_of, layout_of

_PART = re.compile(r"(?:^|[;\s])part\s*([0-9]{1,9})(?!\w)")
_BEGIN_MISSING = "; is a line '#begin document' missing?"


class _Row(NamedTuple):
    line: int
    columns: list[str]


class Place(NamedTuple):
    """A place between two documents."""

    offset: int  # the number of bytes before it
    lines: int  # the number of lines before it
    width: int  # the number of columns of the row before it, by which the next row is divided


def read_columns(
    path: str | Path, account: Account, *, lenient: bool = False, place: Place | None = None
) -> Iterator[tuple[Document, Place]]:
    """Yield the documents of a file from a place on, each with the place after it."""
    path = Path(path)
    yield from _read(path, account, layout_of(path), lenient=lenient, place=place)


def read_semeval2010(
    path: str | Path, account: Account, *, lenient: bool = False, place: Place | None = None
) -> Iterator[tuple[Document, Place]]:
    """Yield the documents of a file with the columns of SemEval-2010, whose annotated trees are read, too."""
    yield from _read(Path(path), account, SEMEVAL2010, lenient=lenient, place=place)


def _read(
    path: Path, account: Account, layout: Layout, *, lenient: bool, place: Place | None
) -> Iterator[tuple[Document, Place]]:
    for document, place_after in _rows_of_documents(path, layout, place or Place(0, 0, 0)):
        yield _build(document, layout, account, lenient), place_after


@dataclass
class _DocumentRows:
    """The rows of a document, sentence by sentence."""

    path: Path
    name: str
    line: int
    has_begin: bool  # whether there is a line ``#begin document``
    sentences: list[list[_Row]] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)  # the first columns of the first rows of all sentences
    blank: int | None = 0  # the blank line that ended the last sentence, 0 before the first; None within a sentence
    # The word numbers of the first row and of the last one, if they have one. They count the words of each sentence, or
    # else those of the whole document. Only in the second case may a sentence go on with the numbers of the one before.
    first_number: int | None = None
    last_number: int | None = None
    restarted: bool = False  # whether a sentence began with the first number again
    went_on: CorpusError | None = None  # the error of the first sentence that went on with the numbers

    def fault(self, message: str, line: int) -> CorpusError:
        """Return an error in a line of the file."""
        return CorpusError(message, file=self.path, line=line)

    def check_columns(self, row: _Row, layout: Layout) -> None:
        """Check that a row has a word, and brackets after it."""
        width = len(row.columns)
        if width <= max(1, layout.word + 1):
            expected = f"more than {layout.word + 1} columns" if width > 1 else "at least a word and its brackets"
            raise self.fault(f"expected {expected}, found {width}", row.line)
        if not row.columns[layout.word].strip():
            raise self.fault(f"the word (column {layout.word + 1}) is empty", row.line)

    def add(self, row: _Row, layout: Layout) -> None:
        """Add a row to the last sentence, or begin a sentence with it."""
        begins_again = self._numbers_begin_again("" if layout.number is None else row.columns[layout.number], row.line)
        if begins_again or self.blank is not None:
            self.sentences.append([])
            self.blank = None
            self.labels.add(row.columns[0])
        sentence = self.sentences[-1]
        if layout.number != 0 and (other := self._other_document(row)):
            raise self.fault(f"a row of {other} is among rows of another document{_BEGIN_MISSING}", row.line)
        if sentence and (width := len(sentence[-1].columns)) != len(row.columns):
            raise self.fault(f"expected {width} columns as in the row before, found {len(row.columns)}", row.line)
        sentence.append(row)

    def check_end(self, line: int) -> None:
        """Check that the document is not open at the next ``#begin document`` or in the last line of the file."""
        if self.has_begin:
            message = f"'#end document' is missing for the document that begins in line {self.line}"
            raise self.fault(f"{message}; is the file complete?", line)

    def _numbers_begin_again(self, number_cell: str, line: int) -> bool:
        """Note a word number, which shows joined, cut or lost sentences; return whether numbers begin again."""
        number = int(number_cell) if WHOLE_NUMBER.fullmatch(number_cell) else None
        number_before, self.last_number = self.last_number, number
        if self.first_number is None:
            self.first_number = number
        if number is None or number_before is None:  # there is nothing to compare
            return False
        if number == self.first_number:
            self.restarted = True
        elif number != number_before + 1:
            expected = f"{number_before + 1}, or {self.first_number} in a new sentence"
            message = f"expected word number {expected}, found {number}"
            raise self.fault(message, line)
        elif self.blank and not self.went_on:
            message = f"word number {number} goes on from the sentence before; the blank line {self.blank} ended it"
            self.went_on = self.fault(message, line)
        if self.restarted and self.went_on:  # so numbers do not count through the document, where going on is right
            raise self.went_on
        return number == self.first_number

    def _other_document(self, row: _Row) -> str:
        """Return what messages call the document that a row names; empty if it is that of the rows before it.

        A missing ``#begin document`` would join two documents into one, and mentions of different entities that happen
        to have the same number would become coreferent without any error. Only full rows name their document, so only
        these can be checked. It is common and harmless that the rows have another name than ``#begin document``.
        """
        sentence = self.sentences[-1]
        first_row = self.sentences[0][0] if self.sentences[0] else row
        if min(len(first_row.columns), len(row.columns)) < FULL:
            return ""
        name, part = row.columns[:2]
        if sentence:
            is_other = name != sentence[0].columns[0]
        else:
            # The first column may name sentences instead, as in test cases of the reference scorer: no two of them have
            # the same label, and the name after ``#begin document`` contains none of these labels.
            are_distinct = len(self.labels) == len(self.sentences)
            name_sentences = are_distinct and self.name and not any(label in self.name for label in self.labels)
            is_other = len(self.labels) > 1 and not name_sentences
        if is_other:
            return f"document {name!r}"
        first_part = first_row.columns[1]
        are_numbers = WHOLE_NUMBER.fullmatch(part) and WHOLE_NUMBER.fullmatch(first_part)
        return f"part {part} of document {name!r}" if are_numbers and int(part) != int(first_part) else ""


def _rows_of_documents(path: Path, layout: Layout, start: Place) -> Iterator[tuple[_DocumentRows, Place]]:
    """Yield the rows of each document, with the place after it."""
    document: _DocumentRows | None = None
    offset, line, width = start
    after_end = False  # whether a document has ended without another one having begun
    for line, following, text in text_lines(path, offset=start.offset, lines=start.lines):
        place_before = Place(offset, line - 1, width)
        offset = following
        begin = BEGIN.match(text)
        if begin or END.match(text):
            if begin and document:
                document.check_end(line)
            after_end = not begin
            if document and document.sentences:
                # Who goes on after a document that has no end line needs the line that begins the next one.
                yield document, place_before if begin else Place(offset, line, width)
            document = _DocumentRows(path, _name(begin), line, has_begin=True) if begin else None
        elif not text.strip():
            if document and document.blank is None:
                document.blank = line
        elif (columns := columns_of(text, width)) is not None:
            row, width = _Row(line, columns), len(columns)
            document = document or _DocumentRows(path, "", line, has_begin=False)
            document.check_columns(row, layout)
            if after_end:
                raise document.fault(f"the row follows '#end document'{_BEGIN_MISSING}", line)
            document.add(row, layout)
    if document:
        document.check_end(line)
        if document.sentences:
            yield document, Place(offset, line, width)


def _name(begin: re.Match[str]) -> str:
    """Return the name of a document, which need not be in parentheses, with the number of its part unless that is 0."""
    part = _PART.search(begin["rest"])
    name = _PART.sub("", begin["rest"]).strip(" ;\t") if begin["name"] is None else begin["name"].strip()
    return f"{name} part {int(part[1])}" if part and int(part[1]) else name


def _build(document: _DocumentRows, layout: Layout, account: Account, lenient: bool) -> Document:
    """Build the document from its rows."""
    rows = [row for sentence in document.sentences for row in sentence]
    if layout.word == 0 and document.name and all(row.columns[0] in document.name for row in rows):
        message = "there is no column of words: the first of two columns repeats the name of the document"
        raise document.fault(message, document.line)
    name = document.name or f"{document.path.name}:{document.line}"
    brackets = Brackets(document.path, account, lenient=lenient)
    sentences: list[Sentence] = []
    trees: list[Constituent | None] = []
    for number, sentence_rows in enumerate(document.sentences, start=1):
        words = [row.columns[layout.word] for row in sentence_rows]
        tags = [] if layout.tag is None else [row.columns[layout.tag] for row in sentence_rows]
        parse = [] if layout.parse is None else [row.columns[layout.parse] for row in sentence_rows]
        try:
            trees.append(read_parse(parse, tags))
        except ParseError as error:
            brackets.fault(str(error), sentence_rows[error.word].line)
            trees.append(None)
        sentences.append(
            Sentence(
                id=f"{name}:{number}",
                words=tuple(words),
                xpos=tuple("_" if tag in EMPTY else tag for tag in tags),
                document=name,
                file=str(document.path),
                line=sentence_rows[0].line,
                **_tree(document, sentence_rows, layout),
            )
        )
    for word, row in enumerate(rows):
        _read_cell(brackets, row, word)
    return winobias_document(build_document(name, sentences, brackets.finish(), account, trees=trees))


def _tree(document: _DocumentRows, rows: Sequence[_Row], layout: Layout) -> dict[str, Any]:
    """Return the heads and relations of a sentence, if a column has them and they are not empty."""
    if layout.head is None or layout.relation is None or all(row.columns[layout.head] in EMPTY for row in rows):
        return {}
    heads: list[int | None] = []
    for row in rows:
        cell = row.columns[layout.head]
        if not (cell in EMPTY or WHOLE_NUMBER.fullmatch(cell)) or (cell not in EMPTY and int(cell) > len(rows)):
            message = f"the head (column {layout.head + 1}) is {cell[:40]!r}, not a number from 0 to {len(rows)}"
            raise document.fault(message, row.line)
        heads.append(None if cell in EMPTY else int(cell))
    return {"heads": tuple(heads), "relations": tuple(row.columns[layout.relation] for row in rows)}


def _read_cell(brackets: Brackets, row: _Row, word: int) -> None:
    """Read the brackets in the last column of the row of a word, which is counted through the document."""
    cell = row.columns[-1].strip()
    parts = [] if cell in EMPTY else cell.split("|")
    for part in parts:
        pieces = PIECE.findall(part)
        if not pieces or "".join(pieces) != part:
            message = f"the last column is {cell!r}, not one or more of -, (ID, ID) and (ID), separated by |"
            brackets.fault(message, row.line)
            continue
        for piece in pieces:
            brackets.read(piece, piece.strip("()"), (word, word + 1), row.line)
