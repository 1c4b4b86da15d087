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
from attentionology.corpora_loaders.lines import archive_of
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.surface import surface_sentence
from attentionology.corpora_loaders.treebank import TokenChoice, check_tokens

WINDOW = 1024
"""The number of sentences in a window; the last window of a treebank may have fewer."""


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
    stamps: tuple[tuple[int, int], ...]
    windows: tuple[SentenceWindow, ...]
    tokens: TokenChoice
    renamed: int
    relations: Counter[str]
    counts: Mapping[str, int]

    def __len__(self) -> int:
        return sum(file.sentences for file in self.files)


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
            raise CorpusError("the file holds no sentence", file=path)
        files.append(tally.describe(path, sha256))
        check_stamp(path, builder.stamps[number])
    index = builder.index(tuple(files))
    kept = {
        start // WINDOW: tuple(builder.kept[start : start + WINDOW]) for start in range(0, len(builder.kept), WINDOW)
    }
    return index, kept


class _Builder:
    """Collects an index sentence by sentence.

    Attributes:
        stamps: the stamps of the files.
        kept: the first sentences.
    """

    def __init__(self, tokens: TokenChoice, keep: int) -> None:
        self.stamps: list[tuple[int, int]] = []
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


def stamp(path: str | Path) -> tuple[int, int]:
    """The size of a file on disk, and the time of its last modification in nanoseconds.

    Raises:
        CorpusError: the file cannot be read.
    """
    try:
        status = archive_of(path).stat()
    except OSError as error:
        raise CorpusError(f"cannot read the file: {error.strerror or error}", file=path) from error
    return status.st_size, status.st_mtime_ns


def check_stamp(path: str | Path, expected: tuple[int, int]) -> None:
    """Check that a file is as it was when it was indexed.

    Raises:
        CorpusError: the file has changed, or cannot be read.
    """
    if stamp(path) != expected:
        raise changed(path)


def changed(path: str | Path) -> CorpusError:
    """The error for a file that has changed."""
    return CorpusError("the file has changed since it was indexed; start again", file=path)


def renamed(sentence: Sentence, suffix: int) -> Sentence:
    """The sentence with a number appended to its id; 0 stands for none."""
    return replace(sentence, id=numbered_name(sentence.id, suffix)) if suffix else sentence


class WindowReader:
    """Reads windows of an indexed treebank.

    A window that follows the one that was read last is read from where that one ended. In a compressed file, this saves
    decompressing everything before it once more.

    Args:
        index: the index.
    """

    def __init__(self, index: TreebankIndex) -> None:
        self._index = index
        self._following = -1
        self._stream: Iterator[Sentence] = iter(())

    def read(self, number: int) -> tuple[Sentence, ...]:
        """The sentences of a window.

        Raises:
            CorpusError: a file has changed since it was indexed, or cannot be read.
        """
        index, window = self._index, self._index.windows[number]
        expected = min(WINDOW, len(index) - number * WINDOW)
        if number != self._following:
            self._stream = self._sentences_from(window)
        self._following = -1
        try:
            sentences = tuple(islice(self._stream, expected))
        except CorpusError as error:
            if isinstance(error.__cause__, OSError):
                raise
            raise changed(error.file or index.files[window.file].path) from error
        self._check_files(number)
        if len(sentences) != expected:
            raise changed(index.files[window.file].path)
        self._following = number + 1
        if window.suffixes:
            sentences = tuple(map(renamed, sentences, window.suffixes))
        return sentences

    def _sentences_from(self, window: SentenceWindow) -> Iterator[Sentence]:
        """The sentences from the beginning of a window to the end of the treebank, with their ids unchanged."""
        bookmark = window.bookmark
        for file in self._index.files[window.file :]:
            rest = file.sentences - bookmark.sentences
            for sentence, _ in islice(bookmarked_sentences(file.path, bookmark), rest):
                yield surface_sentence(sentence) if self._index.tokens == "surface" else sentence
            bookmark = BEGINNING

    def _check_files(self, number: int) -> None:
        """Check the files that a window is read from, see `check_stamp`."""
        windows = self._index.windows
        last = windows[number + 1].file if number + 1 < len(windows) else len(self._index.files) - 1
        for file in range(windows[number].file, last + 1):
            check_stamp(self._index.files[file].path, self._index.stamps[file])
