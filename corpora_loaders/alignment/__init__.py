"""Sentence pairs of two languages, and files of links between their words."""

from attentionology.corpora_loaders.alignment.bitext import Bitext, SentencePair, load_bitext
from attentionology.corpora_loaders.alignment.link_files import LinkFile, load_links, write_links
from attentionology.corpora_loaders.alignment.linked import add_links
from attentionology.corpora_loaders.alignment.links import Link, LinkSource, PairLinks

__all__ = [
    "Bitext",
    "Link",
    "LinkFile",
    "LinkSource",
    "PairLinks",
    "SentencePair",
    "add_links",
    "load_bitext",
    "load_links",
    "write_links",
]
