"""Sentence pairs of two languages, and files of links between their words."""

from .bitext import Bitext, LazyBitext, load_bitext, open_bitext
from .link_files import LinkFile, load_links, write_links
from .linked import add_links
from .links import Link, LinkSource, PairLinks
from .sentence_pair import SentencePair

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
