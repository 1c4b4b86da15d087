"""Labeled texts for text classification, from CSV, TSV, JSON Lines, or lines of a label and a text."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from .corpus import DivisibleCorpus
from .describing import amount
from .errors import CorpusError
from .labeled_formats import LabeledFile
from .labeled_frames import FRAME, LabeledFrame, is_frame
from .labeled_reading import ReadText, Seen, texts_of
from .lines import WHOLE_NUMBER
from .stream import read_files
from .tally import CorpusFile, Tally


@dataclass(frozen=True, repr=False)
class LabeledTexts(DivisibleCorpus):
    """Texts with labels. Each text is a `Sentence` without a tree.

    Attributes:
        labels: the label of each text.
        queries: the words of the query that goes with each text, such as a question or a hypothesis; empty if texts
            have none.
        of_sentences: whether the "words" of a text are its sentences, because the files have documents.
        undecided: the number of pairs of SNLI without a label (``-``), which are left out.
        unlabeled: the number of texts that are left out because their label −1 means that there is no gold label.
        blank: the number of blank lines, which are skipped.
        wordless: ``file:line`` of the texts without words, which are skipped.
        headless: ``file:line`` of first lines that were read as texts, because columns were chosen by number.
        line_breaks: the number of line breaks of HTML, which are white space.
        markup: ``file:line`` of texts with other HTML, which is read as words.

    Raises:
        ValueError: there are not as many labels as texts, or queries, but not one for each text.

    Example:
        >>> from attentionology.corpora_loaders import LabeledTexts, Sentence
        >>> sentences = (Sentence("1", ("a", "fine", "film")), Sentence("2", ("dull",)))
        >>> texts = LabeledTexts(sentences, labels=("pos", "neg"))
        >>> texts
        LabeledTexts(2 texts, 4 words, 2 classes)
        >>> texts.balance()
        {'neg': 1, 'pos': 1}
    """

    unit: ClassVar[str] = "texts"
    limit_unit: ClassVar[str] = "texts"

    labels: tuple[str, ...] = ()
    queries: tuple[tuple[str, ...], ...] = ()
    of_sentences: bool = False
    undecided: int = 0
    blank: int = 0
    wordless: tuple[str, ...] = ()
    headless: tuple[str, ...] = ()
    unlabeled: int = 0
    line_breaks: int = 0
    markup: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.sentences):
            raise ValueError(f"{len(self.sentences)} texts but {len(self.labels)} labels")
        if self.queries and len(self.queries) != len(self.sentences):
            raise ValueError(f"{len(self.sentences)} texts but {len(self.queries)} queries")

    def _amounts(self) -> list[str]:
        """Return the amounts that `repr` shows: texts, words and classes."""
        return [*super()._amounts(), amount(len(set(self.labels)), "classes", "class")]

    @property
    def reads(self) -> Literal["words", "queries", "sentences"]:
        """What a model attends to: words, the words of a text given a query, or the sentences of a document."""
        return "sentences" if self.of_sentences else "queries" if self.queries else "words"

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that occur, in numerical order if all are whole numbers, otherwise in alphabetical order."""
        are_numbers = all(WHOLE_NUMBER.fullmatch(label.removeprefix("-")) for label in set(self.labels))
        return tuple(sorted(set(self.labels), key=lambda label: (int(label) if are_numbers else 0, label)))

    def balance(self) -> dict[str, int]:
        """Return the number of texts of each class, in the order of `classes`."""
        counts = Counter(self.labels)
        return {label: counts[label] for label in self.classes}

    def subset(self, indices: Sequence[int]) -> Self:
        """Return the texts with these indices, in this order. The records of files and skipped lines stay the same."""
        sentences = tuple(self.sentences[index] for index in indices)
        labels = tuple(self.labels[index] for index in indices)
        queries = tuple(self.queries[index] for index in indices) if self.queries else ()
        return replace(self, sentences=sentences, labels=labels, queries=queries)

    def _part(self, index: slice) -> Self:
        return self.subset(range(len(self))[index])

    def kept(self, min_words: int | None, max_words: int | None) -> tuple[Self, int, int]:
        """Select the texts with ``min_words`` to ``max_words`` words, both inclusive; None is no bound.

        Returns the selected texts, the number of texts that are too short, and the number of those that are too long.
        """
        lengths = [len(text) for text in self]
        low, high = min_words or 0, inf if max_words is None else max_words
        fitting = self.subset([index for index, length in enumerate(lengths) if low <= length <= high])
        too_short = sum(length < low for length in lengths)
        return fitting, too_short, len(self) - len(fitting) - too_short

    def counts(self) -> dict[str, int]:
        """Return numbers of sentences, words, documents, classes, repeated texts, and skipped lines."""
        labels_of: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}  # by the words of text and query
        for text, query, label in zip(self, self.queries or [()] * len(self), self.labels, strict=True):
            labels_of.setdefault((text.words, query), []).append(label)
        with_several_labels = [labels for labels in labels_of.values() if len(set(labels)) > 1]
        counts = super().counts()
        if self.of_sentences:  # the "words" of such texts are sentences
            counts["words"] = sum(len(" ".join(text.words).split()) for text in self)
        return {
            **counts,
            "classes": len(self.classes),
            "repeated_texts": len(self) - len(labels_of),
            "repeated_with_other_labels": sum(len(labels) - 1 for labels in with_several_labels),
            "blank_lines": self.blank,
            "texts_without_words": len(self.wordless),
        }

    def remarks(self) -> list[str]:
        """Return remarks on skipped lines and repeated texts."""
        counts, remarks = self.counts(), self.remarks_on_words()
        if self.undecided:
            pairs = "Pairs without a label on which the annotators agreed, which were left out"
            remarks.append(f"{pairs}: {self.undecided:,}.")
        if self.unlabeled:
            remarks.append(f"Texts with the label -1, which means no gold label, left out: {self.unlabeled:,}.")
        elif set(self.labels) == {"-1", "0", "1"}:
            remarks.append("The label -1 is a class. If it means that there is no gold label, remove these texts.")
        if self.line_breaks:
            remarks.append(f"Line breaks of HTML (<br />), read as white space: {self.line_breaks:,}.")
        if self.markup:
            first = f"the first of {amount(len(self.markup), 'texts')} is {self.markup[0]}"
            remarks.append(f"Tags and entities of HTML are read as words; {first}.")
        if self.blank:
            remarks.append(f"Blank lines that were skipped: {self.blank:,}.")
        if self.wordless:
            skipped = amount(len(self.wordless), "texts without words were", "text without words was")
            remarks.append(f"{skipped} skipped; the first is {self.wordless[0]}.")
        if self.headless:
            why = "Columns were chosen by number, as in a file without a header, so the first line was read as a text"
            remarks.append(f"{why}: {', '.join(self.headless)}.")
        if counts["repeated_texts"]:
            remarks.append(
                f"Texts that repeat an earlier one: {counts['repeated_texts']:,}; of these, repeats of a text that "
                f"occurs with more than one label: {counts['repeated_with_other_labels']:,}."
            )
        return remarks


def load_labeled(
    paths: str | Path | Iterable[str | Path] | Any,
    *,
    text: str = "text",
    label: str = "label",
    query: str | None = None,
    blocks: bool = False,
    limit: int | None = None,
) -> LabeledTexts:
    """Read labeled texts in UTF-8, with or without queries, which may be compressed with gzip, bzip2, xz or zip.

    The name of a file determines its format:

    * ``.csv``, ``.tsv``: a header names the columns. For a file without a header, give both ``text`` and ``label`` as
      column numbers, counted from 1. (If the first line has both numbers as names, it is still a header.) In TSV,
      quotes have no special meaning.
    * ``.jsonl``, ``.json``: each line is an object. The text may be a list of words. The keys of SNLI (``gold_label``,
      ``sentence1``, ``sentence2``) are known: the premise is the text, the hypothesis is the query, and words are the
      leaves of the binary parse, if there is one. An object with the key ``sentences`` in place of the text is a
      document: a list of sentences, which take the place of words.
    * any other name: each line is a label, a space or tab, and the text; or the file has the stories of bAbI, whose
      lines are numbered: the text is the story so far, the question is the query, and the answer is the label.

    Words are separated by white space, in bAbI also at punctuation. Line breaks of HTML (``<br />``), as in the texts
    of IMDB, are white space. The id of a text is ``file:line``. Blank lines and texts without words are skipped, and so
    are texts without a gold label: pairs labeled ``-``, and in files whose other labels are counted from 0 to 2 or
    more, those labeled −1, as Hugging Face exports SNLI.

    Texts that are in memory already are given as a data frame, whose rows are read like those of a table.

    Args:
        paths: one file or several; or a data frame of pandas, or a table with a method ``to_pandas``, as data sets of
            Hugging Face have it.
        text, label: the names or the numbers of the columns, or the names of the keys.
        query: the same for the query that goes with each text; None if texts have none.
        blocks: files of lines have documents: blocks between blank lines with a sentence in each line, the first of
            which begins with the label and a space or tab.
        limit: read at most this many texts.

    Raises:
        ValueError: two of text, label and query are the same column, no file is given, or the limit is less than 1.
        CorpusError: a file is not in its format, a label or a query is empty, some texts have queries and others have
            none, a file has no text, or two files are the same.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology import load_labeled
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "reviews.csv")
        ...     _ = path.write_text("text,label\\na fine film,1\\na dull film,0\\n")
        ...     texts = load_labeled(path)
        >>> texts.labels, texts[0].words
        (('1', '0'), ('a', 'fine', 'film'))
    """
    columns = [column for column in (text, label, query) if column is not None]
    keys = [int(column) if WHOLE_NUMBER.fullmatch(column) else column for column in columns]  # 1 and 01 are one column
    for column, key in zip(columns, keys, strict=True):
        if keys.count(key) > 1:
            raise ValueError(f"text, label and query must be different columns, not both {column!r}")
    if is_frame(paths):
        return _of_frame(paths, LabeledFile(FRAME, label, text, query), limit)
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    file_names = [Path(path).name for path in paths]
    seen, tally = Seen(), Tally()

    def read(path: str, _: None) -> Iterator[tuple[ReadText, None]]:
        """Yield the texts of a file, and None for their places: as all texts are held, no file is read again."""
        file_name = Path(path).name
        name = file_name if file_names.count(file_name) == 1 else path
        for read_text in texts_of(LabeledFile(path, label, text, query, in_blocks=blocks), name, seen):
            yield read_text, None

    def add(text: ReadText) -> ReadText:
        sentence = text.sentence
        # The words of documents are counted, and not only their sentences.
        tally.add(replace(sentence, words=tuple(" ".join(sentence.words).split())) if text.is_document else sentence)
        return text

    _, records, held = read_files(paths, read, add, tally, contents="text", limit=limit, hold=sys.maxsize)
    texts = _texts(held, seen, records)
    return texts.knowing(counted=tally.summarize())


def _of_frame(table: Any, columns: LabeledFile, limit: int | None) -> LabeledTexts:
    """Return the texts in the rows of a data frame."""
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    seen, rows = Seen(), LabeledFrame(FRAME, columns.label, columns.text, columns.query, frame=frame)
    held = tuple(islice(texts_of(rows, "row", seen), limit))
    if not held:
        raise CorpusError("there is no text in it", file=FRAME)
    return _texts(held, seen, ())


def _texts(held: Sequence[ReadText], seen: Seen, records: tuple[CorpusFile, ...]) -> LabeledTexts:
    """Return texts together with what else was seen when they were read."""
    sentences, labels, queries, _ = zip(*held, strict=True)
    if any(queries) and not all(queries):
        without_query = sentences[queries.index(())]
        message = "this text has no query, and others have one"
        raise CorpusError(message, file=without_query.file, line=without_query.line)
    if seen.documents and len(seen.documents) < len(sentences) + len(seen.wordless):
        raise CorpusError(f"some texts are lists of sentences, as that of {seen.documents[0]}, and others are not")
    return LabeledTexts(
        sentences,
        records,
        labels,
        queries if any(queries) else (),
        of_sentences=bool(seen.documents),
        undecided=seen.undecided,
        blank=seen.blank,
        wordless=tuple(seen.wordless),
        headless=tuple(seen.headless),
        unlabeled=seen.unlabeled,
        line_breaks=seen.line_breaks,
        markup=tuple(seen.markup),
    )
