"""Sentence pairs of two languages, and files of links between their words."""

from .bitext import Bitext, load_bitext
from .bitext_files import SentencePair
from .lazy_bitext import LazyBitext, open_bitext
from .link_files import LinkFile, add_links, load_links, write_links
from .links import Link, LinkSource, PairLinks

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
