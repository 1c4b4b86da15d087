"""Sentence pairs of two languages, and files of links between their words."""

from .bitext import Bitext, SentencePair, load_bitext
from .lazy_bitext import LazyBitext, open_bitext
from .link_files import add_links, load_links, write_links
from .links import Link, LinkFile, LinkSource, PairLinks

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
