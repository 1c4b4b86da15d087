"""Coreference corpora (CoNLL-2012, CoNLL-U with entities, GAP) → documents with mentions."""

from .benchmarks import ANTI, FEMININE, MASCULINE, PRO
from .document import TYPES, ZERO, Document, Mention, PronounQuestion
from .documents import Documents, LazyDocuments, load_documents, open_documents
from .english import PRONOUNS, TITLES
from .formats import FORMATS, CorpusFormat, detect_format, format_of, get_format, list_formats

__all__ = [
    "ANTI",
    "FEMININE",
    "FORMATS",
    "MASCULINE",
    "PRO",
    "PRONOUNS",
    "TITLES",
    "TYPES",
    "ZERO",
    "CorpusFormat",
    "Document",
    "Documents",
    "LazyDocuments",
    "Mention",
    "PronounQuestion",
    "detect_format",
    "format_of",
    "get_format",
    "list_formats",
    "load_documents",
    "open_documents",
]
