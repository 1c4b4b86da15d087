"""Texts with a label each, for text classification: lines of label and text, CSV, TSV, or JSON Lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import ClassVar, Self

from attentionology.corpora_loaders.corpus import Corpus, CorpusFile, describe_file, read_files
from attentionology.corpora_loaders.describing import amount
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.labelled_formats import LabelledFile
from attentionology.corpora_loaders.lines import WHOLE_NUMBER
from attentionology.corpora_loaders.sentence import Sentence


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
        source = LabelledFile(path, label, text)
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
