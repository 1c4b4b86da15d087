"""The lines of one sentence of CoNLL-U, or of a format with other columns, taken apart and checked.

Lines are split into columns here, because an error must name its line, and because forms, glosses and feature values of
real treebanks contain double spaces and equals signs. A mistake must not cause others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from conllu.exceptions import ParseException
from conllu.parser import parse_comment_line, parse_id_value, parse_int_value

from .describing import quote_shortened
from .errors import CorpusError
from .lines import ENDS, WHOLE_NUMBER
from .sentence import Sentence
from .tree import cycle_error, cycles

_FIELDS = ("id", "words", "lemmas", "tags", "xpos", "feats", "heads", "relations", "deps", "misc")
_ID, _FORM, _HEAD, _RELATION, _MISC = (_FIELDS.index(name) for name in ("id", "words", "heads", "relations", "misc"))


class Columns(NamedTuple):
    """The columns of a format in which the fields of a sentence are."""

    # For each of the fields, 0-based; None if no column has it. Of two columns, the second is read where the first one
    # is empty. Without a column of ids, words are numbered in their order.
    fields: tuple[int | tuple[int, int] | None, ...]
    number: int  # of the columns
    more: bool = False  # whether further columns may follow, as many in all rows of a sentence
    words_only: bool = False  # whether there are no rows of multiword tokens and empty nodes
    extra: tuple[tuple[str, int], ...] = ()  # the names of further columns, which are added to the field misc
    divide: Callable[[str], list[str]] = partial(str.split, sep="\t")  # divides a line into its columns
    layout: str = ""  # how a row looks, for messages; by default, columns are separated by tabs

    def row(self, cells: list[str]) -> list[str]:
        """Return the fields of a row."""
        row = [self._cell(cells, column) for column in self.fields]
        for name, column in self.extra:
            if cells[column] not in ("_", "*", ""):
                misc = "" if row[_MISC] == "_" else f"{row[_MISC]}|"
                row[_MISC] = f"{misc}{name}={cells[column]}"
        return row

    def _cell(self, cells: list[str], column: int | tuple[int, int] | None) -> str:
        if isinstance(column, tuple):
            first, second = column
            return cells[second] if cells[first] == "_" else cells[first]
        return "_" if column is None else cells[column]

    @property
    def numbered(self) -> bool:
        """Whether rows have the number of their word."""
        return self.fields[_ID] is not None

    def is_comment(self, line: str) -> bool:
        """Whether a line is a comment. Where rows have no numbers, the word of a row may begin with ``#``."""
        if not line.startswith("#") or self.numbered or self.number == 1:
            return line.startswith("#")
        cells, head = self.divide(line), self.fields[_HEAD]
        is_row = len(cells) == self.number and (not isinstance(head, int) or WHOLE_NUMBER.fullmatch(cells[head]))
        return not is_row

    def name(self, field: int) -> str:
        """Return what messages call the column of a field."""
        column = self.fields[field]
        return f"column {(column[0] if isinstance(column, tuple) else column or 0) + 1}"

    def expected(self) -> str:
        """Return what messages say of the number of columns."""
        return self.layout or f"expected {'at least ' if self.more else ''}{self.number} tab-separated columns"


_NEAREST = (
    (14, "conll2009 (columns 9 and 10 are heads)"),
    (11, "conll2008 (column 9 is the head, column 10 the relation)"),
    (9, "conllu, which has 10"),
    (5, "conllx8 (the first eight columns of CoNLL-X)"),
    (3, "malt-tab (FORM POSTAG HEAD DEPREL)"),
    (2, "clark (WORD HEAD-RELATION)"),
)
"""Formats by the least number of columns, for messages."""

CONLLU_COLUMNS = Columns(tuple(range(len(_FIELDS))), len(_FIELDS))


class Block(NamedTuple):
    """The lines between two blank lines."""

    lines: list[tuple[int, str]]  # at least one, each with its number
    blank: int | None  # the blank line that ends them; None at the end of the file
    blank_before: int | None  # the blank line that ended the block before, as far as it is known
    end: int  # the number of lines up to the next block, and that of bytes
    offset: int


class SentenceLines:
    """The lines of one sentence, taken apart; `faults` are the mistakes in the order of their lines."""

    def __init__(
        self, path: Path, block: Block, default_id: str, comments: list[str], columns: Columns = CONLLU_COLUMNS
    ) -> None:
        self.faults: list[CorpusError] = []
        self._path, self._block, self._id, self._columns = path, block, default_id, columns
        self._width = 0 if columns.more else columns.number  # of all rows, or 0 before the first one
        self._comments = dict(pair for comment in comments for pair in parse_comment_line(comment))
        self._rows: list[list[str]] = []  # of the words, as are the next two
        self._lines: list[int] = []
        self._heads: list[int | None] = []
        self._multiword: list[tuple[int, int, str, int]] = []  # the last number is that of the line
        self._empty_rows: list[list[str]] = []
        self._next: int | None = 1  # the id that the next word must have; None after a row that could not be read
        self._complete = True  # whether all rows were read and are in order
        for number, line in block.lines:
            if columns.is_comment(line):
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
        cells = self._columns.divide(text)
        if len(cells) < self._columns.number or len(cells) != (self._width or len(cells)):
            hint = "; are the columns separated by spaces?" if len(cells) == 1 else ""
            hint = f"; the first row of the sentence has {self._width}" if self._columns.more and self._width else hint
            hint = f"; {ENDS}" if "\r" in text else hint or self._conversion(len(cells))
            found = f"found {quote_shortened(text)}" if self._columns.layout else f"found {len(cells)}"
            self._lose_row(f"{self._columns.expected()}, {found}{hint}", line)
            return
        self._width = len(cells)
        row = cells if self._columns is CONLLU_COLUMNS else self._columns.row(cells)
        if not row[_FORM]:
            self._lose_row(f"the form ({self._columns.name(_FORM)}) is empty", line)
            return
        if not self._columns.numbered:
            self._read_word(self._next or len(self._rows) + 1, row, line)
            return
        try:
            parsed_id = parse_id_value(row[_ID])
        except (ParseException, ValueError):
            parsed_id = ()
        if isinstance(parsed_id, tuple) and (not parsed_id or self._columns.words_only):
            expected = "a number" if self._columns.words_only else "a number, range or decimal"
            self._lose_row(f"the id ({self._columns.name(_ID)}) {row[_ID][:40]!r} is not {expected}", line)
            return
        if not isinstance(parsed_id, tuple):
            self._read_word(parsed_id, row, line)
            return
        first, separator, last = parsed_id  # such as 8.1 or 2-3
        if separator == ".":
            self._read_empty_node(first, row, line)
        else:
            self._read_multiword(first, last, row, line)

    def _conversion(self, n_cells: int) -> str:
        """Return advice for a file whose first row has another number of columns than CoNLL-U."""
        if self._columns is not CONLLU_COLUMNS or self._rows or self._block.blank_before or n_cells < 2:
            return ""
        nearest = next((name for least, name in _NEAREST if n_cells >= least), "")
        return (
            f"; the nearest format is {nearest}. To have its {n_cells} columns read, name them in a first line, "
            "# global.columns = ID FORM …"
        )

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
            column = self._columns.name(_HEAD)
            self._fail(f"the head ({column}) of word {word_id} is {row[_HEAD][:40]!r}, not a number", line)
        self._heads.append(head)
        if not row[_RELATION] or any(character.isspace() for character in row[_RELATION]):
            column = self._columns.name(_RELATION)
            self._fail(f"the relation ({column}) of word {word_id} is {row[_RELATION][:40]!r}, not a name or _", line)

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
