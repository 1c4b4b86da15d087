"""Alignments that need no model: the diagonal, and words of the same form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ...corpora_loaders.alignment import Link, SentencePair


def diagonal(pair: SentencePair) -> set[Link]:
    """Link target word k of m to source word ⌈k · n / m⌉ of n, all counted from 1."""
    n, m = len(pair.source), len(pair)
    return {(math.ceil(k * n / m) - 1, k - 1) for k in range(1, m + 1)}


def same_form(pair: SentencePair) -> set[Link]:
    """Link target words to the source word of the same form nearest to the diagonal; all others as `diagonal`."""
    # Letter case is ignored. Of two source words at the same distance, the first is taken.
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(pair.source):
        positions.setdefault(word.casefold(), []).append(position)
    links = set()
    for source, target in diagonal(pair):
        same = positions.get(pair.words[target].casefold(), [source])
        links.add((min(same, key=lambda position: abs(position - source)), target))
    return links


BASELINES: Mapping[str, Callable[[SentencePair], set[Link]]] = {"diagonal": diagonal, "same form": same_form}
"""The baselines by name."""
