"""Plain text: one paragraph per line, and blank lines between documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from attentionology.corpora_loaders.corpus import Corpus, CorpusFile, describe_file, read_files
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lines import text_lines
from attentionology.corpora_loaders.sentence import Sentence


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

    def documents(self) -> list[tuple[Sentence, ...]]:
        """The paragraphs of each document, in file order."""
        by_document: dict[str | None, list[Sentence]] = {}
        for paragraph in self:
            by_document.setdefault(paragraph.document, []).append(paragraph)
        return [tuple(paragraphs) for paragraphs in by_document.values()]


def load_text(paths: str | Path | Iterable[str | Path], *, limit: int | None = None) -> PlainText:
    """Read text files with one paragraph per line and blank lines between documents.

    The files are in UTF-8 and may be compressed with gzip or zip. A document also ends at the end of its file. The id
    of a paragraph is ``file:line``, and the id of a document is that of its first paragraph.

    Args:
        paths: one file or several.
        limit: read at most this many paragraphs.

    Raises:
        ValueError: no file is given, or the limit is less than 1.
        CorpusError: a file cannot be read or holds nothing but white space, or two files are the same.

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
    names = [Path(path).name for path in paths]

    def read(path: str | Path) -> Iterator[Sentence]:
        name = Path(path).name
        return _paragraphs(path, name if names.count(name) == 1 else str(path))

    sentences: list[Sentence] = []
    files: list[CorpusFile] = []
    for path, sha256, paragraphs in read_files(paths, read, limit):
        if not paragraphs:
            raise CorpusError("the file holds no text", file=path)
        files.append(describe_file(path, sha256, paragraphs))
        sentences += paragraphs
    return PlainText(tuple(sentences), tuple(files))


def _paragraphs(path: str | Path, name: str) -> Iterator[Sentence]:
    document = None
    for number, line in text_lines(path):
        words = tuple(line.split())
        if not words:
            document = None
            continue
        document = document or f"{name}:{number}"
        yield Sentence(f"{name}:{number}", words, document=document, file=str(path), line=number, text=line)
