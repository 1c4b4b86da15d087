"""Labeled texts for text classification, from CSV, TSV, JSON Lines, or lines of a label and a text."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import ClassVar, Self

from .corpus import DivisibleCorpus, Tally
from .describing import amount
from .labelled_formats import LabelledFile
from .lines import WHOLE_NUMBER
from .sentence import Sentence
from .stream import read_files


@dataclass(frozen=True, repr=False)
class LabelledTexts(DivisibleCorpus):
    """Texts with labels. Each text is a `Sentence` without a tree.

    Attributes:
        labels: the label of each text.
        blank: the number of blank lines, which are skipped.
        wordless: ``file:line`` of the texts without words, which are skipped.
        headless: ``file:line`` of first lines that were read as texts, because columns were chosen by number.

    Raises:
        ValueError: there are not as many labels as texts.

    Example:
        >>> from attentionology.corpora_loaders import LabelledTexts, Sentence
        >>> sentences = (Sentence("1", ("a", "fine", "film")), Sentence("2", ("dull",)))
        >>> texts = LabelledTexts(sentences, labels=("pos", "neg"))
        >>> texts
        LabelledTexts(2 texts, 4 words, 2 classes)
        >>> texts.balance()
        {'neg': 1, 'pos': 1}
    """

    unit: ClassVar[str] = "texts"
    limit_unit: ClassVar[str] = "texts"

    labels: tuple[str, ...] = ()
    blank: int = 0
    wordless: tuple[str, ...] = ()
    headless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.sentences):
            raise ValueError(f"{len(self.sentences)} texts but {len(self.labels)} labels")

    def _amounts(self) -> list[str]:
        """The amounts that `repr` shows: texts, words and classes."""
        return [*super()._amounts(), amount(len(set(self.labels)), "classes", "class")]

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that occur, in numerical order if all are whole numbers, otherwise in alphabetical order."""
        whole = all(WHOLE_NUMBER.fullmatch(label.removeprefix("-")) for label in set(self.labels))
        return tuple(sorted(set(self.labels), key=lambda label: (int(label) if whole else 0, label)))

    def balance(self) -> dict[str, int]:
        """The number of texts of each class, in the order of `classes`."""
        counts = Counter(self.labels)
        return {label: counts[label] for label in self.classes}

    def subset(self, indices: Sequence[int]) -> Self:
        """The texts with these indices, in this order. The records of files and of skipped lines stay the same."""
        sentences = tuple(self.sentences[index] for index in indices)
        return replace(self, sentences=sentences, labels=tuple(self.labels[index] for index in indices))

    def _part(self, index: slice) -> Self:
        return self.subset(range(len(self))[index])

    def kept(self, min_words: int | None, max_words: int | None) -> tuple[Self, int, int]:
        """Select the texts whose length is within bounds.

        Args:
            min_words: the smallest number of words, inclusive; None for no bound.
            max_words: the largest number of words, inclusive; None for no bound.

        Returns:
            the selected texts, the number of texts that are too short, and the number of those that are too long.
        """
        lengths = [len(text) for text in self]
        low, high = min_words or 0, inf if max_words is None else max_words
        fitting = self.subset([index for index, length in enumerate(lengths) if low <= length <= high])
        too_short = sum(length < low for length in lengths)
        return fitting, too_short, len(self) - len(fitting) - too_short

    def counts(self) -> dict[str, int]:
        """Numbers of sentences, words, documents, classes, repeated texts, and skipped lines."""
        labels_of: dict[tuple[str, ...], list[str]] = {}
        for text, label in zip(self, self.labels, strict=True):
            labels_of.setdefault(text.words, []).append(label)
        return {
            **super().counts(),
            "classes": len(self.classes),
            "repeated_texts": sum(len(labels) - 1 for labels in labels_of.values()),
            "repeated_with_other_labels": sum(len(labels) - 1 for labels in labels_of.values() if len(set(labels)) > 1),
            "blank_lines": self.blank,
            "texts_without_words": len(self.wordless),
        }

    def remarks(self) -> list[str]:
        """Remarks on skipped lines and repeated texts."""
        counts = self.counts()
        remarks = []
        if self.blank:
            remarks.append(f"Blank lines that were skipped: {self.blank:,}.")
        if number := len(self.wordless):
            remarks.append(f"{number:,} texts without words were skipped; the first is {self.wordless[0]}.")
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
    """Read labeled texts in UTF-8, which may be compressed with gzip, bzip2, xz or zip.

    The name of a file determines its format:

    * ``.csv``, ``.tsv``: a header names the columns. For a file without a header, give both ``text`` and ``label`` as
      column numbers, counted from 1. (If the first line has both numbers as names, it is still a header.) In TSV,
      quotes have no special meaning.
    * ``.jsonl``, ``.json``: each line is an object. The text may be a list of words.
    * any other name: each line is a label, a space or tab, and the text.

    Words are separated by white space. The id of a text is ``file:line``. Blank lines and texts without words are
    skipped.

    Args:
        paths: one file or several.
        text, label: the names or the numbers of the columns, or the names of the keys.
        limit: read at most this many texts.

    Raises:
        ValueError: text and label are the same column, no file is given, or the limit is less than 1.
        CorpusError: a file is not in its format, a label is empty, a file has no text, or two files are the same.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology import load_labelled
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "reviews.csv")
        ...     _ = path.write_text("text,label\\na fine film,1\\na dull film,0\\n")
        ...     texts = load_labelled(path)
        >>> texts.labels, texts[0].words
        (('1', '0'), ('a', 'fine', 'film'))
    """
    if text == label or (all(map(WHOLE_NUMBER.fullmatch, (text, label))) and int(text) == int(label)):
        raise ValueError(f"text and label must be two columns, not both {text!r}")
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    names = [Path(path).name for path in paths]
    blank = 0
    wordless: list[str] = []
    headless: list[str] = []

    def read(path: str, _: None) -> Iterator[tuple[tuple[Sentence, str], None]]:
        nonlocal blank
        name = Path(path).name if names.count(Path(path).name) == 1 else path
        source = LabelledFile(path, label, text)
        for record in source.records():
            if record is None:
                blank += 1
                continue
            line, label_cell, content = record
            if not label_cell.strip():
                raise source.fault("the label is empty", line)
            if label_cell.startswith("\ufeff"):
                raise source.fault("there is a byte-order mark before the label; were files concatenated?", line)
            words = content.split() if isinstance(content, str) else [word for word in content if word.strip()]
            if words:
                running = content if isinstance(content, str) else " ".join(words)
                sentence = Sentence(f"{name}:{line}", tuple(words), text=running, file=path, line=line)
                yield (sentence, label_cell.strip()), None
            else:
                wordless.append(f"{path}:{line}")
        headless.extend(f"{path}:{line}" for line in source.headless)

    tally = Tally()

    def add(text: tuple[Sentence, str]) -> tuple[Sentence, str]:
        tally.add(text[0])
        return text

    _, records, held = read_files(paths, read, add, tally, contents="text", limit=limit, hold=sys.maxsize)
    sentences, labels = zip(*held, strict=True)
    texts = LabelledTexts(sentences, records, labels, blank, tuple(wordless), tuple(headless))
    return texts.knowing(counted=tally.counted())
