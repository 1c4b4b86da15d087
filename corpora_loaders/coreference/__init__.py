"""Coreference corpora (CoNLL-2012, CoNLL-U with entities, GAP) → documents with mentions."""

from .benchmarks import ANTI, FEMININE, MASCULINE, PRO
from .document import TYPES, ZERO, Document, Mention, PronounQuestion
from .english import PRONOUNS, TITLES

__all__ = [
    "ANTI",
    "FEMININE",
    "MASCULINE",
    "PRO",
    "PRONOUNS",
    "TITLES",
    "TYPES",
    "ZERO",
    "Document",
    "Mention",
    "PronounQuestion",
]
