"""The formats of labelled texts: what reads a file is looked up by how its name ends."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.json_lines import parse_json
from attentionology.corpora_loaders.lines import WHOLE_NUMBER, text_lines

Text = str | list[str]
"""Running text, or words."""

Record = tuple[int, str, Text]
"""The line where a text starts, its label, and the text."""

_BLANK_OR_TAB = re.compile(r"[ \t]")
_LONGEST_FIELD = 2**31 - 1
"""The csv module takes 131,072 characters by default, which is less than a long text has."""


@dataclass(frozen=True)
class LabelledFile:
    """A file, and what its label and text are called.

    To add a format, write a method that yields its records and add the ending to `FORMATS`.

    Attributes:
        path: of the file, or of one in a zip file.
        label, text: names or numbers of columns, or keys.
        headless: the first line, if columns are chosen by number because there is no header.
    """

    path: str | Path
    label: str
    text: str
    headless: list[int] = field(default_factory=list)

    def records(self) -> Iterator[Record | None]:
        """The texts with their lines and labels; None for a blank line."""
        return FORMATS[self._ending()](self)

    def csv_records(self) -> Iterator[Record | None]:
        """A CSV table with quotes."""
        return self._table(self._csv_rows())

    def tsv_records(self) -> Iterator[Record | None]:
        """A table with tabs between columns, in which quotes have no meaning."""
        return self._table((number, line.split("\t")) for number, line in text_lines(self.path))

    def json_records(self) -> Iterator[Record | None]:
        """A JSON object per line."""
        return self._by_line(self._json_fields)

    def plain_records(self) -> Iterator[Record | None]:
        """Lines of a label, a blank or tab, and the text."""
        return self._by_line(self._plain_fields)

    def fault(self, message: str, line: int) -> CorpusError:
        """An error of a line of the file."""
        return CorpusError(message, file=self.path, line=line)

    def _ending(self) -> str:
        """What the name of the file, or of what is in the zip file, ends in; ``""`` if that tells no format."""
        names = [str(self.path)]
        if Path(self.path).is_file():
            with suppress(OSError, RuntimeError, zipfile.BadZipFile), zipfile.ZipFile(self.path) as zipped:
                names += zipped.namelist()
        plain = [name.lower().removesuffix(".gz").removesuffix(".zip") for name in names]
        return next((ending for name in plain for ending in FORMATS if ending and name.endswith(ending)), "")

    def _by_line(self, fields: Callable[[int, str], tuple[str, Text]]) -> Iterator[Record | None]:
        for number, line in text_lines(self.path):
            yield (number, *fields(number, line)) if line.strip() else None

    def _plain_fields(self, number: int, line: str) -> tuple[str, Text]:
        label = _BLANK_OR_TAB.split(line, maxsplit=1)[0]
        return label, line[len(label) + 1 :]

    def _json_fields(self, number: int, line: str) -> tuple[str, Text]:
        try:
            found = parse_json(line)
        except ValueError as error:
            raise self.fault(f"expected a JSON object on every line: {error}", number) from error
        if not isinstance(found, dict):
            raise self.fault(f"expected a JSON object on every line, found {line[:60]}", number)
        self._check("keys", list(found), number)
        label, text = found[self.label], found[self.text]
        if not isinstance(label, str | int):
            raise self.fault(f"{self.label!r} must be a string, whole number or boolean, not {label!r:.60}", number)
        if not all(isinstance(part, str) for part in (text if isinstance(text, list) else [text])):
            raise self.fault(f"{self.text!r} must be a string or a list of strings, not {text!r:.60}", number)
        return label if isinstance(label, str) else json.dumps(label), text

    def _csv_rows(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader((line + "\n" for _, line in text_lines(self.path, returns=True)), strict=True)
        start, limit = 1, csv.field_size_limit(_LONGEST_FIELD)
        try:
            for row in reader:
                yield start, row
                start = reader.line_num + 1
        except csv.Error as error:
            expected = "a CSV record, with quotes around what holds a comma, quote or line end"
            raise self.fault(f"expected {expected}: {error}", start) from error
        finally:
            csv.field_size_limit(limit)

    def _table(self, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Record | None]:
        places, width = (-1, -1), 0
        header = ""
        for number, row in rows:
            if not any(map(str.strip, row)):
                yield None
                continue
            if not width:
                width = len(row)
                places, header = self._places(row, number)
                if header:
                    continue
            if len(row) != width:
                expected = f"{width} fields as in the {header or 'first line'}"
                raise self.fault(f"expected {expected}, found {len(row)}", number)
            yield number, row[places[0]], row[places[1]]

    def _places(self, row: list[str], number: int) -> tuple[tuple[int, int], str]:
        """Where label and text are, from 0, by the first row; and ``"header"`` if it is one."""
        names = [name.strip() for name in row]
        given = (self.label, self.text)
        by_number = all(map(WHOLE_NUMBER.fullmatch, given)) and not set(given) <= set(names)
        if not by_number:
            self._check("columns", names, number)
            return (names.index(self.label), names.index(self.text)), "header"
        for column in given:
            if not 1 <= int(column) <= len(row):
                raise self.fault(f"there is no column {column}; there are {len(row)}, counted from 1", number)
        self.headless.append(number)
        return (int(self.label) - 1, int(self.text) - 1), ""

    def _check(self, what: str, found: list[str], number: int) -> None:
        if found.count(self.text) != 1 or found.count(self.label) != 1:
            listed = ", ".join(map(repr, found))[:200] or "none"
            advice = "name those to read with text= and label= (--text-column, --label-column)"
            raise self.fault(f"expected {what} {self.text!r} and {self.label!r}, found {listed}; {advice}", number)


FORMATS: Mapping[str, Callable[[LabelledFile], Iterator[Record | None]]] = {
    ".csv": LabelledFile.csv_records,
    ".tsv": LabelledFile.tsv_records,
    ".jsonl": LabelledFile.json_records,
    ".json": LabelledFile.json_records,
    "": LabelledFile.plain_records,
}
"""What reads a file, by how its name ends."""
