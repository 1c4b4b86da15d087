"""A treebank: the sentences of one or more files, with what must be known to cite them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from corpora_loaders.conllu_file import read_conllu
from corpora_loaders.corpus import Corpus, CorpusFile, refuse_twins
from corpora_loaders.errors import CorpusError
from corpora_loaders.lines import file_sha256
from corpora_loaders.sentence import Sentence
from corpora_loaders.surface import surface_sentence

TokenChoice = Literal["syntactic", "surface"]

_ORIGIN = re.compile(r"licen[cs]e|source", re.IGNORECASE)


@dataclass(frozen=True)
class Treebank(Corpus):
    """Sentences with trees.

    Attributes:
        tokens: ``"syntactic"`` or ``"surface"``, what counts as a word here.
        renamed: number of sentences whose id had occurred before; they got ``#2``, ``#3``, … appended.
    """

    tokens: TokenChoice = "syntactic"
    renamed: int = 0

    def counts(self) -> dict[str, int]:
        """Sentences, words, documents, multiword tokens, empty nodes, words without a head, relations."""
        return {
            **super().counts(),
            "multiword_tokens": sum(len(s.multiword) for s in self),
            "empty_nodes": sum(len(s.empty_nodes) for s in self),
            "words_without_head": sum(s.heads.count(None) for s in self),
            "sentences_without_single_root": sum(s.heads.count(0) != 1 for s in self),
            "relations": len(self.relations),
            "renamed_sentence_ids": self.renamed,
        }

    def remarks(self) -> list[str]:
        """Empty nodes and renamed sentences."""
        counts = self.counts()
        remarks = [f"Empty nodes, not part of the text: {counts['empty_nodes']:,}."]
        if self.renamed:
            remarks.append(f"Sentence ids that had occurred before and got a number appended: {self.renamed:,}.")
        return remarks


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
        refuse_twins(files)
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
