"""Sentences, and stores of their maps."""

from __future__ import annotations

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import ExtractionLog, extract, store_maps
from tests import tiny

WORDS = ("the", "unbelievable", "man", "\u200b", "saw", "her", "¿")


def sentence(n: int, name: str = "") -> Sentence:
    return Sentence(name or f"of {n}", tuple(WORDS[(n + i) % len(WORDS)] for i in range(n)))


SENTENCES = [sentence(n) for n in (3, 1, 9, 4, 12, 2, 7, 5, 6, 8)]


def store(folder, encoder=None, sentences=SENTENCES, **options):
    return store_maps(encoder or tiny.encoder(), sentences, folder, **options)


def extracted(sentences, **options):
    """Each sentence's map and special positions as `extract` gives them for it alone."""
    encoder = tiny.encoder()
    for one in sentences:
        (batch,) = extract(encoder, [one], log=ExtractionLog(), **options)
        yield batch


def tensors(stored):
    return [batch.maps for batch in stored]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}
