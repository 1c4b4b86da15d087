"""Documents with mentions, by hand or at random, without files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attentionology.analyses.coreference.accuracy import CoreferenceAccuracy
from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.coreference import Document
from attentionology.corpora_loaders.coreference.building import Marked, build_document
from attentionology.corpora_loaders.documents import Documents
from attentionology.extractors import MapBatch, Window
from tests.maps import batch_of

Spans = list[tuple[int, int, str]]
"""First word, one past the last, entity."""


def document(name: str, sentences: list[str], mentions: Spans, **columns: list[str]) -> Document:
    """Words are what stands between blanks; columns like ``xpos`` are given the same way."""
    built = []
    for n, text in enumerate(sentences):
        given: dict[str, Any] = {key: tuple(column[n].split()) for key, column in columns.items()}
        built.append(Sentence(f"{name}-{n}", tuple(text.split()), document=name, **given))
    return build_document(name, built, [Marked(((start, stop),), entity) for start, stop, entity in mentions])


def window(source: Document, start: int = 0, stop: int | None = None, seen: int = 0) -> Window:
    """Some words of a document, all by default."""
    return Window(f"{source.id}@{start}", source.words[start:stop], source=source, start=start, seen=seen)


def corpus(*documents: Document) -> Documents:
    """All of them."""
    return Documents(tuple(s for d in documents for s in d.sentences), documents=documents)


TAGS = ("NN", "NNP", "PRP", "DT", "IN")
WORDS = ("the", "Ann", "she", "dog", "dogs", "it", "of")


def random_document(
    rng: np.random.Generator, name: str, words: Sequence[str] = WORDS, tags: Sequence[str] = TAGS
) -> Document:
    """Nested, crossing, doubled and single mentions of a few entities."""
    lengths = rng.integers(1, 9, size=rng.integers(1, 5))
    sentences = [" ".join(rng.choice(words, size=n)) for n in lengths]
    xpos = [" ".join(rng.choice(tags, size=n)) for n in lengths]
    total = int(lengths.sum())
    mentions = []
    for _ in range(int(rng.integers(0, 12))):
        start = int(rng.integers(0, total))
        mentions.append((start, int(rng.integers(start + 1, min(start + 4, total) + 1)), f"e{rng.integers(0, 4)}"))
    return document(name, sentences, mentions, xpos=xpos)


def random_batch(number: int = 8, labels: Sequence[str] = ()) -> tuple[Documents, MapBatch]:
    """Random documents, which have the labels in turn, and random maps of 2 layers and 3 heads of all their words."""
    rng = np.random.default_rng(1)
    docs = [random_document(rng, f"d{n}") for n in range(number)]
    if labels:
        docs = [replace(one, labels=(labels[n % len(labels)],)) for n, one in enumerate(docs)]
    windows = [window(one) for one in docs]
    maps = [rng.random((2, 3, len(each) + 2, len(each) + 2)).astype(np.float32) for each in windows]
    return corpus(*docs), batch_of(windows, maps)


def counted_mentions(number: int = 8, labels: Sequence[str] = ()) -> CoreferenceAccuracy:
    """The counts over `random_batch`."""
    docs, batch = random_batch(number, labels)
    metric = CoreferenceAccuracy(docs, 2, 3, replicates=20)
    metric.update(batch)
    return metric
