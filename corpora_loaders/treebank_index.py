"""An index of a treebank: what is known about the whole of it, and where to find each window of its sentences.

The index is made in one pass over the files, which keeps no sentence. All errors of a treebank are found in that pass,
and they are those of `attentionology.corpora_loaders.load_treebank`. The index takes less than 1 kB for each window of
1,024 sentences, and 4 bytes more for each sentence of a window in which ids were changed.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from attentionology.corpora_loaders.compact import IdCounts, UniqueSuffixes, numbered_name
from attentionology.corpora_loaders.conllu_file import BEGINNING, Bookmark, bookmarked_sentences, read_conllu
from attentionology.corpora_loaders.coreference.formats import format_of
from attentionology.corpora_loaders.corpus import CorpusFile, FileTally, digested_files, most_frequent_first
from attentionology.corpora_loaders.errors import CorpusError
from attentionology.corpora_loaders.lazy_sentences import WINDOW, in_windows
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.stamps import Stamp, check_stamp, stamp
from attentionology.corpora_loaders.surface import surface_sentence
from attentionology.corpora_loaders.treebank import TokenChoice, check_tokens


@dataclass(frozen=True)
class SentenceWindow:
    """Where a window of sentences begins, and how their ids were changed.

    Attributes:
        file: the number of the file in which it begins, from 0.
        bookmark: where it begins in that file.
        suffixes: the number that was appended to the id of each sentence, 0 for none; empty if no id was changed.
    """

    file: int
    bookmark: Bookmark
    suffixes: array[int]


@dataclass(frozen=True)
class TreebankIndex:
    """Everything about a treebank except its sentences.

    Attributes:
        files: one record for each file.
        stamps: the size and the time of modification of each file, by which a changed file is noticed.
        windows: the windows, which may reach from one file into the next.
        tokens: what counts as a word, ``"syntactic"`` or ``"surface"``.
        renamed: the number of sentences whose id was changed.
        relations: how often each relation occurs on words that have a head, most frequent first.
        counts: the numbers that `attentionology.corpora_loaders.Treebank.counts` returns.

    Example:
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> from attentionology.corpora_loaders.treebank_index import index_treebank
        >>> index = index_treebank(SAMPLE_TREEBANK)
        >>> len(index), index.counts["words"], index.relations["nsubj"], len(index.windows)
        (157, 2809, 265, 1)
    """

    files: tuple[CorpusFile, ...]
    stamps: tuple[Stamp, ...]
    windows: tuple[SentenceWindow, ...]
    tokens: TokenChoice
    renamed: int
    relations: Counter[str]
    counts: Mapping[str, int]

    def __len__(self) -> int:
        return sum(file.sentences for file in self.files)

    def first_file(self, window: int) -> int:
        """The number of the file in which a window begins, from 0."""
        return self.windows[window].file

    def sentences_from(self, window: int) -> Iterator[Sentence]:
        """The sentences from the beginning of a window to the end of the treebank, with their ids unchanged."""
        start = self.windows[window]
        bookmark = start.bookmark
        for file in self.files[start.file :]:
            rest = file.sentences - bookmark.sentences
            for sentence, _ in islice(bookmarked_sentences(file.path, bookmark), rest):
                yield surface_sentence(sentence) if self.tokens == "surface" else sentence
            bookmark = BEGINNING

    def with_ids(self, window: int, sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
        """The sentences of a window with the ids that they have in the treebank."""
        suffixes = self.windows[window].suffixes
        return tuple(map(renamed, sentences, suffixes)) if suffixes else sentences


def index_treebank(
    paths: str | Path | Iterable[str | Path], *, tokens: TokenChoice = "syntactic", limit: int | None = None
) -> TreebankIndex:
    """Index CoNLL-U or CoNLL-X files.

    The arguments and errors are those of `attentionology.corpora_loaders.load_treebank`. In addition, a `CorpusError`
    says that a file was changed while it was read.
    """
    return index_and_keep(paths, tokens=tokens, limit=limit, keep=0)[0]


def index_and_keep(
    paths: str | Path | Iterable[str | Path], *, tokens: TokenChoice, limit: int | None, keep: int
) -> tuple[TreebankIndex, dict[int, tuple[Sentence, ...]]]:
    """Index files, and return the sentences of the first ``keep`` windows too, by the numbers of the windows."""
    check_tokens(tokens)
    builder = _Builder(tokens, keep * WINDOW)
    files: list[CorpusFile] = []
    for number, (path, sha256, tally) in enumerate(digested_files(paths, builder.read, limit)):
        if not tally.sentences:
            raise CorpusError("the file contains no sentence", file=path)
        files.append(tally.describe(path, sha256))
        check_stamp(path, builder.stamps[number])
    return builder.index(tuple(files)), in_windows(builder.kept, WINDOW)


class _Builder:
    """Collects an index sentence by sentence.

    Attributes:
        stamps: the stamps of the files.
        kept: the first sentences.
    """

    def __init__(self, tokens: TokenChoice, keep: int) -> None:
        self.stamps: list[Stamp] = []
        self.kept: list[Sentence] = []
        self._tokens: TokenChoice = tokens
        self._keep = keep
        self._sentences = 0
        self._windows: list[SentenceWindow] = []
        self._suffixes = array("I")  # of the window that is being read
        self._unique = UniqueSuffixes()
        self._documents = IdCounts()
        self._relations: Counter[str] = Counter()
        self._totals: Counter[str] = Counter()

    def read(self, path: str | Path, limit: int | None) -> FileTally:
        """Read at most the given number of sentences of a file."""
        reader = format_of(path).read_trees
        if reader not in (None, read_conllu):  # read_conllu says what is wrong with formats without trees
            raise CorpusError("only CoNLL-U files can be indexed", file=path)
        self.stamps.append(stamp(path))
        tally, before = FileTally(), BEGINNING
        for sentence, after in islice(bookmarked_sentences(path), limit):
            if self._sentences % WINDOW == 0:
                self._end_window()
                self._windows.append(SentenceWindow(len(self.stamps) - 1, before, array("I")))
            self._add(surface_sentence(sentence) if self._tokens == "surface" else sentence, tally)
            before = after
        return tally

    def _add(self, sentence: Sentence, tally: FileTally) -> None:
        tally.add(sentence)
        suffix = self._unique(sentence.id)
        self._suffixes.append(suffix)
        if self._sentences < self._keep:
            self.kept.append(renamed(sentence, suffix))
        self._sentences += 1
        if sentence.document is not None:
            self._documents[sentence.document] = 1
        for head, relation in zip(sentence.heads, sentence.relations, strict=True):
            if head is not None:
                self._relations[relation] += 1
        totals = self._totals
        totals["multiword_tokens"] += len(sentence.multiword)
        totals["empty_nodes"] += len(sentence.empty_nodes)
        totals["words_without_head"] += sentence.heads.count(None)
        totals["sentences_without_single_root"] += sentence.heads.count(0) != 1

    def _end_window(self) -> None:
        if any(self._suffixes):
            self._windows[-1] = replace(self._windows[-1], suffixes=self._suffixes)
        self._suffixes = array("I")

    def index(self, files: tuple[CorpusFile, ...]) -> TreebankIndex:
        """The index of what was read."""
        self._end_window()
        relations = most_frequent_first(self._relations)
        counts = {
            "sentences": self._sentences,
            "words": sum(file.words for file in files),
            "documents": len(self._documents),
            **self._totals,
            "relations": len(relations),
            "renamed_sentence_ids": self._unique.renamed,
        }
        return TreebankIndex(
            files, tuple(self.stamps), tuple(self._windows), self._tokens, self._unique.renamed, relations, counts
        )


def renamed(sentence: Sentence, suffix: int) -> Sentence:
    """The sentence with a number appended to its id; 0 stands for none."""
    return replace(sentence, id=numbered_name(sentence.id, suffix)) if suffix else sentence
