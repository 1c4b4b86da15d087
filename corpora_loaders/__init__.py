"""Files → annotated text. One file per format; no torch here."""

from typing import TYPE_CHECKING, Any

from attentionology.corpora_loaders.conllu_file import read_conllu
from attentionology.corpora_loaders.corpus import Corpus, CorpusFile
from attentionology.corpora_loaders.errors import AttentionologyError, CorpusError
from attentionology.corpora_loaders.frequencies import read_frequencies
from attentionology.corpora_loaders.labelled import LabelledTexts, load_labelled
from attentionology.corpora_loaders.lazy_treebank import LazyTreebank, open_treebank
from attentionology.corpora_loaders.pairs import Pair, pair_paragraphs
from attentionology.corpora_loaders.sentence import Sentence
from attentionology.corpora_loaders.surface import surface_sentence
from attentionology.corpora_loaders.text import PlainText, load_text
from attentionology.corpora_loaders.tree import OFFSETS, coarse_relation, is_punct
from attentionology.corpora_loaders.treebank import Treebank, load_treebank

if TYPE_CHECKING:
    from attentionology.corpora_loaders.vectors import WordVectors, load_vectors

__all__ = [
    "OFFSETS",
    "AttentionologyError",
    "Corpus",
    "CorpusError",
    "CorpusFile",
    "LabelledTexts",
    "LazyTreebank",
    "Pair",
    "PlainText",
    "Sentence",
    "Treebank",
    "WordVectors",
    "coarse_relation",
    "is_punct",
    "load_labelled",
    "load_text",
    "load_treebank",
    "load_vectors",
    "open_treebank",
    "pair_paragraphs",
    "read_conllu",
    "read_frequencies",
    "surface_sentence",
]


def __getattr__(name: str) -> Any:
    """Load the word vectors when they are needed, because numpy would take half of the time of ``--help``."""
    if name not in ("WordVectors", "load_vectors"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from attentionology.corpora_loaders import vectors

    return getattr(vectors, name)
