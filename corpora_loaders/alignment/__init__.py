"""Sentence pairs of two languages, and files of links between their words."""

from .bitext import Bitext, LazyBitext, load_bitext, open_bitext
from .bitext_files import SentencePair
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
