"""Files → annotated text. One file per format; no torch here."""

from corpora_loaders.conllu_file import read_conllu
from corpora_loaders.errors import AttentionologyError, CorpusError
from corpora_loaders.frequencies import read_frequencies
from corpora_loaders.sentence import Sentence
from corpora_loaders.surface import surface_sentence
from corpora_loaders.treebank import CorpusFile, Treebank, load_treebank

__all__ = [
    "AttentionologyError",
    "CorpusError",
    "CorpusFile",
    "Sentence",
    "Treebank",
    "load_treebank",
    "read_conllu",
    "read_frequencies",
    "surface_sentence",
]
