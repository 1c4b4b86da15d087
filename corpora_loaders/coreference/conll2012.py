"""CoNLL-2012 column files: OntoNotes, OntoGUM, WinoBias, LitBank and whatever else puts its brackets in the last
column.

Full files have the columns document, part, word number (from 0), word, tag, parse, lemma, frame, sense, speaker,
named entity, predicate arguments, coreference. With fewer columns the last one is always coreference, and

* 5 or more: document, part, number, word, …; the tag is the next one if there are 6 or more, the parse the one after it
  if there are 7 or more;
* 3 or 4: the word is what follows a column of word numbers from 0 or 1 on; if there is none, the column before the
  last, or the one before that if it is followed by tags;
* 2: word, coreference.

A sentence ends at a blank line, where the word numbers start again, or with its document. A document starts at
``#begin document`` (with or without a name) and ends at ``#end document``, the next ``#begin``, or the end of the
file; a file without any is one document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_FULL = 5  # columns of a row that starts with document and part
_SAMPLE = 20  # rows by which the columns of a short file are told


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
    labels: set[str] = field(default_factory=set)  # in the first column of the sentences' first rows
    ended: bool = True  # whether the next row starts a sentence

    def start_sentence(self, row: _Row) -> None:
        """Make room for the rows of a sentence, of which this is the first."""
        self.sentences.append([])
        self.ended = False
        self.labels.add(row.columns[0])

    def labels_sentences(self) -> bool:
        """Whether the first column names sentences instead of the document, as in test cases of the reference scorer.

        That is so if no sentence has the name of ``#begin document`` there, and no two have the same.
        """
        distinct = len(self.labels) == len(self.sentences)
        return distinct and bool(self.name) and not any(label in self.name for label in self.labels)


@dataclass(frozen=True)
class _Layout:
    """Which column holds what; None: none does."""

    word: int
    number: int | None = None
    tag: int | None = None
    parse: int | None = None

    @classmethod
    def of(cls, rows: list[list[str]]) -> _Layout:
        """Tell it from the first rows of a file."""
        n = len(rows[0])
        if n >= _FULL:
            return cls(word=3, number=2, tag=4 if n >= 6 else None, parse=5 if n >= 7 else None)
        number = next((at for at in range(n - 2) if _counts([row[at] for row in rows if len(row) == n])), None)
        word = n - 2 if number is None else number + 1
        if number is None and n > 2:
            last, before = ({row[at] for row in rows if len(row) == n} for at in (word, word - 1))
            if last <= UPOS | PTB and len(before) > 1 and not before <= UPOS | PTB:
                return cls(word=word - 1, tag=word)
        return cls(word=word, number=number)


def _counts(column: list[str]) -> bool:
    """Whether these are word numbers: from 0 or 1 on, one more each time or from the start again."""
    if not all(map(WHOLE_NUMBER.fullmatch, column)):
        return False
    numbers = [int(one) for one in column]
    steps = all(b in (a + 1, numbers[0]) for a, b in pairwise(numbers))
    return numbers[0] in (0, 1) and steps and (len(numbers) == 1 or len(set(numbers)) > 1)


def read_conll2012(path: str | Path, account: Account, *, lenient: bool = False) -> Iterator[Document]:
    """Yield the documents of a file.

    Raises:
        CorpusError: with file and line: too few columns, or not as many as in the row before; no words; a row
            of another document than the rows before it, or after the end of its document; or,
            unless ``lenient``, brackets of mentions or of the parse that do not match.
    """
    path = Path(path)
    for unit, layout in _units(path):
        yield _document(path, unit, layout, account, lenient)


def _units(path: Path) -> Iterator[tuple[_Unit, _Layout]]:
    layout = _layout(path)
    unit: _Unit | None = None
    width = 0  # of the row before
    after_end = False
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
            raise CorpusError("at least a word and its brackets are expected, found one column", file=path, line=line)
        if len(columns) <= layout.word + 1:
            message = f"expected more than {layout.word + 1} columns, found {len(columns)}"
            raise CorpusError(message, file=path, line=line)
        if not columns[layout.word].strip():
            raise CorpusError(f"the word (column {layout.word + 1}) is empty", file=path, line=line)
        if after_end:
            message = "a row after '#end document'; is a line '#begin document' missing?"
            raise CorpusError(message, file=path, line=line)
        unit = unit or _Unit("", line)
        row = _Row(line, columns)
        if unit.ended or _starts_again(layout, unit.sentences[-1][-1], row):
            unit.start_sentence(row)
        own = unit.sentences[-1]
        if other := _other_document(unit, row):
            message = f"a row of {other} among rows of another document; is a line '#begin document' missing?"
            raise CorpusError(message, file=path, line=line)
        if own and width != len(columns):
            expected = f"{width} columns as in the row before"
            raise CorpusError(f"expected {expected}, found {len(columns)}", file=path, line=line)
        own.append(row)
        width = len(columns)
    if unit and unit.sentences:
        yield unit, layout


def _other_document(unit: _Unit, row: _Row) -> str:
    """What document a row says it is of, if that is another than the rows before it say.

    Only full rows name their document. That the name differs from that of ``#begin document`` is common and harmless.

    Args:
        unit: the document, without the row, but with a place for its sentence.
        row: what comes next.
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
    """The columns of a row; None of a comment. A blank at the end is no column where the row before had none."""
    columns = text.split("\t") if "\t" in text else _BLANKS.split(text.strip(" "))
    if len(columns) == width + 1 and not columns[-1].strip():
        columns.pop()
    last = columns[-1].strip()
    if text.startswith("#") and (len(columns) == 1 or not (last in _EMPTY or _PIECE.match(last))):
        return None
    return columns


def _name(begin: re.Match[str]) -> str:
    """Of a document, and the number of the part if that is not 0."""
    part = _PART.search(begin["rest"])
    name = _PART.sub("", begin["rest"]).strip(" ;\t") if begin["name"] is None else begin["name"].strip()
    return f"{name} part {int(part[1])}" if part and int(part[1]) else name


def _starts_again(layout: _Layout, before: _Row, row: _Row) -> bool:
    """Whether the word numbers do."""
    if layout.number is None:
        return False
    last, number = before.columns[layout.number], row.columns[layout.number]
    return bool(WHOLE_NUMBER.fullmatch(last) and WHOLE_NUMBER.fullmatch(number)) and int(number) <= int(last)


def _document(path: Path, unit: _Unit, layout: _Layout, account: Account, lenient: bool) -> Document:
    rows = [row for sentence in unit.sentences for row in sentence]
    if layout.word == 0 and unit.name and all(row.columns[0] in unit.name for row in rows):
        raise CorpusError(
            "there are no words: the first of two columns repeats the document", file=path, line=unit.line
        )
    name = unit.name or f"{path.name}:{unit.line}"
    brackets = Brackets(path, lenient=lenient)
    sentences: list[Sentence] = []
    trees: list[Constituent | None] = []
    for number, own in enumerate(unit.sentences, start=1):
        tags = [row.columns[layout.tag] for row in own] if layout.tag is not None else []
        try:
            bits = [row.columns[layout.parse] for row in own] if layout.parse is not None else ["*"] * len(own)
            trees.append(read_parse(bits, tags or bits))
        except ParseError as error:
            brackets.fault(str(error), own[error.word].line)
            trees.append(None)
        sentences.append(
            Sentence(
                id=f"{name}:{number}",
                words=tuple(row.columns[layout.word] for row in own),
                xpos=tuple("_" if tag in _EMPTY else tag for tag in tags),
                document=name,
                file=str(path),
                line=own[0].line,
            )
        )
    for at, row in enumerate(rows):
        _read_cell(brackets, row, at)
    marked = brackets.finish()
    account.faults += brackets.faults
    return winobias_document(build_document(name, sentences, marked, account, trees=trees))


def _read_cell(brackets: Brackets, row: _Row, at: int) -> None:
    cell = row.columns[-1].strip()
    if cell in _EMPTY:
        return
    for part in cell.split("|"):
        pieces = _PIECE.findall(part)
        if not pieces or "".join(pieces) != part:
            brackets.fault(f"the last column is {cell!r}; -, (ID, ID) or (ID) are expected, separated by |", row.line)
            continue
        for piece in pieces:
            entity = piece.strip("()")
            if piece.startswith("("):
                brackets.open(entity, at, row.line)
            if piece.endswith(")"):
                brackets.close(entity, at + 1, row.line)
