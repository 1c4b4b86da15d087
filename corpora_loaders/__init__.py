"""Files → annotated text. One file per format; no torch here.

The names below are loaded when they are first used, because the command line needs few of them for its help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..storage.lazy_names import LazyNames

if TYPE_CHECKING:
    from .conllu_file import read_conllu
    from .corpus import Corpus, CorpusFile
    from .errors import AttentionologyError, CorpusError
    from .frequencies import read_frequencies
    from .labelled import LabelledTexts, load_labelled
    from .lazy_text import LazyText, open_text
    from .lazy_treebank import LazyTreebank, open_treebank
    from .pairs import Pair, pair_paragraphs
    from .sentence import Sentence
    from .surface import surface_sentence
    from .text import PlainText, load_text
    from .tree import OFFSETS, coarse_relation, is_punct
    from .treebank import Treebank, load_treebank
    from .vectors import WordVectors, load_vectors

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
