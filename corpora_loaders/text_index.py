"""An index of plain text: what is known about the whole of it, and where to find each window of its paragraphs.

The index is made in one pass over the files, which keeps no paragraph. All errors of a text are found in that pass, and
they are those of `attentionology.corpora_loaders.load_text`. The index takes less than 1 kB for each window of 1,024
paragraphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from attentionology.corpora_loaders.corpus import CorpusFile, FileTally, digested_files
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lazy_sentences import WINDOW, in_windows
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.stamps import Stamp, check_stamp, stamp
from attentionology.corpora_loaders.text import BEGINNING, TextBookmark, bookmarked_paragraphs, names_of_files


@dataclass(frozen=True)
class ParagraphWindow:
    """Where a window of paragraphs begins.

    Attributes:
        file: the number of the file in which it begins, from 0.
        bookmark: where it begins in that file.
        skipped: the number of paragraphs of that file before it.
    """

    file: int
    bookmark: TextBookmark
    skipped: int


@dataclass(frozen=True)
class TextIndex:
    """Everything about a plain text except its paragraphs.

    Attributes:
        files: one record for each file.
        names: what ids call each file.
        stamps: the size and the time of modification of each file, by which a changed file is noticed.
        windows: the windows, which may reach from one file into the next.
        documents: the number of documents.

    Example:
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders.text_index import index_text
        >>> _ = Path("notes.txt").write_text("The first paragraph.\\nThe second one.\\n\\nAnother document.\\n")
        >>> index = index_text("notes.txt")
        >>> len(index), index.documents, len(index.windows)
        (3, 2, 1)
    """

    files: tuple[CorpusFile, ...]
    names: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    windows: tuple[ParagraphWindow, ...]
    documents: int

    def __len__(self) -> int:
        return sum(file.sentences for file in self.files)

    def first_file(self, window: int) -> int:
        """The number of the file in which a window begins, from 0."""
        return self.windows[window].file

    def sentences_from(self, window: int) -> Iterator[Sentence]:
        """The paragraphs from the beginning of a window to the end of the text."""
        start = self.windows[window]
        bookmark, skipped = start.bookmark, start.skipped
        for file, name in zip(self.files[start.file :], self.names[start.file :], strict=True):
            for paragraph, _ in islice(bookmarked_paragraphs(file.path, name, bookmark), file.sentences - skipped):
                yield paragraph
            bookmark, skipped = BEGINNING, 0

    def with_ids(self, window: int, sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
        """The paragraphs themselves, because lines give them different ids."""
        del window
        return sentences


def index_text(paths: str | Path | Iterable[str | Path], *, limit: int | None = None) -> TextIndex:
    """Index text files.

    The arguments and errors are those of `attentionology.corpora_loaders.load_text`. In addition, a `CorpusError` says
    that a file was changed while it was read.
    """
    return index_and_keep(paths, limit=limit, keep=0)[0]


def index_and_keep(
    paths: str | Path | Iterable[str | Path], *, limit: int | None, keep: int
) -> tuple[TextIndex, dict[int, tuple[Sentence, ...]]]:
    """Index files, and return the paragraphs of the first ``keep`` windows too, by the numbers of the windows."""
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    name_of = names_of_files(paths)
    files: list[CorpusFile] = []
    names: list[str] = []
    stamps: list[Stamp] = []
    windows: list[ParagraphWindow] = []
    kept: list[Sentence] = []
    total = documents = 0

    def read(path: str | Path, limit_of_file: int | None) -> FileTally:
        nonlocal total, documents
        stamps.append(stamp(path))
        names.append(name_of(path))
        tally, before = FileTally(), BEGINNING
        for paragraph, after in islice(bookmarked_paragraphs(path, names[-1]), limit_of_file):
            if total % WINDOW == 0:
                windows.append(ParagraphWindow(len(stamps) - 1, before, len(tally)))
            if total < keep * WINDOW:
                kept.append(paragraph)
            documents += after.line == after.document
            tally.add(paragraph)
            total, before = total + 1, after
        return tally

    for number, (path, sha256, tally) in enumerate(digested_files(paths, read, limit)):
        if not tally.sentences:
            raise CorpusError("the file contains no text", file=path)
        files.append(tally.describe(path, sha256))
        check_stamp(path, stamps[number])
    index = TextIndex(tuple(files), tuple(names[: len(files)]), tuple(stamps), tuple(windows), documents)
    return index, in_windows(kept, WINDOW)
