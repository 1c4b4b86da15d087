"""CoNLL-2012 column files: OntoNotes, OntoGUM, WinoBias, LitBank, and other corpora with brackets in the last column.

The format has no fixed number of columns. OntoNotes has one row for each word with the columns document, part, word
number (from 0), word, tag, parse, lemma, frame, sense, speaker, named entity, predicate arguments (as many as the
sentence has predicates), coreference. Other corpora use a selection of these columns and rarely say which. Only the
last column is the same everywhere: it holds the brackets of mentions, such as ``(12``, ``12)``, ``(12)`` or, if several
start or end at the word, ``(12|(3)``. The other columns are inferred from how many there are:

* 5 or more columns: document, part, number and word come first. If there are 6 or more, the tag is the next one; if
  there are 7 or more, the parse follows it.
* 3 or 4 columns: the word follows a column of word numbers that start from 0 or 1. If there is no such column, the word
  is in the column before the last, or in the one before that if it is followed by tags.
* 2 columns: word, coreference.

A sentence ends at a blank line, where the word numbers start again, or with its document. A document starts at
``#begin document`` (with or without a name) and ends at ``#end document``, the next ``#begin``, or the end of the
file. A file without these lines is one document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from attentionology.corpora_loaders.coreference.brackets import Brackets
from attentionology.corpora_loaders.coreference.building import build_document
from attentionology.corpora_loaders.coreference.constituents import Constituent, ParseError, read_parse
from attentionology.corpora_loaders.coreference.document import Account, Document
from attentionology.corpora_loaders.coreference.types import PTB, UPOS
from attentionology.corpora_loaders.coreference.winobias import winobias_document
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import WHOLE_NUMBER, numbered_lines
from attentionology.corpora_loaders.sentence import Sentence

BEGIN = re.compile(r"#\s*begin document\b\s*(?:\((?P<name>.*)\))?(?P<rest>.*)$")
_PART = re.compile(r"(?:^|[;\s])part\s*([0-9]{1,9})(?!\w)")
_END = re.compile(r"#\s*end document\b")
_PIECE = re.compile(r"\([^()|]+\)?|[^()|]+\)")
_BLANKS = re.compile(r"[ \t]+")
_EMPTY = ("-", "_", "*", "")
_FULL = 5  # the least number of columns of a row that starts with document and part
_SAMPLE = 20  # the number of rows from which the meaning of the columns is inferred


@dataclass
class _Row:
    line: int
    columns: list[str]


@dataclass
class _Unit:
    """The rows of a document, sentence by sentence."""

    name: str
    line: int
    sentences: list[list[_Row]] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)  # the first columns of the first rows of all sentences
    ended: bool = True  # whether the next row starts a sentence

    def start_sentence(self, row: _Row) -> None:
        """Start a sentence; the row, its first one, is not added yet."""
        self.sentences.append([])
        self.ended = False
        self.labels.add(row.columns[0])

    def labels_sentences(self) -> bool:
        """Whether the first column names sentences instead of the document, as in test cases of the reference scorer.

        It does if the name after ``#begin document`` contains none of these labels, and no two sentences have the same
        label.
        """
        distinct = len(self.labels) == len(self.sentences)
        return distinct and bool(self.name) and not any(label in self.name for label in self.labels)


@dataclass(frozen=True)
class _Layout:
    """The index of the column that holds the word, its number, its tag and its parse; None if no column does."""

    word: int
    number: int | None = None
    tag: int | None = None
    parse: int | None = None

    @classmethod
    def of(cls, rows: list[list[str]]) -> _Layout:
        """Infer the columns from the first rows of a file."""
        width = len(rows[0])
        if width >= _FULL:
            return cls(word=3, number=2, tag=4 if width >= 6 else None, parse=5 if width >= 7 else None)
        columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
        number = next((index for index in range(width - 2) if _are_word_numbers(columns[index])), None)
        word = width - 2 if number is None else number + 1
        if number is None and width > 2:
            last, previous = set(columns[word]), set(columns[word - 1])
            if last <= UPOS | PTB and len(previous) > 1 and not previous <= UPOS | PTB:
                return cls(word=word - 1, tag=word)
        return cls(word=word, number=number)


def _are_word_numbers(column: Sequence[str]) -> bool:
    """Whether a column counts words: it starts from 0 or 1, and then always adds one or starts again."""
    if not all(map(WHOLE_NUMBER.fullmatch, column)):
        return False
    numbers = [int(cell) for cell in column]
    counts_up = all(after in (before + 1, numbers[0]) for before, after in pairwise(numbers))
    return numbers[0] in (0, 1) and counts_up and (len(numbers) == 1 or len(set(numbers)) > 1)


def read_conll2012(path: str | Path, account: Account, *, lenient: bool = False) -> Iterator[Document]:
    """Yield the documents of a file.

    Raises:
        CorpusError: a row has too few columns, or not as many as the row before; there are no words; a row belongs to
            another document than the rows before it, or follows the end of its document; or, unless ``lenient``,
            brackets of mentions or of the parse do not match. The error names file and line.
    """
    path = Path(path)
    for unit, layout in _units(path):
        yield _document(path, unit, layout, account, lenient)


def _units(path: Path) -> Iterator[tuple[_Unit, _Layout]]:
    layout = _layout(path)
    unit: _Unit | None = None
    width = 0  # the number of columns of the row before
    after_end = False  # whether the last document has ended and no other one has begun
    for line, text in numbered_lines(path):
        begin = BEGIN.match(text)
        if begin or _END.match(text):
            if unit and unit.sentences:
                yield unit, layout
            unit = _Unit(_name(begin), line) if begin else None
            after_end = begin is None
            continue
        if not text.strip():
            if unit:
                unit.ended = True
            continue
        columns = _columns(text, width)
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
        unit = unit or _Unit("", line)
        row = _Row(line, columns)
        if unit.ended or _starts_again(layout, unit.sentences[-1][-1], row):
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
    if unit and unit.sentences:
        yield unit, layout


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
    if min(len(first.columns), len(row.columns)) < _FULL:
        return ""
    name, part = row.columns[:2]
    if name != sentence[0].columns[0] if sentence else len(unit.labels) > 1 and not unit.labels_sentences():
        return f"document {name!r}"
    numbers = WHOLE_NUMBER.fullmatch(part) and WHOLE_NUMBER.fullmatch(first.columns[1])
    return f"part {part} of document {name!r}" if numbers and int(part) != int(first.columns[1]) else ""


def _layout(path: Path) -> _Layout:
    rows: list[list[str]] = []
    for _, text in numbered_lines(path):
        if text.strip() and not BEGIN.match(text) and not _END.match(text):
            columns = _columns(text, len(rows[-1]) if rows else 0)
            rows += [columns] if columns else []
        if len(rows) == _SAMPLE:
            break
    return _Layout.of(rows or [["", ""]])


def _columns(text: str, width: int) -> list[str] | None:
    """The columns of a row; None for a comment.

    A line that starts with ``#`` may also be a row whose first word is ``#``; it is one if its last column has brackets
    or is empty. White space at the end of the line is not a column if the row before had no such column.

    Args:
        text: the line.
        width: the number of columns of the row before.
    """
    columns = text.split("\t") if "\t" in text else _BLANKS.split(text.strip(" "))
    if len(columns) == width + 1 and not columns[-1].strip():
        columns.pop()
    last = columns[-1].strip()
    if text.startswith("#") and (len(columns) == 1 or not (last in _EMPTY or _PIECE.match(last))):
        return None
    return columns


def _name(begin: re.Match[str]) -> str:
    """The name of a document, with the number of its part unless that is 0."""
    part = _PART.search(begin["rest"])
    name = _PART.sub("", begin["rest"]).strip(" ;\t") if begin["name"] is None else begin["name"].strip()
    return f"{name} part {int(part[1])}" if part and int(part[1]) else name


def _starts_again(layout: _Layout, before: _Row, row: _Row) -> bool:
    """Whether the word numbers start again at this row."""
    if layout.number is None:
        return False
    last, number = before.columns[layout.number], row.columns[layout.number]
    return bool(WHOLE_NUMBER.fullmatch(last) and WHOLE_NUMBER.fullmatch(number)) and int(number) <= int(last)


def _document(path: Path, unit: _Unit, layout: _Layout, account: Account, lenient: bool) -> Document:
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
                xpos=tuple("_" if tag in _EMPTY else tag for tag in tags),
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
    if cell in _EMPTY:
        return
    for part in cell.split("|"):
        pieces = _PIECE.findall(part)
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
