"""Single decisions of a head, to look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attentionology.analyses.coreference.antecedents import DIRECTIONS, antecedent_hits
from attentionology.analyses.coreference.choices import POLICIES, Choice, choices_of
from attentionology.corpora_loaders.coreference import Document
from attentionology.extractors import MapBatch, Window


@dataclass(frozen=True)
class Example:
    """What one head decides about one mention.

    Attributes:
        document: where the mention stands.
        choice: what there was to decide.
        weights: of the head word of each candidate, counted through the document.
        right: whether the largest is that of an antecedent.
    """

    document: Document
    choice: Choice
    weights: dict[int, float]
    right: bool


def examples_of(
    batch: MapBatch, place: tuple[str, int, int], policy: str, *, singletons: bool = False
) -> list[Example]:
    """All decisions of one head in a batch, in its order.

    Args:
        batch: word-level maps of windows.
        place: direction, and layer and head, both from 1.
        policy: one of `POLICIES`.
        singletons: as in `CoreferenceAccuracy`.
    """
    direction, layer, head = place
    found = choices_of(batch, singletons=singletons)
    hits = antecedent_hits(batch, found)[:, POLICIES.index(policy), DIRECTIONS.index(direction), layer - 1, head - 1]
    maps = [one[layer - 1, head - 1] for _, one in batch.unpadded()]
    shown = []
    for (at, choice), right in zip(found, hits.tolist(), strict=True):
        window = batch.sentences[at]
        assert isinstance(window, Window)  # noqa: S101  # choices are made of windows
        position = np.flatnonzero(batch.words[at].numpy())
        values = maps[at] if direction == DIRECTIONS[0] else maps[at].T
        row = values[position[choice.head - window.start]]
        candidates = sorted(choice.candidates(policy, window))
        weights = {word: float(row[position[word - window.start]]) for word in candidates}
        shown.append(Example(window.source, choice, weights, right))
    return shown
