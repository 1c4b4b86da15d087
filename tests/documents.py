"""Documents with mentions, by hand or at random, without files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attentionology.corpora_loaders import Sentence
from attentionology.corpora_loaders.coreference import Document, Documents
from attentionology.corpora_loaders.coreference.building import Marked, build_document
from attentionology.extractors import Window

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
