"""Treebanks of Universal Dependencies by name, such as ``ud:en_ewt:dev``."""

from .files import corpus_path, source_of, treebank_path
from .names import RELEASE, KnownTreebank, TreebankName, is_treebank_name, known_treebanks

__all__ = [
    "RELEASE",
    "KnownTreebank",
    "TreebankName",
    "corpus_path",
    "is_treebank_name",
    "known_treebanks",
    "source_of",
    "treebank_path",
]
