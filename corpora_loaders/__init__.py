"""Files → annotated text. One file per format; no torch here.

The names below are loaded when they are first used, because the command line needs few of them for its help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentionology.storage.lazy_names import LazyNames

if TYPE_CHECKING:
    from attentionology.corpora_loaders.conllu_file import read_conllu
    from attentionology.corpora_loaders.corpus import Corpus, CorpusFile
    from attentionology.corpora_loaders.errors import AttentionologyError, CorpusError
    from attentionology.corpora_loaders.frequencies import read_frequencies
    from attentionology.corpora_loaders.labelled import LabelledTexts, load_labelled
    from attentionology.corpora_loaders.lazy_text import LazyText, open_text
    from attentionology.corpora_loaders.lazy_treebank import LazyTreebank, open_treebank
    from attentionology.corpora_loaders.pairs import Pair, pair_paragraphs
    from attentionology.corpora_loaders.sentence import Sentence
    from attentionology.corpora_loaders.surface import surface_sentence
    from attentionology.corpora_loaders.text import PlainText, load_text
    from attentionology.corpora_loaders.tree import OFFSETS, coarse_relation, is_punct
    from attentionology.corpora_loaders.treebank import Treebank, load_treebank
    from attentionology.corpora_loaders.vectors import WordVectors, load_vectors

_NAMES = LazyNames(
    __name__,
    {
        "conllu_file": ["read_conllu"],
        "corpus": ["Corpus", "CorpusFile"],
        "errors": ["AttentionologyError", "CorpusError"],
        "frequencies": ["read_frequencies"],
        "labelled": ["LabelledTexts", "load_labelled"],
        "lazy_text": ["LazyText", "open_text"],
        "lazy_treebank": ["LazyTreebank", "open_treebank"],
        "pairs": ["Pair", "pair_paragraphs"],
        "sentence": ["Sentence"],
        "surface": ["surface_sentence"],
        "text": ["PlainText", "load_text"],
        "tree": ["OFFSETS", "coarse_relation", "is_punct"],
        "treebank": ["Treebank", "load_treebank"],
        "vectors": ["WordVectors", "load_vectors"],
    },
)

__all__ = [
    "OFFSETS",
    "AttentionologyError",
    "Corpus",
    "CorpusError",
    "CorpusFile",
    "LabelledTexts",
    "LazyText",
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
    "open_text",
    "open_treebank",
    "pair_paragraphs",
    "read_conllu",
    "read_frequencies",
    "surface_sentence",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = _NAMES.load, _NAMES.listed
