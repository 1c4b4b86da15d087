"""An index of plain text: what is known about the whole of it, and where to find each window of its paragraphs.

All errors of a text are found when it is indexed, and they are those of `attentionology.corpora_loaders.load_text`. The
index takes less than 1 kB for each window of 1,024 paragraphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .corpus import FileTally
from .file_index import SerialIndex, index_files
from .sentence import Sentence
from .text import BEGINNING, TextBookmark, bookmarked_paragraphs, names_of_files


@dataclass(frozen=True)
class TextIndex(SerialIndex[Sentence, TextBookmark]):
    """Everything about a plain text except its paragraphs.

    Attributes:
        names: what ids call each file.
        documents: the number of documents.

    Example:
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.text_index import index_text
        >>> _ = Path("notes.txt").write_text("The first paragraph.\\nThe second one.\\n\\nAnother document.\\n")
        >>> index, _ = index_text("notes.txt")
        >>> len(index), index.documents, len(index.windows)
        (3, 2, 1)
    """

    names: tuple[str, ...]
    documents: int

    def read(self, number: int, mark: TextBookmark | None) -> Iterator[Sentence]:
        """Yield the paragraphs of a file."""
        for paragraph, _ in bookmarked_paragraphs(self.files[number].path, self.names[number], mark or BEGINNING):
            yield paragraph


def index_text(
    paths: str | Path | Iterable[str | Path], *, limit: int | None = None, keep: int = 0
) -> tuple[TextIndex, Mapping[int, tuple[Sentence, ...]]]:
    """Index text files, and return the paragraphs of the first ``keep`` windows too, by the numbers of the windows.

    The other arguments and the errors are those of `attentionology.corpora_loaders.load_text`. In addition, a
    `CorpusError` says that a file was changed while it was read.
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    name_of = names_of_files(paths)
    documents = 0

    def add(paragraph: Sentence, tally: FileTally) -> tuple[Sentence, int]:
        nonlocal documents
        documents += paragraph.document == paragraph.id  # the id of a document is that of its first paragraph
        tally.add(paragraph)
        return paragraph, 1

    def read(path: str | Path) -> Iterator[tuple[Sentence, TextBookmark]]:
        return bookmarked_paragraphs(path, name_of(path))

    indexed = index_files(paths, read, BEGINNING, add, contents="text", limit=limit, keep=keep)
    names = tuple(name_of(file.path) for file in indexed.files)
    return TextIndex(indexed.files, indexed.sources, indexed.windows, names, documents), indexed.kept
