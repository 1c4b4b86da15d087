"""Treebanks of Universal Dependencies by name, such as ``ud:en_ewt:dev``."""

from .files import Matches, corpus_path, matching_treebanks, source_of, treebank_path
from .names import RELEASE, KnownTreebank, TreebankName, grouped_reasons, is_pattern, is_treebank_name, known_treebanks

__all__ = [
    "RELEASE",
    "KnownTreebank",
    "Matches",
    "TreebankName",
    "corpus_path",
    "grouped_reasons",
    "is_pattern",
    "is_treebank_name",
    "known_treebanks",
    "matching_treebanks",
    "source_of",
    "treebank_path",
]
