"""What is counted while a corpus is read: its files, its relations, its punctuation, and what else there is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .gate import BlankWords
from .punctuation import Punctuation, PunctuationTally
from .releases import source_of
from .sentence import Sentence
from .tree import plain_relation
from .unique_names import Names

_ORIGIN = re.compile(r"licen[cs]e|source", re.IGNORECASE)


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus.

    Attributes:
        path: the path of the file.
        sha256: the hexadecimal SHA-256 of the file on disk.
        sentences: the number of sentences that were read.
        words: the number of words that were read.
        origin: the comments of its first sentence that mention a license or a source.
        source: the name, the release, the license and the address of a treebank of Universal Dependencies, as far as
            its folder says, see `attentionology.corpora_loaders.releases.source_of`.

    Example:
        >>> from attentionology import load_treebank
        >>> file = load_treebank("sample").files[0]
        >>> file.sentences, file.words, len(file.sha256)
        (157, 2809, 64)
    """

    path: str
    sha256: str
    sentences: int
    words: int
    origin: dict[str, str]
    source: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LeftOut:
    """A sentence with a mistake that was left out, because it was asked for (``lenient``).

    Attributes:
        id: the id of the sentence, if it could be read.
        file, line: the place of its first mistake.
        reason: what is wrong there.

    Example:
        >>> LeftOut("s7", "dev.conllu", 42, "the form (column 2) is empty")
        LeftOut(id='s7', file='dev.conllu', line=42, reason='the form (column 2) is empty')
    """

    id: str | None
    file: str
    line: int | None
    reason: str


class CorpusFacts(NamedTuple):
    """What is known about all sentences of a corpus together."""

    numbers: Mapping[str, int]
    relations: Counter[str]  # of words that have a head, most frequent first, and among equals in alphabetical order
    # Relations, each as it is counted (`attentionology.corpora_loaders.tree.counted_relations`), and parts of speech of
    # the same words.
    tagged: Counter[tuple[str, str]]
    punctuation: Punctuation = Punctuation()


class Tally:
    """Counts the sentences of a corpus, which are added one by one, and describes its files.

    Args:
        punctuation: the relations and parts of speech that have been named as punctuation.
    """

    def __init__(self, punctuation: Sequence[str] = ()) -> None:
        self.sentences = 0
        self._numbers: Counter[str] = Counter()
        self._words_with_head = PunctuationTally(punctuation)
        self._documents = Names()
        # These describe the file whose sentences are added now:
        self._file_sentences = 0
        self._file_words = BlankWords()
        self._origin: dict[str, str] = {}  # from the comments of its first sentence

    def add(self, sentence: Sentence) -> Sentence:
        """Count a sentence, and return it."""
        numbers, heads = self._numbers, sentence.heads
        self.sentences += 1
        numbers["words"] += len(sentence)
        numbers["multiword_tokens"] += len(sentence.multiword)
        numbers["empty_nodes"] += len(sentence.empty_nodes)
        if sentence.predicted_by is not None:
            numbers["predicted_sentences"] += 1
        numbers["words_without_head"] += heads.count(None)
        numbers["words_with_head_word"] += len(heads) - heads.count(None) - heads.count(0)
        numbers["words_beside_others"] += len(heads) if len(heads) > 1 else 0
        numbers["sentences_without_single_root"] += heads.count(0) != 1
        numbers["sentences_with_several_roots"] += heads.count(0) > 1
        self._words_with_head.add(sentence)
        numbers["documents"] += sentence.document is not None and self._documents.add(sentence.document)
        if not self._file_sentences:
            comments = sentence.comments.items()
            self._origin = {key: value for key, value in comments if value and _ORIGIN.search(key)}
        self._file_sentences += 1
        numbers["blank_words"] += self._file_words.add(sentence)
        return sentence

    def end_file(self, path: str | Path, sha256: str) -> CorpusFile:
        """Describe the file whose sentences were added last, and begin another one.

        Raises:
            CorpusError: too many of its words are blank, see `attentionology.corpora_loaders.gate`.
        """
        self._file_words.check(path)
        n_words, source = self._file_words.words, source_of(path)
        file = CorpusFile(str(path), sha256, self._file_sentences, n_words, self._origin, source)
        self._file_sentences, self._file_words, self._origin = 0, BlankWords(), {}
        return file

    def summarize(self) -> CorpusFacts:
        """Return what was counted.

        Raises:
            CorpusError: punctuation has been named, and no word has any of the names.
        """
        punctuation, tagged = self._words_with_head.summarize()
        relations: Counter[str] = Counter()
        for (relation, _), n_words in tagged.items():
            relations[plain_relation(relation)] += n_words
        in_order = sorted(relations.items(), key=lambda item: (-item[1], item[0]))
        numbers = {"sentences": self.sentences, **self._numbers}
        return CorpusFacts(numbers, Counter(dict(in_order)), tagged, punctuation)
