"""Examples of the decisions of one attention head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...corpora_loaders.coreference import Document
from ...extractors import MapBatch, Window
from .antecedents import DIRECTIONS, antecedent_hits
from .choices import POLICIES, Choice, choices_of


@dataclass(frozen=True)
class CoreferenceExample:
    """The decision of one attention head about one mention.

    Attributes:
        document: the document of the mention.
        choice: the mention and its candidates.
        weights: the weight of each candidate by its head word, which is counted from 0 through the document.
        right: whether the largest weight is that of an antecedent.
    """

    document: Document
    choice: Choice
    weights: dict[int, float]
    right: bool


def examples_of(
    batch: MapBatch, attention_head: tuple[str, int, int], policy: str, *, singletons: bool = False
) -> list[CoreferenceExample]:
    """Return all decisions of one attention head in a batch, in its order."""
    direction, layer, head = attention_head
    choices = choices_of(batch, singletons=singletons)
    hits = antecedent_hits(batch, choices)[:, POLICIES.index(policy), DIRECTIONS.index(direction), layer - 1, head - 1]
    maps = [array[layer - 1, head - 1] for _, array in batch.unpadded()]
    examples = []
    for (index, choice), right in zip(choices, hits.tolist(), strict=True):
        window = batch.sentences[index]
        assert isinstance(window, Window)  # noqa: S101  # choices are made of windows
        position = np.flatnonzero(batch.words[index].numpy())
        values = maps[index] if direction == DIRECTIONS[0] else maps[index].T
        row = values[position[choice.head - window.start]]
        candidates = sorted(choice.candidates(policy, window))
        weights = {word: float(row[position[word - window.start]]) for word in candidates}
        examples.append(CoreferenceExample(window.source, choice, weights, right))
    return examples
