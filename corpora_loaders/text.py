"""Plain text: one paragraph per line, a blank line between documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from corpora_loaders.corpus import Corpus, CorpusFile, refuse_twins
from corpora_loaders.errors import CorpusError
from corpora_loaders.lines import file_sha256, numbered_lines
from corpora_loaders.sentence import Sentence


@dataclass(frozen=True)
class PlainText(Corpus):
    """Paragraphs as "sentences" whose words are what stands between blanks; no trees.

    The words are there for the tokenizer, which cuts them further: punctuation is still attached to them, so analyse
    plain text at token level.
    """

    unit: ClassVar[str] = "paragraphs"

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
    chosen = [paths] if isinstance(paths, str | Path) else list(paths)
    if not chosen:
        raise ValueError("no text file given")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    names = [Path(path).name for path in chosen]
    sentences: list[Sentence] = []
    files: list[CorpusFile] = []
    for path, name in zip(chosen, names, strict=True):
        if limit is not None and len(sentences) == limit:
            break
        before = len(sentences)
        for paragraph in _paragraphs(path, name if names.count(name) == 1 else str(path)):
            sentences.append(paragraph)
            if len(sentences) == limit:
                break
        own = sentences[before:]
        if not own:
            raise CorpusError("there is no text in it", file=path)
        files.append(CorpusFile(str(path), file_sha256(path), len(own), sum(map(len, own)), {}))
        refuse_twins(files)
    return PlainText(tuple(sentences), tuple(files))


def _paragraphs(path: str | Path, name: str) -> Iterator[Sentence]:
    document = None
    for number, line in numbered_lines(path):
        words = tuple(line.split())
        if not words:
            document = None
            continue
        document = document or f"{name}:{number}"
        yield Sentence(f"{name}:{number}", words, document=document, file=str(path), line=number, text=line)
