"""Plain text whose paragraphs stay in their files until they are needed.

A lazily read text keeps its index (`attentionology.corpora_loaders.text_index`), which takes a few bytes for each
paragraph, and a few windows of 1,024 paragraphs. Everything else is as in a loaded text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from . import file_index
from .describing import amount
from .lazy_items import LazyItems, WindowCache
from .sentence import Sentence
from .text import PlainText
from .text_index import TextIndex, index_text


@dataclass(frozen=True, repr=False)
class LazyText(PlainText):
    """Plain text whose paragraphs are read when they are asked for, see `open_text`.

    Attributes:
        sentences: the paragraphs, in file order.

    Example:
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders import LazyText, open_text
        >>> _ = Path("notes.txt").write_text("The first paragraph.\\nThe second one.\\n\\nAnother document.\\n")
        >>> text = open_text("notes.txt")
        >>> isinstance(text, LazyText), text.sentences
        (True, LazyItems(3 items))
    """

    sentences: LazyItems[Sentence, TextIndex]

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", Counter[str]())

    def each_document(self) -> Iterator[tuple[Sentence, ...]]:
        """Yield the paragraphs of each document, in file order."""
        for _, paragraphs in groupby(self, lambda paragraph: paragraph.document):
            yield tuple(paragraphs)

    def counts(self) -> dict[str, int]:
        """The numbers that `PlainText.counts` returns, without reading the paragraphs again."""
        words = sum(file.words for file in self.files)
        return {"sentences": len(self), "words": words, "documents": self.sentences.corpus_index.documents}

    def _amounts(self) -> list[str]:
        return [amount(len(self), self.unit), amount(self.counts()["words"], "words")]


def open_text(paths: str | Path | Iterable[str | Path], *, limit: int | None = None) -> LazyText:
    """Index text files, and return a text that reads its paragraphs when they are asked for.

    The files must stay as they are while the text is used. A `CorpusError` reports a file that has changed.

    The arguments and errors are those of `attentionology.corpora_loaders.load_text`. All errors of the files are raised
    here.

    Example:
        >>> from pathlib import Path
        >>> from attentionology.corpora_loaders import open_text
        >>> _ = Path("notes.txt").write_text("The first paragraph.\\nThe second one.\\n\\nAnother document.\\n")
        >>> text = open_text("notes.txt")
        >>> text
        LazyText(3 paragraphs, 8 words, 'notes.txt')
        >>> text[2].id, [len(document) for document in text.each_document()]
        ('notes.txt:4', [2, 1])
    """
    index, first_windows = index_text(paths, limit=limit, keep=file_index.KEPT_WINDOWS)
    return LazyText(LazyItems(index, cache=WindowCache(index, first_windows)), index.files)
