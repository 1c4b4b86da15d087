"""A treebank: the sentences of one or more files, with what is needed to cite them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from .conllu_file import BEGINNING, placed_sentences, read_conllu
from .coreference.formats import format_of
from .corpus import DivisibleCorpus, Tally
from .sentence import Sentence
from .stream import Files, Stream, read_files
from .surface import surface_sentence
from .unique_names import UniqueNames, numbered_name

TokenChoice = Literal["syntactic", "surface"]

_COUNTS = (
    "multiword_tokens",
    "empty_nodes",
    "words_without_head",
    "sentences_without_single_root",
    "sentences_with_several_roots",
)


@dataclass(frozen=True, repr=False)
class Treebank(DivisibleCorpus):
    """Sentences with dependency trees.

    Attributes:
        tokens: what counts as a word, ``"syntactic"`` or ``"surface"``; see `load_treebank`.
        renamed: the number of sentences of the files whose id had occurred before, so that ``#2``, ``#3``, … was
            appended to it.

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
        >>> treebank[:2]
        Treebank(2 sentences, 43 words, 'en_sample.conllu')
    """

    tokens: TokenChoice = "syntactic"
    renamed: int = 0

    def counts(self) -> dict[str, int]:
        """Numbers of sentences, words, multiword tokens, empty nodes, words without a head, and others.

        A word without a relation is one that has a head but the relation ``_``.
        """
        return {
            **super().counts(),
            **{name: self.counted.numbers.get(name, 0) for name in _COUNTS},
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

    All errors of the files are found at once. The sentences of treebanks of at most 4,096 are held in memory; those of
    larger ones are read again whenever they are asked for, and the files must stay as they are until then. Hold them by
    ``list(treebank)`` if you need them many times and in any order.

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
    if tokens not in ("syntactic", "surface"):
        raise ValueError(f"tokens must be 'syntactic' or 'surface', not {tokens!r}")
    tally, unique = Tally(), UniqueNames()

    def add(sentence: Sentence) -> Sentence:
        return with_id(tally.add(sentence), unique(sentence.id))

    files, records, held = read_files(paths, TreeReader(tokens), add, tally, contents="sentence", limit=limit)
    source = Files(files, Renamed(unique.numbers) if unique.renamed else None)
    return Treebank(Stream(source, held=held), records, tokens, unique.renamed).knowing(counted=tally.counted())


@dataclass(frozen=True)
class TreeReader:
    """Reads the sentences of a file from a place on, each with the place after it."""

    tokens: TokenChoice

    def __call__(self, path: str, place: Any) -> Iterator[tuple[Sentence, Any]]:
        """Yield the sentences with their places; None is the beginning of the file."""
        read_trees = format_of(path).read_trees
        if read_trees in (None, read_conllu):  # read_conllu says what is wrong with formats without trees
            placed: Iterator[tuple[Sentence, Any]] = placed_sentences(path, place or BEGINNING)
        else:
            placed = ((sentence, None) for sentence in read_trees(path))
        for sentence, after in placed:
            yield surface_sentence(sentence) if self.tokens == "surface" else sentence, after


@dataclass(frozen=True)
class Renamed:
    """Gives the sentences of files the ids that they have in a treebank."""

    numbers: array[int]  # that are appended to the ids, see UniqueNames

    def __call__(self, sentence: Sentence, position: int) -> Sentence:
        """The sentence at a position."""
        return with_id(sentence, numbered_name(sentence.id, self.numbers[position]))


def with_id(sentence: Sentence, name: str) -> Sentence:
    """The sentence with another id."""
    return sentence if name == sentence.id else replace(sentence, id=name)


LazyTreebank = Treebank  # deprecated, and removed in 0.4
open_treebank = load_treebank  # deprecated, and removed in 0.4
