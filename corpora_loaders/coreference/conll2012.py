"""CoNLL-2012 column files: OntoNotes, OntoGUM, WinoBias, LitBank, and other corpora with brackets in the last column.

The last column holds the brackets of mentions; what is in the others is inferred, see
`attentionology.corpora_loaders.coreference.columns`.

A sentence ends at a blank line, where the word numbers start again, or with its document. A document starts at
``#begin document`` (with or without a name) and must end at ``#end document``: without it, words may be missing. A file
without these lines is one document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..errors import CorpusError
from ..lines import WHOLE_NUMBER, located_lines
from ..sentence import Sentence
from .building import Brackets, build_document
from .columns import (
    BEGIN,
    EMPTY,
    END,
    FULL,
    PIECE,
    Layout,
    columns_of,
    layout_of,
)
from .constituents import Constituent, ParseError, read_parse
from .document import Account, Document
from .winobias import winobias_document

_BEGIN_MISSING = "; is a line '#begin document' missing?"
_PART = re.compile(r"(?:^|[;\s])part\s*([0-9]{1,9})(?!\w)")


class _Row(NamedTuple):
    line: int
    columns: list[str]


@dataclass
class _Unit:
    """The rows of a document, sentence by sentence."""

    path: Path
    name: str
    line: int
    begun: bool  # whether there is a line ``#begin document``
    sentences: list[list[_Row]] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)  # the first columns of the first rows of all sentences
    blank: int | None = 0  # the blank line that ended the last sentence, 0 before the first; None within a sentence
    # The word numbers of the first row and of the last one, if they have one. They count the words of each sentence. It
    # is accepted that they count those of the whole document instead.
    first: int | None = None
    last: int | None = None
    restarted: bool = False
    went_on: CorpusError | None = None

    def add(self, row: _Row, number: str, width: int) -> None:
        """Add a row with its word number; the row before it had ``width`` columns."""
        if self._starts_sentence(number, row.line):
            self.sentences.append([])
            self.blank = None
            self.labels.add(row.columns[0])
        if other := self._other_document(row):
            raise self._fault(f"a row of {other} is among rows of another document{_BEGIN_MISSING}", row.line)
        if self.sentences[-1] and width != len(row.columns):
            raise self._fault(f"expected {width} columns as in the row before, found {len(row.columns)}", row.line)
        self.sentences[-1].append(row)

    def check_end(self, line: int) -> None:
        """Check that the document is not open at the next ``#begin document`` or in the last line of the file."""
        if self.begun:
            message = f"'#end document' is missing for the document that begins in line {self.line}"
            raise self._fault(f"{message}; is the file complete?", line)

    def _fault(self, message: str, line: int) -> CorpusError:
        return CorpusError(message, file=self.path, line=line)

    def _starts_sentence(self, cell: str, line: int) -> bool:
        """Whether a row starts a sentence. By their numbers, sentences are noticed that were joined, cut or lost."""
        number = int(cell) if WHOLE_NUMBER.fullmatch(cell) else None
        last, self.last = self.last, number
        if number is None or last is None or self.first is None:
            self.first = number if self.first is None else self.first
            return self.blank is not None
        if number == self.first:
            self.restarted = True
        elif number != last + 1:
            message = f"expected word number {last + 1}, or {self.first} in a new sentence, found {number}"
            raise self._fault(message, line)
        elif self.blank and not self.went_on:
            message = f"word number {number} goes on from the sentence before; the blank line {self.blank} ended it"
            self.went_on = self._fault(message, line)
        if self.restarted and self.went_on:
            raise self.went_on
        return self.blank is not None or number == self.first

    def _other_document(self, row: _Row) -> str:
        """The document that a row names, if it is not the one of the rows before it; empty if it is the same.

        A missing ``#begin document`` would join two documents into one, and mentions of different entities that happen
        to have the same number would become coreferent without any error. Only full rows name their document, so only
        these can be checked. It is common and harmless that the rows have another name than ``#begin document``.
        """
        sentence = self.sentences[-1]
        first = self.sentences[0][0] if self.sentences[0] else row
        if min(len(first.columns), len(row.columns)) < FULL:
            return ""
        name, part = row.columns[:2]
        if sentence:
            is_other = name != sentence[0].columns[0]
        else:
            # The first column may name sentences instead, as in test cases of the reference scorer: no two of them have
            # the same label, and the name after ``#begin document`` contains none of these labels.
            distinct = len(self.labels) == len(self.sentences)
            of_sentences = distinct and self.name and not any(label in self.name for label in self.labels)
            is_other = len(self.labels) > 1 and not of_sentences
        if is_other:
            return f"document {name!r}"
        numbers = WHOLE_NUMBER.fullmatch(part) and WHOLE_NUMBER.fullmatch(first.columns[1])
        return f"part {part} of document {name!r}" if numbers and int(part) != int(first.columns[1]) else ""


class ColumnsPlace(NamedTuple):
    """A place between two documents: the numbers of bytes and of lines before it."""

    offset: int = 0
    line: int = 0
    width: int = 0  # the number of columns of the row before it


def read_columns(
    path: str | Path, account: Account, *, lenient: bool = False, place: ColumnsPlace | None = None
) -> Iterator[tuple[Document, ColumnsPlace]]:
    """Yield the documents of a file from a place on, each with the place after it."""
    path = Path(path)
    layout = layout_of(path)
    for unit, after in _units(path, layout, place or ColumnsPlace()):
        yield _document(unit, layout, account, lenient), after


def _units(path: Path, layout: Layout, start: ColumnsPlace) -> Iterator[tuple[_Unit, ColumnsPlace]]:
    """Divide a file into documents."""
    unit: _Unit | None = None
    offset, line, width = start
    after_end = False  # whether a document has ended without another one having begun
    for line, following, text in located_lines(path, offset=start.offset, lines=start.line):
        before, offset = ColumnsPlace(offset, line - 1, width), following
        begin = BEGIN.match(text)
        if begin or END.match(text):
            if begin and unit:
                unit.check_end(line)
            after_end = begin is None
            if unit and unit.sentences:
                yield unit, before if begin else ColumnsPlace(offset, line, width)
            unit = _Unit(path, _name(begin), line, begun=True) if begin else None
        elif not text.strip():
            if unit and unit.blank is None:
                unit.blank = line
        elif (columns := columns_of(text, width)) is not None:
            if fault := _fault_in_columns(columns, layout, after_end):
                raise CorpusError(fault, file=path, line=line)
            unit = unit or _Unit(path, "", line, begun=False)
            unit.add(_Row(line, columns), "" if layout.number is None else columns[layout.number], width)
            width = len(columns)
    if unit:
        unit.check_end(line)
        if unit.sentences:
            yield unit, ColumnsPlace(offset, line, width)


def _fault_in_columns(columns: list[str], layout: Layout, after_end: bool) -> str:
    """What is wrong with a row by itself; empty if nothing is."""
    if len(columns) < 2:
        return "expected at least a word and its brackets, found one column"
    if len(columns) <= layout.word + 1:
        return f"expected more than {layout.word + 1} columns, found {len(columns)}"
    if not columns[layout.word].strip():
        return f"the word (column {layout.word + 1}) is empty"
    return f"the row follows '#end document'{_BEGIN_MISSING}" if after_end else ""


def _name(begin: re.Match[str]) -> str:
    """The name of a document, with the number of its part unless that is 0."""
    part = _PART.search(begin["rest"])
    name = _PART.sub("", begin["rest"]).strip(" ;\t") if begin["name"] is None else begin["name"].strip()
    return f"{name} part {int(part[1])}" if part and int(part[1]) else name


def _document(unit: _Unit, layout: Layout, account: Account, lenient: bool) -> Document:
    path = unit.path
    rows = [row for sentence in unit.sentences for row in sentence]
    if layout.word == 0 and unit.name and all(row.columns[0] in unit.name for row in rows):
        message = "there is no column of words: the first of two columns repeats the name of the document"
        raise CorpusError(message, file=path, line=unit.line)
    name = unit.name or f"{path.name}:{unit.line}"
    brackets = Brackets(path, account, lenient=lenient)
    sentences: list[Sentence] = []
    trees: list[Constituent | None] = []
    for number, sentence_rows in enumerate(unit.sentences, start=1):
        tags = [row.columns[layout.tag] for row in sentence_rows] if layout.tag is not None else []
        try:
            no_parse = ["*"] * len(sentence_rows)
            bits = no_parse if layout.parse is None else [row.columns[layout.parse] for row in sentence_rows]
            trees.append(read_parse(bits, tags or bits))
        except ParseError as error:
            brackets.fault(str(error), sentence_rows[error.word].line)
            trees.append(None)
        sentences.append(
            Sentence(
                id=f"{name}:{number}",
                words=tuple(row.columns[layout.word] for row in sentence_rows),
                xpos=tuple("_" if tag in EMPTY else tag for tag in tags),
                document=name,
                file=str(path),
                line=sentence_rows[0].line,
            )
        )
    for word, row in enumerate(rows):
        _read_cell(brackets, row, word)
    return winobias_document(build_document(name, sentences, brackets.finish(), account, trees=trees))


def _read_cell(brackets: Brackets, row: _Row, word: int) -> None:
    """Read the brackets in the last column of a row."""
    cell = row.columns[-1].strip()
    if cell in EMPTY:
        return
    for part in cell.split("|"):
        pieces = PIECE.findall(part)
        if not pieces or "".join(pieces) != part:
            message = f"the last column is {cell!r}, not one or more of -, (ID, ID) and (ID), separated by |"
            brackets.fault(message, row.line)
            continue
        for piece in pieces:
            entity = piece.strip("()")
            if piece.startswith("("):
                brackets.open(entity, word, row.line)
            if piece.endswith(")"):
                brackets.close(entity, word + 1, row.line)
