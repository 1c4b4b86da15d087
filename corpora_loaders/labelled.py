"""Texts with a label each, for text classification: lines of label and text, CSV, TSV, or JSON Lines."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import ClassVar, Self

from attentionology.corpora_loaders.corpus import Corpus, CorpusFile, describe_file, read_files
from attentionology.corpora_loaders.describing import amount
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.json_lines import parse_json
from attentionology.corpora_loaders.lines import WHOLE_NUMBER, text_lines
from attentionology.corpora_loaders.sentence import Sentence

_Text = str | list[str]  # as running text or as words
_Record = tuple[int, str, _Text]

_BLANK_OR_TAB = re.compile(r"[ \t]")
_LONGEST_FIELD = 2**31 - 1
"""The csv module takes 131,072 characters by default, which is less than a long text has."""


@dataclass(frozen=True, repr=False)
class LabelledTexts(Corpus):
    """Texts as "sentences", each with its class; no trees.

    Attributes:
        labels: one per text.
        blank: number of blank lines, which are skipped.
        wordless: ``file:line`` of the texts without a word, which are skipped.
        headless: ``file:line`` of first lines that were read as texts, because columns were chosen by number.
    """

    unit: ClassVar[str] = "texts"
    limit_unit: ClassVar[str] = "texts"

    labels: tuple[str, ...] = ()
    blank: int = 0
    wordless: tuple[str, ...] = ()
    headless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.labels) != len(self.sentences):
            raise ValueError(f"{len(self.sentences)} texts but {len(self.labels)} labels")

    def _amounts(self) -> list[str]:
        """Texts, words and classes."""
        return [*super()._amounts(), amount(len(set(self.labels)), "classes", "class")]

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that occur, in numerical order if all are whole numbers, else in alphabetical order."""
        whole = all(WHOLE_NUMBER.fullmatch(label.removeprefix("-")) for label in set(self.labels))
        return tuple(sorted(set(self.labels), key=lambda label: (int(label) if whole else 0, label)))

    def balance(self) -> dict[str, int]:
        """Number of texts per class, in the order of `classes`."""
        counts = Counter(self.labels)
        return {label: counts[label] for label in self.classes}

    def subset(self, places: Sequence[int]) -> Self:
        """The texts at these places (from 0), in this order; files and what was skipped stay as they were read."""
        sentences = tuple(self.sentences[place] for place in places)
        return replace(self, sentences=sentences, labels=tuple(self.labels[place] for place in places))

    def kept(self, min_words: int | None, max_words: int | None) -> tuple[Self, int, int]:
        """The texts of so many words, both bounds included; how many are too short, and how many too long."""
        lengths = [len(text) for text in self]
        low, high = min_words or 0, inf if max_words is None else max_words
        fitting = self.subset([place for place, length in enumerate(lengths) if low <= length <= high])
        short = sum(length < low for length in lengths)
        return fitting, short, len(self) - len(fitting) - short

    def counts(self) -> dict[str, int]:
        """Sentences, words, documents, classes, what is repeated and what was skipped."""
        labels_of: dict[tuple[str, ...], list[str]] = {}
        for text, label in zip(self, self.labels, strict=True):
            labels_of.setdefault(text.words, []).append(label)
        return {
            **super().counts(),
            "classes": len(self.classes),
            "repeated_texts": sum(len(labels) - 1 for labels in labels_of.values()),
            "repeated_with_other_labels": sum(len(own) - 1 for own in labels_of.values() if len(set(own)) > 1),
            "blank_lines": self.blank,
            "texts_without_words": len(self.wordless),
        }

    def remarks(self) -> list[str]:
        """What was skipped, and which texts there are more than once."""
        counts = self.counts()
        remarks = []
        if self.blank:
            remarks.append(f"Blank lines that were skipped: {self.blank:,}.")
        if number := len(self.wordless):
            remarks.append(f"{number:,} texts without a word were skipped, the first is {self.wordless[0]}.")
        if self.headless:
            remarks.append(
                "Columns were chosen by number, as in a file without a header, so the first line was read as a text: "
                f"{', '.join(self.headless)}."
            )
        if counts["repeated_texts"]:
            remarks.append(
                f"Texts that repeat an earlier one: {counts['repeated_texts']:,}; of these, repeats of a text that "
                f"occurs with more than one label: {counts['repeated_with_other_labels']:,}."
            )
        return remarks


def load_labelled(
    paths: str | Path | Iterable[str | Path], *, text: str = "text", label: str = "label", limit: int | None = None
) -> LabelledTexts:
    """Read labelled texts in UTF-8, plain or in a gzip or zip file; the name tells the format.

    * ``.csv``, ``.tsv``: a header names the columns. Without a header, ``text`` and ``label`` are both the numbers of
      columns, counted from 1; a first line that has both numbers as names is a header all the same. Quotes have no
      meaning in TSV.
    * ``.jsonl``, ``.json``: an object per line. The text may be a list of words.
    * any other: lines of a label, a blank or tab, and the text.

    Words are what stands between white space. Ids are ``file:line``. Blank lines and texts without a word are skipped.

    Args:
        paths: one file or several.
        text, label: what their columns or keys are called; or the numbers of columns.
        limit: take the first so many texts only.

    Raises:
        ValueError: text and label are the same column, no file, or a limit below 1.
        CorpusError: a file is not in its format, a label is empty, a file has no text, or two files are the same.
    """
    if text == label or (all(map(WHOLE_NUMBER.fullmatch, (text, label))) and int(text) == int(label)):
        raise ValueError(f"text and label must be two columns, not both {text!r}")
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    names = [Path(path).name for path in paths]
    blank = 0
    wordless: list[str] = []
    headless: list[str] = []

    def read(path: str | Path) -> Iterator[tuple[Sentence, str]]:
        nonlocal blank
        name = Path(path).name if names.count(Path(path).name) == 1 else str(path)
        source = _Source(path, label, text)
        for record in source.records():
            if record is None:
                blank += 1
                continue
            line, found, content = record
            if not found.strip():
                raise source.fault("expected a label, found an empty one", line)
            if found.startswith("\ufeff"):
                raise source.fault("a byte-order mark before the label; were files put together?", line)
            words = content.split() if isinstance(content, str) else [word for word in content if word.strip()]
            if words:
                running = content if isinstance(content, str) else " ".join(words)
                yield Sentence(f"{name}:{line}", tuple(words), text=running, file=str(path), line=line), found.strip()
            else:
                wordless.append(f"{path}:{line}")
        headless.extend(f"{path}:{line}" for line in source.headless)

    texts: list[tuple[Sentence, str]] = []
    files: list[CorpusFile] = []
    for path, sha256, own in read_files(paths, read, limit):
        if not own:
            raise CorpusError("there is no text in it", file=path)
        files.append(describe_file(path, sha256, [sentence for sentence, _ in own]))
        texts += own
    sentences, labels = zip(*texts, strict=True)
    return LabelledTexts(sentences, tuple(files), labels, blank, tuple(wordless), tuple(headless))


@dataclass(frozen=True)
class _Source:
    """A file, and what its label and text are called.

    Attributes:
        path: of the file, or of one in a zip file.
        label, text: names or numbers of columns, or keys.
        headless: the first line, if columns are chosen by number because there is no header.
    """

    path: str | Path
    label: str
    text: str
    headless: list[int] = field(default_factory=list)

    def records(self) -> Iterator[_Record | None]:
        """Each with the line where it starts; None for a blank line."""
        return _FORMATS[self._ending()](self)

    def csv_records(self) -> Iterator[_Record | None]:
        return self._table(self._csv_rows())

    def tsv_records(self) -> Iterator[_Record | None]:
        return self._table((number, line.split("\t")) for number, line in text_lines(self.path))

    def json_records(self) -> Iterator[_Record | None]:
        return self._by_line(self._json_fields)

    def plain_records(self) -> Iterator[_Record | None]:
        return self._by_line(self._plain_fields)

    def fault(self, message: str, line: int) -> CorpusError:
        return CorpusError(message, file=self.path, line=line)

    def _ending(self) -> str:
        """What the name of the file, or of what is in the zip file, ends in; ``""`` if that tells no format."""
        names = [str(self.path)]
        if Path(self.path).is_file():
            with suppress(OSError, RuntimeError, zipfile.BadZipFile), zipfile.ZipFile(self.path) as zipped:
                names += zipped.namelist()
        plain = [name.lower().removesuffix(".gz").removesuffix(".zip") for name in names]
        return next((ending for name in plain for ending in _FORMATS if ending and name.endswith(ending)), "")

    def _by_line(self, fields: Callable[[int, str], tuple[str, _Text]]) -> Iterator[_Record | None]:
        for number, line in text_lines(self.path):
            yield (number, *fields(number, line)) if line.strip() else None

    def _plain_fields(self, number: int, line: str) -> tuple[str, _Text]:
        label = _BLANK_OR_TAB.split(line, maxsplit=1)[0]
        return label, line[len(label) + 1 :]

    def _json_fields(self, number: int, line: str) -> tuple[str, _Text]:
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

    def _table(self, rows: Iterator[tuple[int, list[str]]]) -> Iterator[_Record | None]:
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


_FORMATS: Mapping[str, Callable[[_Source], Iterator[_Record | None]]] = {
    ".csv": _Source.csv_records,
    ".tsv": _Source.tsv_records,
    ".jsonl": _Source.json_records,
    ".json": _Source.json_records,
    "": _Source.plain_records,
}
"""What reads a file, by how its name ends."""
