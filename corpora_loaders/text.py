"""Plain text: one paragraph per line, a blank line between documents."""

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
    """Paragraphs as "sentences" whose words are what stands between blanks; no trees.

    The words are there for the tokenizer, which cuts them further: punctuation is still attached to them, so analyse
    plain text at token level.
    """

    unit: ClassVar[str] = "paragraphs"
    limit_unit: ClassVar[str] = "paragraphs"

    def documents(self) -> list[tuple[Sentence, ...]]:
        """The paragraphs of each document, in file order."""
        found: dict[str | None, list[Sentence]] = {}
        for paragraph in self:
            found.setdefault(paragraph.document, []).append(paragraph)
        return [tuple(paragraphs) for paragraphs in found.values()]


def load_text(paths: str | Path | Iterable[str | Path], *, limit: int | None = None) -> PlainText:
    """Read UTF-8 text files, plain or ``.gz``: one paragraph per line, blank lines between documents.

    A document ends with its file too, whether or not a blank line follows. Ids are ``file:line``.

    Args:
        paths: one file or several.
        limit: take the first so many paragraphs only.

    Raises:
        CorpusError: a file cannot be read or holds nothing but white space, or two files are the same.
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    names = [Path(path).name for path in paths]

    def read(path: str | Path) -> Iterator[Sentence]:
        name = Path(path).name
        return _paragraphs(path, name if names.count(name) == 1 else str(path))

    sentences: list[Sentence] = []
    files: list[CorpusFile] = []
    for path, sha256, own in read_files(paths, read, limit):
        if not own:
            raise CorpusError("there is no text in it", file=path)
        files.append(describe_file(path, sha256, own))
        sentences += own
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
