"""Plain text: one paragraph per line, and blank lines between documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from .corpus import Corpus, CorpusFile, describe_file, read_files
from .errors import CorpusError
from .lines import located_text_lines
from .sentence import Sentence


@dataclass(frozen=True, repr=False)
class PlainText(Corpus):
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
        yield from self.documents()


def load_text(paths: str | Path | Iterable[str | Path], *, limit: int | None = None) -> PlainText:
    """Read text files with one paragraph per line and blank lines between documents.

    The files are in UTF-8 and may be compressed with gzip, bzip2, xz or zip. A document also ends at the end of its
    file. The id of a paragraph is ``file:line``, and the id of a document is that of its first paragraph.

    Args:
        paths: one file or several.
        limit: read at most this many paragraphs.

    Raises:
        ValueError: no file is given, or the limit is less than 1.
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
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    name_of = names_of_files(paths)

    def read(path: str | Path) -> Iterator[Sentence]:
        return (paragraph for paragraph, _ in bookmarked_paragraphs(path, name_of(path)))

    sentences: list[Sentence] = []
    files: list[CorpusFile] = []
    for path, sha256, paragraphs in read_files(paths, read, limit):
        if not paragraphs:
            raise CorpusError("the file contains no text", file=path)
        files.append(describe_file(path, sha256, paragraphs))
        sentences += paragraphs
    return PlainText(tuple(sentences), tuple(files))


def names_of_files(paths: Sequence[str | Path]) -> Callable[[str | Path], str]:
    """Return a function that names a file in ids: by its path if other files have the same name, else by its name."""
    names = [Path(path).name for path in paths]

    def name_of(path: str | Path) -> str:
        name = Path(path).name
        return name if names.count(name) == 1 else str(path)

    return name_of


class TextBookmark(NamedTuple):
    """A position after a paragraph of a file, from which reading can be resumed.

    Attributes:
        offset: the number of bytes before the position, see `attentionology.corpora_loaders.lines.located_lines`.
        line: the number of lines before it.
        document: the line on which the document begins that may go on at the position; 0 if there is none.
    """

    offset: int = 0
    line: int = 0
    document: int = 0


BEGINNING = TextBookmark()
"""The position before the first paragraph."""


def bookmarked_paragraphs(
    path: str | Path, name: str, start: TextBookmark = BEGINNING
) -> Iterator[tuple[Sentence, TextBookmark]]:
    """Yield the paragraphs of a file from a position on, each with the position after it; see `load_text`.

    Args:
        path: the file.
        name: what ids call the file.
        start: the beginning of the file, or a position that was yielded before.

    Raises:
        CorpusError: the file cannot be read.
    """
    document = start.document
    for number, offset, line in located_text_lines(path, offset=start.offset, lines=start.line):
        words = tuple(line.split())
        if not words:
            document = 0
            continue
        document = document or number
        paragraph = Sentence(
            f"{name}:{number}", words, document=f"{name}:{document}", file=str(path), line=number, text=line
        )
        yield paragraph, TextBookmark(offset, number, document)
