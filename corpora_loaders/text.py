"""Plain text: one paragraph per line, and blank lines between documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from .corpus import DivisibleCorpus, Tally
from .lines import text_lines
from .sentence import Sentence
from .stream import Files, Stream, read_files
from .strings import load_string


@dataclass(frozen=True, repr=False)
class PlainText(DivisibleCorpus):
    """Paragraphs of plain text. Each is a `Sentence` without a tree, whose words are separated by white space.

    The words are only meant for the tokenizer, which splits them further. Punctuation is still attached to them, so
    analyze plain text at token level.

    Example:
        >>> from attentionology.corpora_loaders import PlainText, Sentence
        >>> hello, bye = Sentence("p1", ("Hello", "there."), document="d"), Sentence("p2", ("Bye.",), document="d")
        >>> text = PlainText((hello, bye))
        >>> text
        PlainText(2 paragraphs, 3 words)
        >>> [len(paragraphs) for paragraphs in text.documents()]
        [2]
    """

    unit: ClassVar[str] = "paragraphs"
    limit_unit: ClassVar[str] = "paragraphs"
    has_heads: ClassVar[bool] = False

    def documents(self) -> list[tuple[Sentence, ...]]:
        """The paragraphs of each document, in file order."""
        by_document: dict[str | None, list[Sentence]] = {}
        for paragraph in self:
            by_document.setdefault(paragraph.document, []).append(paragraph)
        return [tuple(paragraphs) for paragraphs in by_document.values()]

    def each_document(self) -> Iterator[tuple[Sentence, ...]]:
        """Yield the paragraphs of each document, in file order."""
        if not isinstance(self.sentences, Stream):  # made by hand: the paragraphs of a document may be apart
            yield from self.documents()
            return
        for _, paragraphs in groupby(self.sentences, lambda paragraph: paragraph.document):
            yield tuple(paragraphs)


def load_text(
    paths: str | Path | Iterable[str | Path] = (), *, from_string: str | None = None, limit: int | None = None
) -> PlainText:
    """Read text files with one paragraph per line and blank lines between documents.

    The files are in UTF-8 and may be compressed with gzip, bzip2, xz or zip. A document also ends at the end of its
    file. The id of a paragraph is ``file:line``, and the id of a document is that of its first paragraph. All errors of
    the files are found at once. The paragraphs of small texts are held in memory; those of others are read again
    whenever they are asked for, see `attentionology.corpora_loaders.stream`.

    Args:
        paths: one file or several.
        from_string: the text itself, in place of files.
        limit: read at most this many paragraphs.

    Raises:
        ValueError: no file is given, or files and a string are, or the limit is less than 1.
        CorpusError: a file cannot be read or contains only white space, or two files are the same.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attentionology import load_text
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "notes.txt")
        ...     _ = path.write_text("The first paragraph.\\nThe second one.\\n\\nAnother document.\\n")
        ...     text = load_text(path)
        >>> text
        PlainText(3 paragraphs, 8 words, 'notes.txt')
        >>> [paragraph.document for paragraph in text]
        ['notes.txt:1', 'notes.txt:1', 'notes.txt:4']
        >>> load_text(from_string="The first paragraph.\\n\\nAnother document.\\n")
        PlainText(2 paragraphs, 5 words)
    """
    if from_string is not None:
        return load_string(lambda path: load_text(path, limit=limit), from_string, paths)
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    names = [Path(path).name for path in paths]
    reader = ParagraphReader(frozenset(name for name in names if names.count(name) > 1))
    tally = Tally()
    files, records, held = read_files(paths, reader, tally.add, tally, contents="text", limit=limit)
    return PlainText(Stream(Files(files), held=held), records).knowing(counted=tally.counted())


@dataclass(frozen=True)
class ParagraphReader:
    """Reads the paragraphs of a file from a place on, each with the place after it."""

    ambiguous: frozenset[str]  # the names that several files have, which ids call by their paths

    def __call__(self, path: str, place: Any) -> Iterator[tuple[Sentence, Any]]:
        """Yield the paragraphs with their places; None is the beginning of the file."""
        name = path if Path(path).name in self.ambiguous else Path(path).name
        # Bytes and lines before the place, and the line on which the document began that may go on there, 0 for none.
        offset, lines, document = place or (0, 0, 0)
        for number, following, line in text_lines(path, offset=offset, lines=lines):
            words = tuple(line.split())
            if not words:
                document = 0
                continue
            document = document or number
            paragraph = Sentence(
                f"{name}:{number}", words, document=f"{name}:{document}", file=path, line=number, text=line
            )
            yield paragraph, (following, number, document)


LazyText = PlainText  # deprecated, and removed in 0.4
open_text = load_text  # deprecated, and removed in 0.4
