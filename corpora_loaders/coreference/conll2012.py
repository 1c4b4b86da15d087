"""CoNLL-2012 column files: OntoNotes, OntoGUM, WinoBias, LitBank, and other corpora with brackets in the last column.

Only the last column is the same everywhere; it holds the brackets of mentions, such as ``(12``, ``12)``, ``(12)`` or,
if several start or end at the word, ``(12|(3)``. The other columns are inferred, see
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
from .brackets import Brackets
from .building import build_document
from .columns import (
    BEGIN,
    EMPTY,
    END,
    FULL,
    PIECE,
    Layout,
    WordNumbers,
    columns_of,
    layout_of,
)
from .constituents import Constituent, ParseError, read_parse
from .document import Account, Document
from .winobias import winobias_document

_PART = re.compile(r"(?:^|[;\s])part\s*([0-9]{1,9})(?!\w)")


@dataclass
class _Row:
    line: int
    columns: list[str]


@dataclass
class _Unit:
    """The rows of a document, sentence by sentence."""

    name: str
    line: int
    begun: bool  # whether there is a line ``#begin document``
    sentences: list[list[_Row]] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)  # the first columns of the first rows of all sentences
    blank: int | None = 0  # the blank line that ended the last sentence, 0 before the first; None within a sentence
    numbers: WordNumbers = field(default_factory=WordNumbers)

    def start_sentence(self, row: _Row) -> None:
        """Start a sentence; the row, its first one, is not added yet."""
        self.sentences.append([])
        self.blank = None
        self.labels.add(row.columns[0])

    def labels_sentences(self) -> bool:
        """Whether the first column names sentences instead of the document, as in test cases of the reference scorer.

        It does if the name after ``#begin document`` contains none of these labels, and no two sentences have the same
        label.
        """
        distinct = len(self.labels) == len(self.sentences)
        return distinct and bool(self.name) and not any(label in self.name for label in self.labels)


class ColumnsMark(NamedTuple):
    """A position between two documents, from which reading can be resumed.

    Attributes:
        offset: the number of bytes before the position, see `attentionology.corpora_loaders.lines.located_lines`.
        line: the number of lines before it.
        width: the number of columns of the row before it; 0 if there is none.
        after_end: whether a document has ended there without another one having begun.
    """

    offset: int = 0
    line: int = 0
    width: int = 0
    after_end: bool = False


BEGINNING = ColumnsMark()
"""The position before the first document."""


def bookmarked_documents(
    path: str | Path, account: Account, *, lenient: bool = False, start: ColumnsMark = BEGINNING
) -> Iterator[tuple[Document, ColumnsMark]]:
    """Yield the documents of a file from a position on, each with the position after it.

    Raises:
        CorpusError: a row has too few columns, or not as many as the row before; there are no words; a row belongs to
            another document than the rows before it, or follows the end of its document; word numbers jump;
            ``#end document`` is missing; or, unless ``lenient``, brackets of mentions or of the parse do not match. The
            error names file and line.
    """
    path = Path(path)
    layout = layout_of(path)
    for unit, after in _units(path, layout, start):
        yield _document(path, unit, layout, account, lenient), after


def _units(path: Path, layout: Layout, start: ColumnsMark) -> Iterator[tuple[_Unit, ColumnsMark]]:
    unit: _Unit | None = None
    width = start.width  # the number of columns of the row before
    after_end = start.after_end  # whether the last document has ended and no other one has begun
    offset = start.offset
    before = start
    for line, following, text in located_lines(path, offset=start.offset, lines=start.line):
        before, offset = ColumnsMark(offset, line - 1, width), following
        begin = BEGIN.match(text)
        if begin or END.match(text):
            if begin:
                _check_end(path, unit, line)
            if unit and unit.sentences:
                yield unit, before if begin else ColumnsMark(following, line, width, after_end=True)
            unit = _Unit(_name(begin), line, begun=True) if begin else None
            after_end = begin is None
            continue
        if not text.strip():
            if unit and unit.blank is None:
                unit.blank = line
            continue
        columns = columns_of(text, width)
        if columns is None:
            continue
        if len(columns) < 2:
            raise CorpusError("expected at least a word and its brackets, found one column", file=path, line=line)
        if len(columns) <= layout.word + 1:
            message = f"expected more than {layout.word + 1} columns, found {len(columns)}"
            raise CorpusError(message, file=path, line=line)
        if not columns[layout.word].strip():
            raise CorpusError(f"the word (column {layout.word + 1}) is empty", file=path, line=line)
        if after_end:
            message = "the row follows '#end document'; is a line '#begin document' missing?"
            raise CorpusError(message, file=path, line=line)
        unit = unit or _Unit("", line, begun=False)
        row = _Row(line, columns)
        number = "" if layout.number is None else columns[layout.number]
        if unit.numbers.start_sentence(number, path, line, unit.blank):
            unit.start_sentence(row)
        sentence = unit.sentences[-1]
        if other := _other_document(unit, row):
            message = f"a row of {other} is among rows of another document; is a line '#begin document' missing?"
            raise CorpusError(message, file=path, line=line)
        if sentence and width != len(columns):
            message = f"expected {width} columns as in the row before, found {len(columns)}"
            raise CorpusError(message, file=path, line=line)
        sentence.append(row)
        width = len(columns)
    _check_end(path, unit, before.line + 1)
    if unit and unit.sentences:
        yield unit, before


def _check_end(path: Path, unit: _Unit | None, line: int) -> None:
    """Check that no document is open at the next ``#begin document`` or in the last line of the file."""
    if unit and unit.begun:
        message = f"'#end document' is missing for the document that begins in line {unit.line}; is the file complete?"
        raise CorpusError(message, file=path, line=line)


def _other_document(unit: _Unit, row: _Row) -> str:
    """The document that a row names, if it is not the one of the rows before it; empty if it is the same.

    A missing ``#begin document`` would join two documents into one, and mentions of different entities that happen to
    have the same number would become coreferent without any error. Only full rows name their document, so only these
    can be checked. It is common and harmless that the rows have another name than ``#begin document``.

    Args:
        unit: the document without the row, whose sentence has been started.
        row: the next row.
    """
    sentence = unit.sentences[-1]
    first = unit.sentences[0][0] if unit.sentences[0] else row
    if min(len(first.columns), len(row.columns)) < FULL:
        return ""
    name, part = row.columns[:2]
    if name != sentence[0].columns[0] if sentence else len(unit.labels) > 1 and not unit.labels_sentences():
        return f"document {name!r}"
    numbers = WHOLE_NUMBER.fullmatch(part) and WHOLE_NUMBER.fullmatch(first.columns[1])
    return f"part {part} of document {name!r}" if numbers and int(part) != int(first.columns[1]) else ""


def _name(begin: re.Match[str]) -> str:
    """The name of a document, with the number of its part unless that is 0."""
    part = _PART.search(begin["rest"])
    name = _PART.sub("", begin["rest"]).strip(" ;\t") if begin["name"] is None else begin["name"].strip()
    return f"{name} part {int(part[1])}" if part and int(part[1]) else name


def _document(path: Path, unit: _Unit, layout: Layout, account: Account, lenient: bool) -> Document:
    rows = [row for sentence in unit.sentences for row in sentence]
    if layout.word == 0 and unit.name and all(row.columns[0] in unit.name for row in rows):
        raise CorpusError(
            "there is no column of words: the first of two columns repeats the name of the document",
            file=path,
            line=unit.line,
        )
    name = unit.name or f"{path.name}:{unit.line}"
    brackets = Brackets(path, lenient=lenient)
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
    marked = brackets.finish()
    account.faults += brackets.faults
    return winobias_document(build_document(name, sentences, marked, account, trees=trees))


def _read_cell(brackets: Brackets, row: _Row, word: int) -> None:
    """Read the brackets in the last column of a row."""
    cell = row.columns[-1].strip()
    if cell in EMPTY:
        return
    for part in cell.split("|"):
        pieces = PIECE.findall(part)
        if not pieces or "".join(pieces) != part:
            brackets.fault(
                f"the last column is {cell!r}, not one or more of -, (ID, ID) and (ID), separated by |", row.line
            )
            continue
        for piece in pieces:
            entity = piece.strip("()")
            if piece.startswith("("):
                brackets.open(entity, word, row.line)
            if piece.endswith(")"):
                brackets.close(entity, word + 1, row.line)
