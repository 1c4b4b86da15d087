"""The formats of labeled texts, with or without queries: tables, JSON Lines (also SNLI's), plain lines, and bAbI's."""

from __future__ import annotations

import csv
import itertools
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import CorpusError
from .lines import WHOLE_NUMBER, text_lines

Text = str | list[str]
"""Running text, or a list of words."""

Record = tuple[int, str, Text, Text | None]
"""The line where a text starts, from 1; its label; the text; and its query, or None for a text without one."""

UNDECIDED = "-"
"""What SNLI has as the label of a pair on which the annotators did not agree."""

_COMPRESSED = re.compile(r"\.(gz|bz2|xz|zip)$")
_BLANK_OR_TAB = re.compile(r"[ \t]")
_SNLI_KEYS = ("gold_label", "sentence1", "sentence2")
_BABI_LINE = re.compile(r"(?P<number>\d+) (?P<text>[^\t]+?)(?: ?\t(?P<answer>[^\t]+)\t[\d ]+)?\s*")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LONGEST_FIELD = 2**31 - 1
"""The longest CSV field, in characters. The default of the csv module, 131,072, is too short for long texts."""


@dataclass(frozen=True)
class LabeledFile:
    """A file of labeled texts, and the columns or keys to read.

    To add a format, write a method that yields its records and add the ending to `FORMATS`.
    """

    path: str | Path  # of the file, or of a file in a zip file
    label: str  # the names or numbers of the columns, or the keys
    text: str
    query: str | None = None
    in_blocks: bool = False  # whether a file of lines has a document in each block, with a sentence in each line
    # The number of the first line, if that was read as a text because columns are chosen by number; known after reading
    headless: list[int] = field(default_factory=list)
    # The numbers of the lines where documents begin, whose texts are lists of sentences; known after reading
    documents: list[int] = field(default_factory=list)

    def records(self) -> Iterator[Record | None]:
        """Yield the texts with their lines and labels, and None for a blank line.

        The ending of the file, or of a file in its zip archive, decides how they are read.
        """
        names = [str(self.path)]
        if Path(self.path).is_file():
            with suppress(OSError, RuntimeError, zipfile.BadZipFile), zipfile.ZipFile(self.path) as zipped:
                names += zipped.namelist()
        for name in names:
            for ending, records in FORMATS.items():
                if _COMPRESSED.sub("", name.lower()).endswith(ending):
                    return records(self)
        if self.in_blocks:
            return self.block_records()
        return self.babi_records() if self._is_babi() else self.plain_records()

    def _is_babi(self) -> bool:
        """Whether a file begins with a story: lines that are numbered from 1, of which the last is a question."""
        for expected, (_, _, line) in enumerate(text_lines(self.path), start=1):
            match = _BABI_LINE.fullmatch(line)
            if match is None or int(match["number"]) != expected:
                return False
            if match["answer"] is not None:
                return True
        return False

    def fault(self, message: str, line: int | None) -> CorpusError:
        """Return an error in a line of the file, or in all of it."""
        return CorpusError(message, file=self.path, line=line)

    def block_records(self) -> Iterator[Record | None]:
        """Yield the documents of a file whose blocks have a sentence in each line, the first behind the label."""
        start, label, sentences = 0, "", list[str]()
        blank_line = (0, 0, "")  # which ends the last document
        for number, _, line in itertools.chain(text_lines(self.path), [blank_line]):
            if line.strip() and not sentences:
                start, label = number, _BLANK_OR_TAB.split(line, maxsplit=1)[0]
                line = line[len(label) + 1 :]
            if line.strip():
                sentences.append(" ".join(line.split()))
            elif sentences:
                self.documents.append(start)
                yield start, label, sentences, None
                sentences = []

    def plain_records(self) -> Iterator[Record | None]:
        """Yield the records of lines that consist of a label, a space or tab, and the text."""
        for number, _, line in text_lines(self.path):
            label = _BLANK_OR_TAB.split(line, maxsplit=1)[0]
            yield (number, label, line[len(label) + 1 :], None) if line.strip() else None

    def babi_records(self) -> Iterator[Record | None]:
        """Yield the questions of bAbI's stories: the text is the story so far, the label is the answer."""
        # Every line has a number, which is 1 where a story begins. A question has its answer and the numbers of the
        # lines that support it behind tabs.
        story: list[str] = []
        for number, _, line in text_lines(self.path):
            if not line.strip():
                yield None
                continue
            match = _BABI_LINE.fullmatch(line)
            if match is None:
                message = f"expected a numbered sentence, or a question with its answer, found {line[:60]}"
                raise self.fault(message, number)
            words = _TOKEN.findall(match["text"])
            if int(match["number"]) == 1:
                story = []
            if match["answer"] is None:
                story += words
            else:
                yield number, match["answer"], list(story), words

    def json_records(self) -> Iterator[Record | None]:
        """Yield the records of a file with a JSON object in each line."""
        for number, _, line in text_lines(self.path):
            yield self._json_record(number, line) if line.strip() else None

    def tsv_records(self) -> Iterator[Record | None]:
        """Yield the records of a table with tabs between columns, in which quotes have no special meaning."""
        return self._table((number, line.split("\t")) for number, _, line in text_lines(self.path))

    def csv_records(self) -> Iterator[Record | None]:
        """Yield the records of a CSV table, in which fields may be quoted."""
        return self._table(self._csv_rows())

    def _json_record(self, number: int, line: str) -> Record:
        """Return the record of one line of JSON."""
        try:
            value = json.loads(line, object_pairs_hook=_object)
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is not a character
        except (ValueError, RecursionError) as error:
            raise self.fault(f"expected a JSON object on every line: {error}", number) from error
        if not isinstance(value, dict):
            raise self.fault(f"expected a JSON object on every line, found {line[:60]}", number)
        if not {self.label, self.text} & set(value) and set(_SNLI_KEYS) <= set(value):
            label_key, *sentence_keys = _SNLI_KEYS
            label: Any = value[label_key]
            parses: list[Any] = [value.get(f"{key}_binary_parse", value[key]) for key in sentence_keys]
            if not all(isinstance(string, str) for string in (label, *parses)):
                raise self.fault(f"{', '.join(map(repr, _SNLI_KEYS))} must be strings", number)
            # The leaves of the binary parse are the words of the sentence, with punctuation apart.
            premise, hypothesis = ([word for word in parse.split() if word not in "()"] for parse in parses)
            return number, label, premise, hypothesis
        if self.text not in value and "sentences" in value:
            self.documents.append(number)
            return replace(self, text="sentences")._object_record(number, value)
        return self._object_record(number, value)

    def _object_record(self, number: int, value: Mapping[str, Any]) -> Record:
        """Return the record of an object with the keys of label, text and query."""
        self._check_names("keys", list(value), number)
        label, text = value[self.label], value[self.text]
        query = None if self.query is None else value[self.query]
        if not isinstance(label, str | int):
            raise self.fault(f"{self.label!r} must be a string, whole number or boolean, not {label!r:.60}", number)
        texts = [(self.text, text)] if query is None else [(self.text, text), (self.query, query)]
        for key, words in texts:
            if not all(isinstance(word, str) for word in (words if isinstance(words, list) else [words])):
                raise self.fault(f"{key!r} must be a string or a list of strings, not {words!r:.60}", number)
        return number, label if isinstance(label, str) else json.dumps(label), text, query

    def _csv_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows of a CSV table, each with the number of its first line."""
        reader = csv.reader((line + "\n" for _, _, line in text_lines(self.path, allow_returns=True)), strict=True)
        start, limit_before = 1, csv.field_size_limit(_LONGEST_FIELD)
        try:
            for row in reader:
                yield start, row
                start = reader.line_num + 1
        except csv.Error as error:
            expected = "expected a CSV record, with quotes around fields that contain a comma, quote or line end"
            raise self.fault(f"{expected}: {error}", start) from error
        finally:
            csv.field_size_limit(limit_before)

    def _table(self, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Record | None]:
        """Yield the records of a table, given its rows with the numbers of their lines."""
        columns: list[int] | None = None  # those of label, text and query, once the first row has been read
        width = 0
        for number, row in rows:
            if not any(map(str.strip, row)):
                yield None
                continue
            if columns is None:
                columns, width = self._columns(row, number), len(row)
                if not self.headless:  # this row is a header
                    continue
            if len(row) != width:
                first = "first line" if self.headless else "header"
                raise self.fault(f"expected {width} fields as in the {first}, found {len(row)}", number)
            label, text, *query = (row[column] for column in columns)
            yield number, label, text, query[0] if query else None

    def _columns(self, row: list[str], number: int) -> list[int]:
        """Return the 0-based columns of label, text and query, given the first row, and note it if it is no header."""
        names = [name.strip() for name in row]
        wanted = self._column_names
        if not all(map(WHOLE_NUMBER.fullmatch, wanted)) or set(wanted) <= set(names):
            self._check_names("columns", names, number)
            return [names.index(name) for name in wanted]
        for column in wanted:
            if not 1 <= int(column) <= len(row):
                raise self.fault(f"there is no column {column}; there are {len(row)}, counted from 1", number)
        self.headless.append(number)
        return [int(column) - 1 for column in wanted]

    @property
    def _column_names(self) -> list[str]:
        """The columns or keys of label, text and, if there are queries, query."""
        return [self.label, self.text, *([] if self.query is None else [self.query])]

    def _check_names(self, noun: str, names: list[str], number: int | None) -> None:
        """Check that label, text and query each occur once among the names of columns or keys."""
        if any(names.count(name) != 1 for name in self._column_names):
            listed = ", ".join(map(repr, names))[:200] or "none"
            label, text, *query = self._column_names
            expected = " and ".join(map(repr, (text, label, *query)))
            advice = "name those to read with text= and label= (--text-column, --label-column)"
            raise self.fault(f"expected {noun} {expected}, found {listed}; {advice}", number)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; of a key that occurs twice, Python would keep the last value without a word."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return value


FORMATS: Mapping[str, Callable[[LabeledFile], Iterator[Record | None]]] = {
    ".csv": LabeledFile.csv_records,
    ".tsv": LabeledFile.tsv_records,
    ".jsonl": LabeledFile.json_records,
    ".json": LabeledFile.json_records,
}
"""The reader of a file by the ending of its name. Files with other endings have lines."""
