"""The lines of one sentence in CoNLL-U or CoNLL-X → the sentence, or every mistake in them.

Reading goes on after a mistake, so that all of them can be reported together. A mistake must not cause others: after an
id that is out of order, the ids are expected to go on from there, and heads are compared with the words of the sentence
only if all of these were read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conllu.exceptions import ParseException
from conllu.parser import parse_comment_line, parse_id_value, parse_int_value

from .errors import CorpusError
from .sentence import Sentence
from .tree import cycle_error, cycles

COLUMNS = 10
"""The number of columns of a row."""


@dataclass(frozen=True)
class LineBlock:
    """The lines between two blank lines.

    Attributes:
        lines: the lines, at least one, each with its number.
        blank: the number of the blank line that ends them; None at the end of the file.
        blank_before: the number of the blank line that ended the block before, as far as it is known.
    """

    lines: list[tuple[int, str]]
    blank: int | None
    blank_before: int | None

    @property
    def has_rows(self) -> bool:
        """Whether there is a line that is not a comment."""
        return any(not text.startswith("#") for _, text in self.lines)


def lost_words(path: Path, block: LineBlock) -> list[CorpusError]:
    """The mistakes of a block that consists of comments alone.

    Comments between sentences are allowed, but ``sent_id`` and ``text`` show that the words of a sentence are missing.
    """
    for number, line in block.lines:
        for key, value in parse_comment_line(line):
            if key in ("sent_id", "text"):
                why = f"; the blank line {block.blank} ended it" if block.blank else ""
                message = f"the sentence has comments but no words{why}; is the file complete?"
                return [CorpusError(message, file=path, line=number, sentence=value if key == "sent_id" else None)]
    return []


class SentenceLines:
    """The lines of a sentence, taken apart.

    Args:
        path: the file.
        block: the lines, of which at least one is a row.
        default_id: the id of the sentence if no comment has one.
        comments: the comments from blocks without words before the sentence.

    Attributes:
        faults: the mistakes in the order of their lines.
    """

    def __init__(self, path: Path, block: LineBlock, default_id: str, comments: Mapping[str, str | None]) -> None:
        self.faults: list[CorpusError] = []
        self._path, self._block = path, block
        self._id = default_id
        self._comments = dict(comments)
        self._rows: list[list[str]] = []  # of the words, which are what the other lists without a name are about
        self._lines: list[int] = []
        self._heads: list[int | None] = []
        self._multiword: list[tuple[int, int, str]] = []
        self._multiword_lines: list[int] = []
        self._empty_nodes: list[str] = []
        self._empty_misc: list[str] = []
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
        """Return the sentence; there must be no faults.

        Args:
            document: the id of its document.
            cells: strings that occurred before, which are used again.
        """

        def column(index: int) -> tuple[str, ...]:
            return tuple([cells.setdefault(row[index], row[index]) for row in self._rows])

        return Sentence(
            id=self._id,
            words=column(1),
            lemmas=column(2),
            tags=column(3),
            xpos=column(4),
            feats=column(5),
            heads=tuple(self._heads),
            relations=column(7),
            deps=column(8),
            misc=column(9),
            multiword=tuple(self._multiword),
            empty_nodes=tuple(self._empty_nodes),
            empty_misc=tuple(self._empty_misc),
            comments=self._comments,
            text=self._comments.get("text"),
            document=document,
            file=str(self._path),
            line=self._block.lines[0][0],
            lines=tuple(self._lines),
        )

    def _fail(self, message: str, line: int) -> None:
        self.faults.append(CorpusError(message, file=self._path, line=line, sentence=self._id))

    def _lose_row(self, message: str, line: int, following: int | None = None) -> None:
        """Report a row that is not among the words, after which the next word must have this id, if it is known."""
        self._fail(message, line)
        self._complete, self._next = False, following

    def _read_row(self, line: str, number: int) -> None:
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            hint = "; are the columns separated by spaces?" if len(columns) == 1 else ""
            hint = "; line ends must be LF or CR LF, not CR alone" if "\r" in line else hint
            self._lose_row(f"expected {COLUMNS} tab-separated columns, found {len(columns)}{hint}", number)
            return
        if not columns[1]:
            self._lose_row("the form (column 2) is empty", number)
            return
        try:
            word_id = parse_id_value(columns[0])
        except (ParseException, ValueError):
            self._lose_row(f"the id (column 1) {columns[0][:40]!r} is not a number, range or decimal", number)
            return
        if not isinstance(word_id, tuple):
            self._read_word(word_id, columns, number)
        elif word_id[1] == ".":
            self._read_empty_node(word_id[0], columns, number)
        else:
            self._read_multiword(word_id[0], word_id[2], columns, number)

    def _read_word(self, word_id: int | None, columns: list[str], line: int) -> None:
        if word_id is None or word_id != (self._next or word_id):
            message = f"expected word id {self._next or 'or range'}, found {columns[0][:40]!r}{self._early_end()}"
            self._lose_row(message, line, word_id and word_id + 1)
            return
        self._next = word_id + 1
        self._rows.append(columns)
        self._lines.append(line)
        head = None
        try:
            head = parse_int_value(columns[6])
        except (ParseException, ValueError):
            self._fail(f"the head (column 7) of word {word_id} is {columns[6][:40]!r}, not a number", line)
        self._heads.append(head)
        if not columns[7] or any(character.isspace() for character in columns[7]):
            self._fail(f"the relation (column 8) of word {word_id} is {columns[7][:40]!r}, not a name or _", line)

    def _read_empty_node(self, word_before: int, columns: list[str], line: int) -> None:
        # The id of an empty node names the word that it follows. If the node were somewhere else in the file, the
        # mentions that start or end on it would be lost or misplaced.
        if self._next not in (None, word_before + 1) or columns[0] in self._empty_nodes:
            last = f"it follows word {self._next - 1}" if self._next else "there are two of them"
            self._fail(f"empty node {columns[0]} is out of order: {last}{self._early_end()}", line)
            return
        self._empty_nodes.append(columns[0])
        self._empty_misc.append(columns[9])

    def _read_multiword(self, first: int, last: int, columns: list[str], line: int) -> None:
        overlaps = self._multiword and first <= self._multiword[-1][1]
        if self._next not in (None, first) or overlaps:
            name = f"multiword token {columns[0][:40]}"
            self._fail(f"{name} overlaps another or is out of order{self._early_end()}", line)
        elif columns[9].startswith("Entity=") or "|Entity=" in columns[9]:
            self._fail(f"multiword token {columns[0]} has Entity=, which belongs to its words", line)
        else:
            self._multiword.append((first, last, columns[1]))
            self._multiword_lines.append(line)

    def _early_end(self) -> str:
        """A hint for a row that should not be the first one: a stray blank line may have ended the sentence before."""
        is_first = not self._rows and not self._multiword and not self._empty_nodes
        blank = self._block.blank_before
        return f"; the blank line {blank} ended the sentence before" if is_first and blank else ""

    def _check_whole(self) -> None:
        """Check what can only be checked when all words are known."""
        ended = f"; the blank line {self._block.blank} ended the sentence" if self._block.blank else ""
        for (first, last, _), line in zip(self._multiword, self._multiword_lines, strict=True):
            if last > len(self._rows):
                self._fail(f"multiword token {first}-{last} ends after the last word{ended}", line)
        sound: list[int | None] = []
        for word, (head, line) in enumerate(zip(self._heads, self._lines, strict=True), start=1):
            sound.append(head)
            if head is not None and not 0 <= head <= len(self._rows):
                sound[-1] = None
                why = ended if head > 0 else ""
                text = self._rows[word - 1][6][:40]
                self._fail(f"the head of word {word} is {text}, which is outside 0 … {len(self._rows)}{why}", line)
        for cycle in cycles(sound):
            words = [f"{word} {self._rows[word - 1][1]!r:.80} (line {self._lines[word - 1]})" for word in cycle]
            self._fail(cycle_error(words), self._lines[cycle[0] - 1])
