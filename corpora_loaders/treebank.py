"""A treebank: the sentences of one or more files, with what is needed to cite them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from .conllu_file import read_conllu
from .coreference.formats import format_of
from .corpus import Corpus, CorpusFile, UniqueNames, describe_file, read_files
from .errors import CorpusError
from .sentence import Sentence
from .surface import surface_sentence

TokenChoice = Literal["syntactic", "surface"]


@dataclass(frozen=True, repr=False)
class Treebank(Corpus):
    """Sentences with dependency trees.

    Attributes:
        tokens: what counts as a word, ``"syntactic"`` or ``"surface"``; see `load_treebank`.
        renamed: the number of sentences whose id had occurred before, so that ``#2``, ``#3``, … was appended to it.

    Example:
        >>> from attentionology import load_treebank
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> treebank = load_treebank(SAMPLE_TREEBANK)
        >>> treebank
        Treebank(157 sentences, 2,809 words, 'en_sample.conllu')
        >>> treebank.relations.most_common(2)
        [('punct', 433), ('det', 269)]
        >>> treebank.counts()["multiword_tokens"]
        34
    """

    tokens: TokenChoice = "syntactic"
    renamed: int = 0

    def counts(self) -> dict[str, int]:
        """Numbers of sentences, words, multiword tokens, empty nodes, words without a head, and others.

        A word without a relation is one that has a head but the relation ``_``.
        """
        return {
            **super().counts(),
            "multiword_tokens": sum(len(sentence.multiword) for sentence in self),
            "empty_nodes": sum(len(sentence.empty_nodes) for sentence in self),
            "words_without_head": sum(sentence.heads.count(None) for sentence in self),
            "sentences_without_single_root": sum(sentence.heads.count(0) != 1 for sentence in self),
            "sentences_with_several_roots": sum(sentence.heads.count(0) > 1 for sentence in self),
            "words_without_relation": self.relations["_"],
            "relations": len(self.relations),
            "renamed_sentence_ids": self.renamed,
        }

    def remarks(self) -> list[str]:
        """Remarks on empty nodes, unusual trees and renamed sentences."""
        counts = self.counts()
        remarks = [f"Empty nodes, not part of the text: {counts['empty_nodes']:,}."]
        if counts["words_without_relation"]:
            number = counts["words_without_relation"]
            remarks.append(f"Words with a head whose relation is _, counted as a relation of this name: {number:,}.")
        if counts["sentences_with_several_roots"]:
            remarks.append(f"Sentences with several roots: {counts['sentences_with_several_roots']:,}.")
        if self.renamed:
            remarks.append(f"Sentence ids that occurred before, to which a number was appended: {self.renamed:,}.")
        return remarks


def load_treebank(
    paths: str | Path | Iterable[str | Path],
    *,
    tokens: TokenChoice = "syntactic",
    limit: int | None = None,
) -> Treebank:
    """Read CoNLL-U or CoNLL-X files into one treebank.

    Args:
        paths: one file or several, which may be compressed with gzip, bzip2, xz or zip. Treebanks of Universal
            Dependencies may be given by name, for example ``ud:en_ewt:dev``, and are downloaded if necessary.
        tokens: ``"syntactic"`` words (as Clark et al. 2019 read the tokens of the Penn Treebank), or
            ``"surface"`` tokens, where the words of a multiword token are merged into one node.
        limit: read at most this many sentences.

    Raises:
        ValueError: no file is given, the limit is less than 1, or ``tokens`` is neither of the two.
        CorpusError: a file cannot be read, contains no sentence, or was released without its words (every form
            is ``_``, as in treebanks whose text may not be distributed), or two files are the same.

    Example:
        >>> from attentionology import load_treebank
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> treebank = load_treebank(SAMPLE_TREEBANK, limit=1)
        >>> treebank[0].words[:4], treebank[0].heads[:4]
        (('Harrow', 'Lane', 'Garden', 'began'), (2, 3, 4, 0))
    """
    check_tokens(tokens)

    def read(path: str | Path) -> Iterator[Sentence]:
        trees = (format_of(path).read_trees or read_conllu)(path)  # read_conllu says what is wrong with other formats
        return map(surface_sentence, trees) if tokens == "surface" else trees

    sentences: list[Sentence] = []
    files: list[CorpusFile] = []
    unique_names = UniqueNames()
    for path, sha256, of_file in read_files(paths, read, limit):
        if not of_file:
            raise CorpusError("the file contains no sentence", file=path)
        files.append(describe_file(path, sha256, of_file))
        for sentence in of_file:
            name = unique_names(sentence.id)
            sentences.append(sentence if name == sentence.id else replace(sentence, id=name))
    return Treebank(tuple(sentences), tuple(files), tokens, unique_names.renamed)


def check_tokens(tokens: str) -> None:
    """Validate the choice of what counts as a word.

    Raises:
        ValueError: it is neither ``"syntactic"`` nor ``"surface"``.
    """
    if tokens not in ("syntactic", "surface"):
        raise ValueError(f"tokens must be 'syntactic' or 'surface', not {tokens!r}")
