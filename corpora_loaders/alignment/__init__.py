"""Sentence pairs of two languages, and files of links between their words."""

from .bitext import Bitext, LazyBitext, Link, LinkFile, LinkSource, PairLinks, SentencePair, add_links
from .links import write_links
from .loading import load_bitext, load_links, open_bitext

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
