"""A treebank: the sentences of one or more files, with what must be known to cite them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from attentionology.corpora_loaders.conllu_file import read_conllu
from attentionology.corpora_loaders.coreference.formats import format_of
from attentionology.corpora_loaders.corpus import Corpus, CorpusFile, UniqueNames, describe_file, read_files
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.surface import surface_sentence

TokenChoice = Literal["syntactic", "surface"]


@dataclass(frozen=True, repr=False)
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
    if tokens not in ("syntactic", "surface"):
        raise ValueError(f"tokens must be 'syntactic' or 'surface', not {tokens!r}")

    def read(path: str | Path) -> Iterator[Sentence]:
        trees = (format_of(path).read_trees or read_conllu)(path)
        return map(surface_sentence, trees) if tokens == "surface" else trees

    sentences: list[Sentence] = []
    files: list[CorpusFile] = []
    names = UniqueNames()
    for path, sha256, own in read_files(paths, read, limit):
        if not own:
            raise CorpusError("the file holds no sentence", file=path)
        files.append(describe_file(path, sha256, own))
        for sentence in own:
            name = names(sentence.id)
            sentences.append(sentence if name == sentence.id else replace(sentence, id=name))
    return Treebank(tuple(sentences), tuple(files), tokens, names.renamed)
