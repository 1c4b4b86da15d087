"""An index of a treebank: what is known about the whole of it, and where to find each window of its sentences.

All errors of a treebank are found when it is indexed, and they are those of
`attentionology.corpora_loaders.load_treebank`. The index takes less than 1 kB for each window of 1,024 sentences, and
4 bytes more for each sentence of a window in which ids were changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from .compact import IdCounts, SuffixCollector, Suffixes, UniqueSuffixes, numbered_name
from .conllu_file import BEGINNING, Bookmark, bookmarked_sentences, read_conllu
from .coreference.formats import format_of
from .corpus import FileTally, most_frequent_first
from .errors import CorpusError
from .file_index import SerialIndex, index_files
from .sentence import Sentence
from .surface import surface_sentence
from .treebank import TokenChoice, check_tokens


@dataclass(frozen=True)
class TreebankIndex(SerialIndex[Sentence, Bookmark]):
    """Everything about a treebank except its sentences.

    Attributes:
        tokens: what counts as a word, ``"syntactic"`` or ``"surface"``.
        suffixes: the numbers that were appended to ids.
        relations: how often each relation occurs on words that have a head, most frequent first.
        counts: the numbers that `attentionology.corpora_loaders.Treebank.counts` returns.

    Example:
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> from attentionology.corpora_loaders.treebank_index import index_treebank
        >>> index, _ = index_treebank(SAMPLE_TREEBANK)
        >>> len(index), index.counts["words"], index.relations["nsubj"], len(index.windows)
        (157, 2809, 265, 1)
    """

    tokens: TokenChoice
    suffixes: Suffixes
    relations: Counter[str]
    counts: Mapping[str, int]

    def read(self, number: int, mark: Bookmark | None) -> Iterator[Sentence]:
        """Yield the sentences of a file, with their ids unchanged."""
        for sentence, _ in bookmarked_sentences(self.files[number].path, mark or BEGINNING):
            yield surface_sentence(sentence) if self.tokens == "surface" else sentence

    def with_ids(self, window: int, items: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
        """Return the sentences of a window with the ids that they have in the treebank."""
        suffixes = self.suffixes.of(self.positions(window))
        return tuple(map(renamed, items, suffixes)) if suffixes else items


def index_treebank(
    paths: str | Path | Iterable[str | Path],
    *,
    tokens: TokenChoice = "syntactic",
    limit: int | None = None,
    keep: int = 0,
) -> tuple[TreebankIndex, Mapping[int, tuple[Sentence, ...]]]:
    """Index CoNLL-U or CoNLL-X files, and return the sentences of the first ``keep`` windows too, by their numbers.

    The other arguments and the errors are those of `attentionology.corpora_loaders.load_treebank`. In addition, a
    `CorpusError` says that a file was changed while it was read.
    """
    check_tokens(tokens)
    tally = _TreebankTally(tokens)
    indexed = index_files(paths, _sentences, BEGINNING, tally.add, contents="sentence", limit=limit, keep=keep)
    relations = most_frequent_first(tally.relations)
    counts = {
        "sentences": tally.sentences,
        "words": sum(file.words for file in indexed.files),
        "documents": len(tally.documents),
        **tally.totals,
        "words_without_relation": relations["_"],
        "relations": len(relations),
        "renamed_sentence_ids": tally.unique.renamed,
    }
    suffixes = tally.suffixes.collected()
    index = TreebankIndex(indexed.files, indexed.sources, indexed.windows, tokens, suffixes, relations, counts)
    return index, indexed.kept


def _sentences(path: str | Path) -> Iterator[tuple[Sentence, Bookmark]]:
    reader = format_of(path).read_trees
    if reader not in (None, read_conllu):  # read_conllu says what is wrong with formats without trees
        raise CorpusError("only CoNLL-U files can be indexed", file=path)
    return bookmarked_sentences(path)


class _TreebankTally:
    """Counts everything that is known about a treebank, sentence by sentence."""

    def __init__(self, tokens: TokenChoice) -> None:
        self.sentences = 0
        self.unique, self.documents = UniqueSuffixes(), IdCounts()
        self.suffixes = SuffixCollector()
        self.relations: Counter[str] = Counter()
        self.totals: Counter[str] = Counter()
        self._tokens: TokenChoice = tokens

    def add(self, sentence: Sentence, tally: FileTally) -> tuple[Sentence, int]:
        """Count a sentence, and return it as it is in the treebank."""
        sentence = surface_sentence(sentence) if self._tokens == "surface" else sentence
        tally.add(sentence)
        self.sentences += 1
        suffix = self.unique(sentence.id)
        self.suffixes.add(suffix)
        if sentence.document is not None:
            self.documents[sentence.document] = 1
        for head, relation in zip(sentence.heads, sentence.relations, strict=True):
            if head is not None:
                self.relations[relation] += 1
        totals = self.totals
        totals["multiword_tokens"] += len(sentence.multiword)
        totals["empty_nodes"] += len(sentence.empty_nodes)
        totals["words_without_head"] += sentence.heads.count(None)
        roots = sentence.heads.count(0)
        totals["sentences_without_single_root"] += roots != 1
        totals["sentences_with_several_roots"] += roots > 1
        return renamed(sentence, suffix), 1


def renamed(sentence: Sentence, suffix: int) -> Sentence:
    """The sentence with a number appended to its id; 0 stands for none."""
    return replace(sentence, id=numbered_name(sentence.id, suffix)) if suffix else sentence
