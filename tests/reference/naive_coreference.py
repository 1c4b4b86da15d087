"""Antecedent selection accuracy as one would do it by hand: one mention, one head, one candidate at a time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from attentionology.corpora_loaders.coreference import Document
from attentionology.extractors import Window

Cell = tuple[str, str, str, int, int]
"""Candidates, type, direction, layer and head, both 1-based."""


def to_resolve(window: Window, singletons: bool) -> list[tuple[Any, dict[str, list[int]], set[int]]]:
    """Each mention to score, words to choose from by policy, right words."""
    document = window.source
    inside: list[Any] = []
    for m in document.mentions:
        if m.head is not None and m.start >= window.start and m.stop <= window.stop:
            inside.append(m)
    found: list[Any] = []
    for m in inside:
        if m.stop <= window.seen:
            continue
        place = document.mentions.index(m)
        mates = [a for a in inside if a.entity == m.entity and document.mentions.index(a) < place]
        right = {a.head for a in mates} - {m.head}
        if not right:
            continue
        allowed = [c for c in inside if singletons or sum(other.entity == c.entity for other in document.mentions) > 1]
        found.append(
            (
                m,
                {
                    "preceding": sorted({c.head for c in allowed if document.mentions.index(c) < place} - {m.head}),
                    "mentions": sorted({c.head for c in allowed if c is not m} - {m.head}),
                    "words": [w for w in range(window.start, window.stop) if w != m.head],
                },
                right,
            )
        )
    return found


def counts(
    windows: list[Window], maps: list[np.ndarray], *, singletons: bool = False, weights: dict[str, int] | None = None
) -> tuple[Counter[Cell], Counter[str]]:
    """Right decisions by cell, and scored mentions by type; ``weights`` by document, 1 by default."""
    right: Counter[Cell] = Counter()
    total: Counter[str] = Counter()
    for window, word_maps in zip(windows, maps, strict=True):
        weight = 1 if weights is None else weights[window.source.id]
        for mention, by_policy, gold in to_resolve(window, singletons):
            for kind in ("all", mention.type):
                total[kind] += weight
            for layer, head in np.ndindex(word_maps.shape[:2]):
                inner = word_maps[layer, head, 1:-1, 1:-1]
                for policy, candidates in by_policy.items():
                    for direction in ("mention->antecedent", "antecedent->mention"):
                        best, most = None, -np.inf
                        for word in candidates:
                            i, j = mention.head - window.start, word - window.start
                            value = inner[i, j] if direction.startswith("mention") else inner[j, i]
                            if value > most:
                                best, most = word, value
                        for kind in ("all", mention.type):
                            right[policy, kind, direction, layer + 1, head + 1] += weight * (best in gold)
    return right, total


def nearest_hits(document: Document, windows: list[Window], singletons: bool) -> dict[str, int]:
    """How often the mention before, and the one before with the same head word, is right."""
    found = Counter(nearest=0, head_match=0)
    for window in windows:
        for mention, _, gold in to_resolve(window, singletons):
            before = [
                c
                for c in document.mentions[: document.mentions.index(mention)]
                if c.start >= window.start and c.stop <= window.stop and c.head != mention.head
                and (singletons or len([o for o in document.mentions if o.entity == c.entity]) > 1)
            ]  # fmt: skip
            found["nearest"] += before[-1].head in gold
            form = document.words[mention.head or 0].lower()
            same = [c for c in before if document.words[c.head or 0].lower() == form]
            found["head_match"] += bool(same) and same[-1].head in gold
    return dict(found)
