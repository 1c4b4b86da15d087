"""A treebank: the sentences of one or more files, with what is needed to cite them.

Universal Dependencies splits tokens such as French *du* into the syntactic words *de* and *le*, which are the nodes of
the tree. A model is trained on running text, in which only *du* occurs. With syntactic words it therefore reads text
that nobody writes; with surface tokens it reads the original text, but one node stands for several words of the tree,
and the arcs between these words are lost. Neither choice suits all questions, so `load_treebank` offers both.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ..storage.nearest import check_choice
from .conllu_file import placed_sentences
from .corpus import DivisibleCorpus
from .errors import CorpusError
from .formats import format_of, get_format
from .gate import without_heads_of_blank_words
from .punctuation import MARKING, Punctuation
from .sample import SAMPLE_TREEBANK
from .sentence import Sentence
from .stream import Files, Stream, read_files
from .strings import load_string
from .tally import LeftOut, Tally
from .tree import depths
from .unique_names import UniqueNames, numbered_name

_LISTED = 10  # the number of sentences with mistakes that a remark lists; the run record lists all

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
        left_out: the sentences with mistakes that were left out, see `load_treebank`.

    Example:
        >>> from attentionology import load_treebank
        >>> treebank = load_treebank("sample")
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
    left_out: tuple[LeftOut, ...] = ()

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
            **({"left_out_sentences": len(self.left_out)} if self.left_out else {}),
        }

    def remarks(self) -> list[str]:
        """Remarks on empty nodes, unusual trees, renamed sentences, and those that were left out."""
        counts = self.counts()
        remarks = [f"Empty nodes, not part of the text: {counts['empty_nodes']:,}."]
        if list(self.relations) == ["_"]:
            remarks.append("No word has a relation, so words are counted in totals alone.")
        elif words := counts["words_without_relation"]:
            remarks.append(f"Words with a head whose relation is _, counted as a relation of this name: {words:,}.")
        if counts["sentences_with_several_roots"]:
            remarks.append(f"Sentences with several roots: {counts['sentences_with_several_roots']:,}.")
        remarks += [*self.remarks_on_words(), *self.counted.punctuation.remarks()]
        if self.renamed:
            remarks.append(f"Sentence ids that occurred before, to which a number was appended: {self.renamed:,}.")
        if self.left_out:
            places = "; ".join(f"{each.file}:{each.line}: {each.reason}" for each in self.left_out[:_LISTED])
            more = f"; and {len(self.left_out) - _LISTED:,} more" if len(self.left_out) > _LISTED else ""
            remarks.append(f"Sentences with mistakes, left out: {len(self.left_out):,} ({places}{more}).")
        return remarks


def load_treebank(
    paths: str | Path | Iterable[str | Path] = (),
    *,
    from_string: str | None = None,
    tokens: TokenChoice = "syntactic",
    limit: int | None = None,
    format: str | None = None,  # noqa: A002  # the name of the option
    lenient: bool = False,
    punctuation: Sequence[str] = (),
) -> Treebank:
    """Read CoNLL-U, CoNLL-X or CoNLL-2009 files, or those of another format, into one treebank.

    All errors of the files are found at once. The sentences of treebanks of at most 4,096 are held in memory; those of
    larger ones are read again whenever they are asked for, and the files must stay as they are until then. Hold them by
    ``list(treebank)`` if you need them many times and in any order.

    Args:
        paths: one file or several, which may be compressed with gzip, bzip2, xz or zip. Treebanks of Universal
            Dependencies may be given by name, for example ``ud:en_ewt:dev``, and are downloaded if necessary.
            ``"sample"`` is the treebank that comes with the toolkit; a file of this name is ``./sample``.
        from_string: the content of a file, in place of files.
        tokens: ``"syntactic"`` words (as Clark et al. 2019 read the tokens of the Penn Treebank), or
            ``"surface"`` tokens, where the words of a multiword token are merged into one node.
        limit: read at most this many sentences.
        format: the name of a format, see `attentionology.corpora_loaders.list_formats`. Default: it is detected, which
            is not possible for formats of other packages.
        lenient: whether sentences with mistakes are left out and listed (`Treebank.left_out`), instead of raising an
            error. It has no effect on formats of other packages.
        punctuation: the relations and parts of speech (columns 4 and 5) that mark punctuation. Default: it is found
            out, see `attentionology.corpora_loaders.punctuation`.

    Raises:
        ValueError: no file is given or files and a string are, the limit is less than 1, ``tokens`` is neither of
            the two, or there is no such format.
        CorpusError: a file cannot be read, contains no sentence, or was released without its words (more than a
            tenth are ``_``, as in treebanks whose text may not be distributed), two files are the same, or no word has
            any of the names of punctuation.

    Example:
        >>> from attentionology import load_treebank
        >>> treebank = load_treebank("sample", limit=1)
        >>> treebank[0].words[:4], treebank[0].heads[:4]
        (('Harrow', 'Lane', 'Garden', 'began'), (2, 3, 4, 0))
    """
    check_choice("tokens", tokens, TokenChoice)
    if from_string is not None:
        return load_string(
            partial(load_treebank, tokens=tokens, limit=limit, format=format, lenient=lenient, punctuation=punctuation),
            from_string,
            paths,
        )
    if format is not None:
        get_format(format)  # so that an unknown one is noticed before files are read
    tally, unique = Tally(punctuation), UniqueNames()
    named = Punctuation("names", tuple(punctuation)) if punctuation else Punctuation()
    mistakes: list[CorpusError] = []  # the first one of each sentence that is left out

    def add(sentence: Sentence) -> Sentence:
        return with_id(tally.add(named.mark(sentence)), unique(sentence.id))

    paths = SAMPLE_TREEBANK if paths == "sample" else paths
    files, records, held = read_files(
        paths,
        partial(read_trees, mistakes=mistakes),
        add,
        tally,
        contents="sentence",
        options=(tokens, format, lenient),
        limit=limit,
    )
    for file in files:
        file.read = read_trees  # without the list, so that reading again does not add to it
    counted = tally.summarize()
    if not punctuation:  # which is known only now
        held = tuple(map(counted.punctuation.mark, held))
    in_treebank = InTreebank(unique.numbers if unique.renamed else None, counted.punctuation)
    source = Files(files, in_treebank if in_treebank.changes else None)
    left_out = tuple(LeftOut(each.sentence, str(each.file), each.line, each.reason) for each in mistakes)
    treebank = Treebank(Stream(source, held=held), records, tokens, unique.renamed, left_out)
    return treebank.knowing(counted=counted)


def read_trees(
    path: str,
    place: Any,
    tokens: TokenChoice,
    name: str | None,
    lenient: bool = False,
    mistakes: list[CorpusError] | None = None,
) -> Iterator[tuple[Sentence, Any]]:
    """Yield the sentences of a file, whose format is detected if ``name`` is None. See `ReadFile`.

    If ``lenient``, sentences with mistakes are left out, and the first mistake of each is added to ``mistakes``.
    """
    corpus_format = format_of(path) if name is None else get_format(name)
    read = corpus_format.read_trees
    if read is None or corpus_format.placed_trees is not None:
        # The reader of CoNLL-U says what is wrong with formats without trees.
        read_placed = corpus_format.placed_trees or placed_sentences
        left_out = ([] if mistakes is None else mistakes) if lenient else None
        with_places: Iterator[tuple[Sentence, Any]] = read_placed(path, place, left_out)
    else:
        with_places = ((sentence, None) for sentence in read(path))
    for sentence, place_after in with_places:
        chosen = surface_sentence(sentence) if tokens == "surface" else sentence
        yield without_heads_of_blank_words(chosen), place_after


@dataclass(frozen=True)
class InTreebank:
    """Gives the sentences of files the ids and the marks of punctuation that they have in a treebank."""

    numbers: array[int] | None  # that are appended to the ids, see UniqueNames; None if all ids are as in the files
    punctuation: Punctuation

    @property
    def changes(self) -> bool:
        """Whether any sentence is another one than in its file."""
        return self.numbers is not None or self.punctuation.rule in MARKING

    def __call__(self, sentence: Sentence, position: int) -> Sentence:
        """Return the sentence at a position as it is in the treebank."""
        sentence = self.punctuation.mark(sentence)
        if self.numbers is None:
            return sentence
        return with_id(sentence, numbered_name(sentence.id, self.numbers[position]))


def with_id(sentence: Sentence, name: str) -> Sentence:
    """Return the sentence with this id."""
    return sentence if name == sentence.id else replace(sentence, id=name)


def with_unique_ids(sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """Return the sentences, with ``#2``, ``#3``, … appended to ids that have occurred before."""
    unique = UniqueNames()
    return tuple(with_id(sentence, unique(sentence.id)) for sentence in sentences)


def surface_sentence(sentence: Sentence) -> Sentence:
    """Return the sentence with its surface tokens as nodes (French *du* is one node instead of *de* and *le*).

    A multiword token takes its head, relation and tags from the one of its words that is highest in the tree (the root
    if it is among them; otherwise the first of the words that are equally high). Arcs that pointed to any of its words
    point to the token, and arcs within the token disappear.

    The result is a tree again. The head of a token's highest word is higher than all words of the token, so it is
    outside the token, and the node that it belongs to is at least as high as the head itself. Each step from a node to
    its head therefore leads strictly upwards, and there can be no cycle.

    The column ``deps`` is dropped, because enhanced dependencies refer to words that no longer exist. The ids of empty
    nodes stay as they are in the file.

    Example:
        >>> from attentionology.corpora_loaders import Sentence, surface_sentence
        >>> words = Sentence("s", ("Marta", "did", "n't", "sleep"), heads=(4, 4, 4, 0), multiword=((2, 3, "didn't"),))
        >>> tokens = surface_sentence(words)
        >>> tokens.words, tokens.heads
        (('Marta', "didn't", 'sleep'), (3, 3, 0))
    """
    if not sentence.multiword:
        return sentence
    token_of = {first: (last, form) for first, last, form in sentence.multiword}  # by its first word
    depth = depths(sentence.heads) if sentence.heads else [0] * len(sentence)
    forms: list[str] = []
    highest: list[int] = []  # for each node, the 0-based index of its highest word
    node_of = [0] * (len(sentence) + 1)  # 1-based word number → 1-based node number; the root stays 0
    first = 1
    while first <= len(sentence):
        last, form = token_of.get(first, (first, sentence.words[first - 1]))
        forms.append(form)
        # The root and a word without a known head both have depth 0; of the two the root is preferred.
        indices = range(first - 1, last)
        highest.append(min(indices, key=lambda index: (depth[index], sentence.heads[index : index + 1] != (0,))))
        for word in range(first, last + 1):
            node_of[word] = len(forms)
        first = last + 1

    heads_of_highest = [sentence.heads[index] for index in highest] if sentence.heads else []
    heads = tuple(None if head is None else node_of[head] for head in heads_of_highest)
    columns: dict[str, Any] = {}
    for name in ("relations", "tags", "lemmas", "xpos", "feats", "misc", "lines"):
        column = getattr(sentence, name)
        columns[name] = tuple(column[index] for index in highest) if column else ()
    return replace(sentence, words=tuple(forms), heads=heads, deps=(), multiword=(), **columns)
