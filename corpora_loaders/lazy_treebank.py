"""A treebank whose sentences stay in their files until they are needed.

A loaded sentence takes about 3.5 kB, so that ten million sentences would need 35 GB. A lazily read treebank keeps its
index (`attentionology.corpora_loaders.treebank_index`), which takes a few bytes for each sentence, and a few windows of
1,024 sentences. Everything else is as in a loaded treebank.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import file_index
from .describing import amount
from .lazy_items import LazyItems, WindowCache
from .sentence import Sentence
from .treebank import TokenChoice, Treebank
from .treebank_index import TreebankIndex, index_treebank


@dataclass(frozen=True, repr=False)
class LazyTreebank(Treebank):
    """A treebank whose sentences are read when they are asked for, see `open_treebank`.

    Attributes:
        sentences: the sentences, in file order.

    Example:
        >>> from attentionology.corpora_loaders import LazyTreebank, open_treebank
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> treebank = open_treebank(SAMPLE_TREEBANK)
        >>> isinstance(treebank, LazyTreebank), treebank.sentences
        (True, LazyItems(157 items))
    """

    sentences: LazyItems[Sentence, TreebankIndex]

    def __post_init__(self) -> None:
        object.__setattr__(self, "relations", self.sentences.corpus_index.relations)

    def counts(self) -> dict[str, int]:
        """The numbers that `Treebank.counts` returns, without reading the sentences again."""
        return dict(self.sentences.corpus_index.counts)

    def _amounts(self) -> list[str]:
        return [amount(len(self), self.unit), amount(self.counts()["words"], "words")]


def open_treebank(
    paths: str | Path | Iterable[str | Path], *, tokens: TokenChoice = "syntactic", limit: int | None = None
) -> LazyTreebank:
    """Index CoNLL-U or CoNLL-X files, and return a treebank that reads its sentences when they are asked for.

    The files must stay as they are while the treebank is used. A `CorpusError` reports a file that has changed.

    The arguments and errors are those of `attentionology.corpora_loaders.load_treebank`. All errors of the files are
    raised here.

    Example:
        >>> from attentionology.corpora_loaders import open_treebank
        >>> from attentionology.corpora_loaders.sample import SAMPLE_TREEBANK
        >>> treebank = open_treebank(SAMPLE_TREEBANK)
        >>> treebank
        LazyTreebank(157 sentences, 2,809 words, 'en_sample.conllu')
        >>> treebank[0].id, [sentence.id for sentence in treebank[1:3]]
        ('garden-01', ['garden-02', 'garden-03'])
    """
    index, first_windows = index_treebank(paths, tokens=tokens, limit=limit, keep=file_index.KEPT_WINDOWS)
    sentences = LazyItems(index, cache=WindowCache(index, first_windows))
    return LazyTreebank(sentences, index.files, index.tokens, index.counts["renamed_sentence_ids"])
