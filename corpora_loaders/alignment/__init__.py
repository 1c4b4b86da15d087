"""Sentence pairs of two languages, and files of links between their words."""

from attentionology.corpora_loaders.alignment.bitext import Bitext, load_bitext
from attentionology.corpora_loaders.alignment.lazy_bitext import LazyBitext, open_bitext
from attentionology.corpora_loaders.alignment.link_files import LinkFile, load_links, write_links
from attentionology.corpora_loaders.alignment.linked import add_links
from attentionology.corpora_loaders.alignment.links import Link, LinkSource, PairLinks
from attentionology.corpora_loaders.alignment.sentence_pair import SentencePair

__all__ = [
    "Bitext",
    "LazyBitext",
    "Link",
    "LinkFile",
    "LinkSource",
    "PairLinks",
    "SentencePair",
    "add_links",
    "load_bitext",
    "load_links",
    "open_bitext",
    "write_links",
]
