"""A treebank: the sentences of one or more files, with what must be known to cite them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, overload

from corpora_loaders.conllu_file import read_conllu
from corpora_loaders.errors import CorpusError
from corpora_loaders.lines import file_sha256
from corpora_loaders.sentence import Sentence
from corpora_loaders.surface import surface_sentence

TokenChoice = Literal["syntactic", "surface"]

_ORIGIN = re.compile(r"licen[cs]e|source", re.IGNORECASE)


@dataclass(frozen=True)
class CorpusFile:
    """One file of a treebank: where it lies, its SHA-256, and how much was taken from it."""

    path: str
    sha256: str
    sentences: int
    words: int
    origin: dict[str, str]
    """The comments of its first sentence that speak of a licence or a source."""


@dataclass(frozen=True)
class Treebank(Sequence[Sentence]):
    """A list of sentences that knows its relation inventory, its counts and its files.

    Attributes:
        sentences: in file order.
        files: one record per file.
        relations: how often each relation occurs on words that have a head, most frequent first.
        tokens: ``"syntactic"`` or ``"surface"``, what counts as a word here.
        renamed: number of sentences whose id had occurred before; they got ``#2``, ``#3``, … appended.
    """

    sentences: tuple[Sentence, ...]
    files: tuple[CorpusFile, ...] = ()
    tokens: TokenChoice = "syntactic"
    renamed: int = 0
    relations: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        counts = Counter(
            relation
            for sentence in self.sentences
            for head, relation in zip(sentence.heads, sentence.relations, strict=True)
            if head is not None
        )
        ordered = Counter(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))
        object.__setattr__(self, "relations", ordered)

    def __len__(self) -> int:
        return len(self.sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Sentence, ...]: ...
    def __getitem__(self, index: int | slice) -> Sentence | tuple[Sentence, ...]:
        return self.sentences[index]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def counts(self) -> dict[str, int]:
        """Sentences, words, multiword tokens, empty nodes, words without a head, documents, relations."""
        return {
            "sentences": len(self),
            "words": sum(len(s) for s in self),
            "multiword_tokens": sum(len(s.multiword) for s in self),
            "empty_nodes": sum(len(s.empty_nodes) for s in self),
            "words_without_head": sum(s.heads.count(None) for s in self),
            "sentences_without_single_root": sum(s.heads.count(0) != 1 for s in self),
            "documents": len({s.document for s in self if s.document is not None}),
            "relations": len(self.relations),
            "renamed_sentence_ids": self.renamed,
        }


def load_treebank(
    paths: str | Path | Iterable[str | Path],
    *,
    tokens: TokenChoice = "syntactic",
    limit: int | None = None,
) -> Treebank:
    """Read CoNLL-U or CoNLL-X files into one treebank.

    Args:
        paths: one file or several; ``.gz`` is read as it is.
        tokens: ``"syntactic"`` words (as Clark et al. 2019 read the tokens of the Penn Treebank), or
            ``"surface"`` tokens, where the words of a multiword token are merged into one node.
        limit: take the first so many sentences only.

    Raises:
        CorpusError: a file cannot be read, holds no sentence, or was released without its words (every form
            is ``_``, as in treebanks whose text may not be distributed), or two files are the same.
    """
    chosen = [paths] if isinstance(paths, str | Path) else list(paths)
    if not chosen:
        raise ValueError("no corpus file given")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    if tokens not in ("syntactic", "surface"):
        raise ValueError(f"tokens must be 'syntactic' or 'surface', not {tokens!r}")
    sentences: list[Sentence] = []
    files: list[CorpusFile] = []
    used: dict[str, int] = {}  # id → how often it has been asked for
    renamed = 0
    for path in chosen:
        if limit is not None and len(sentences) == limit:
            break
        before = len(sentences)
        for sentence in read_conllu(path):
            if tokens == "surface":
                sentence = surface_sentence(sentence)
            if sentence.id in used:
                sentence = replace(sentence, id=_unused(sentence.id, used))
                renamed += 1
            used[sentence.id] = 1
            sentences.append(sentence)
            if len(sentences) == limit:
                break
        files.append(_describe(path, sentences[before:]))
        if twin := next((f.path for f in files[:-1] if f.sha256 == files[-1].sha256), None):
            raise CorpusError(f"the same file as {twin}; its words would count twice", file=path)
    return Treebank(tuple(sentences), tuple(files), tokens, renamed)


def _unused(sentence_id: str, used: dict[str, int]) -> str:
    while True:
        used[sentence_id] += 1
        name = f"{sentence_id}#{used[sentence_id]}"
        if name not in used:
            return name


def _describe(path: str | Path, sentences: list[Sentence]) -> CorpusFile:
    if not sentences:
        raise CorpusError("the file holds no sentence", file=path)
    if any(len(s) > 1 for s in sentences) and all(word == "_" for s in sentences for word in s.words):
        raise CorpusError("every form is '_': this treebank was released without its words", file=path)
    origin = {k: v for k, v in sentences[0].comments.items() if v and _ORIGIN.search(k)}
    return CorpusFile(
        path=str(path),
        sha256=file_sha256(path),
        sentences=len(sentences),
        words=sum(len(s) for s in sentences),
        origin=origin,
    )
