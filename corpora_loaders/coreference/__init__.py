"""Coreference corpora (CoNLL-2012, CoNLL-U with entities, GAP) → documents with mentions."""

from attentionology.corpora_loaders.coreference.document import (
    TYPES,
    ZERO,
    Document,
    Mention,
    PronounQuestion,
)
from attentionology.corpora_loaders.coreference.documents import Documents
from attentionology.corpora_loaders.coreference.english import PRONOUNS, TITLES
from attentionology.corpora_loaders.coreference.formats import FORMATS, CorpusFormat, format_of
from attentionology.corpora_loaders.coreference.lazy_documents import LazyDocuments, open_documents
from attentionology.corpora_loaders.coreference.load import detect_format, load_documents
from attentionology.corpora_loaders.coreference.winobias import ANTI, FEMININE, MASCULINE, PRO

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
    "load_documents",
    "open_documents",
]
