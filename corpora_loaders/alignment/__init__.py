"""Sentence pairs of two languages, and files of links between their words."""

from .bitext import Bitext, Link, LinkFile, LinkSource, PairLinks, SentencePair, add_links
from .links import write_links
from .loading import load_bitext, load_link_files, load_links

__all__ = [
    "Bitext",
    "Link",
    "LinkFile",
    "LinkSource",
    "PairLinks",
    "SentencePair",
    "add_links",
    "load_bitext",
    "load_link_files",
    "load_links",
    "write_links",
]
