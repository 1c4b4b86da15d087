"""The texts of one file of labeled texts, and what else it has: texts without a label, without words, or with HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from .labeled_formats import UNDECIDED, LabeledFile
from .lines import WHOLE_NUMBER
from .sentence import Sentence

_NO_LABEL = "-1"
_LINE_BREAK = re.compile(r"<\s*br\s*/?\s*>", re.IGNORECASE)
_MARKUP = re.compile(
    r"</?(?:p|div|span|i|b|em|strong|a|u|s|hr|img|ul|ol|li|table|tr|td|h[1-6]|blockquote|pre|code)(?:\s[^<>]{0,500})?/?>"
    r"|&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{1,6}|#x[0-9a-f]{1,6});",
    re.IGNORECASE,
)


class ReadText(NamedTuple):
    """A text as it was read."""

    sentence: Sentence
    label: str
    query: tuple[str, ...]
    is_document: bool


@dataclass
class Seen:
    """What the files have besides usual texts: numbers, or ``file:line`` of each."""

    undecided: int = 0
    unlabeled: int = 0
    blank: int = 0
    line_breaks: int = 0
    wordless: list[str] = field(default_factory=list)
    headless: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    markup: list[str] = field(default_factory=list)


def texts_of(source: LabeledFile, name: str, seen: Seen) -> Iterator[ReadText]:
    """Yield the texts of a file, whose ids begin with this name, and note in ``seen`` what else there is."""
    path = str(source.path)
    has_no_label: bool | None = None  # whether −1 means that there is no gold label, once a text has this label
    for record in source.records():
        if record is None:  # a blank line
            seen.blank += 1
            continue
        line, label, content, query = record
        location = f"{path}:{line}"
        if line in source.headless:  # there is one at most
            seen.headless.append(location)
        if source.documents[-1:] == [line]:  # the reader has just noted that this record is a document
            seen.documents.append(location)
        if not label.strip():
            raise source.fault("the label is empty", line)
        if "\0" in label:
            raise source.fault("the label has a NUL character, which is not text", line)
        if label.startswith("\ufeff"):
            raise source.fault("there is a byte-order mark before the label; were files concatenated?", line)
        if query is not None and label == UNDECIDED:
            seen.undecided += 1
            continue
        if label.strip() == _NO_LABEL:
            has_no_label = _is_no_class(source) if has_no_label is None else has_no_label
            if has_no_label:
                seen.unlabeled += 1
                continue
        content, query = _without_breaks(content, seen), None if query is None else _without_breaks(query, seen)
        if any(isinstance(text, str) and _MARKUP.search(text) for text in (content, query)):
            seen.markup.append(location)
        words, query_words = _words(content), _words(query or ())
        if query is not None and not query_words:
            raise source.fault("the query is empty", line)
        if words:
            text = content if isinstance(content, str) else " ".join(words)
            sentence = Sentence(f"{name}:{line}", words, text=text, file=path, line=line)
            yield ReadText(sentence, label.strip(), query_words, bool(source.documents))
        else:
            seen.wordless.append(location)


def _is_no_class(source: LabeledFile) -> bool:
    """Whether the label −1 of a file means that there is no gold label: the others are numbers from 0 to 2 or more.

    Classes that are counted from 0 have no −1, which Hugging Face writes for texts without a gold label. Three classes
    may be called −1, 0 and 1, so −1 is a class beside these two.
    """
    records = replace(source, headless=[], documents=[]).records()
    labels = {record[1].strip() for record in records if record is not None} - {_NO_LABEL}
    return all(map(WHOLE_NUMBER.fullmatch, labels)) and max(map(int, labels), default=0) >= 2


def _without_breaks(text: str | list[str], seen: Seen) -> str | list[str]:
    """Return running text with white space in place of line breaks of HTML, which are counted; words as they are."""
    if not isinstance(text, str):
        return text
    text, n_breaks = _LINE_BREAK.subn(" ", text)
    seen.line_breaks += n_breaks
    return text


def _words(text: str | Iterable[str]) -> tuple[str, ...]:
    """Return the words of running text, or those words of a list that are not blank."""
    return tuple(text.split() if isinstance(text, str) else [word for word in text if word.strip()])
