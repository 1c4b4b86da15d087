"""How well distances and depths describe trees: UUAS, Spearman correlations, and root accuracy (Hewitt & Manning 2019).

The scores of a corpus are made of sums over sentences, so that a bootstrap can draw the sentences: those of each
sentence are a numerator and a denominator. Correlations are averaged by sentence length first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy.stats import rankdata

from .annotation import NO_PATH

LENGTHS = range(5, 51)
"""The sentence lengths over which correlations are averaged."""


class StateScore(NamedTuple):
    """A score of a probe: its name, and whether it is averaged by sentence length, see `mean_by_length`."""

    name: str
    by_length: bool = False


class Fraction(NamedTuple):
    """What a sentence adds to a score: to its numerator and to its denominator."""

    found: float
    of: float


def minimum_edges(distances: Float[ndarray, "words words"], kept: Bool[ndarray, " words"]) -> set[tuple[int, int]]:
    """Return the edges of the minimum spanning tree over some words, by their 0-based numbers, the smaller first.

    Of equal distances, the first in the order of rows is taken, as by Kruskal's algorithm in the published code. Words
    at an infinite distance are not connected.

    Example:
        >>> import numpy as np
        >>> sorted(minimum_edges(np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]]), np.array([True, True, True])))
        [(0, 1), (1, 2)]
    """
    words = np.flatnonzero(kept)
    first, second = np.triu_indices(len(words), 1)
    of_pair = distances[words[first], words[second]]
    order = np.argsort(of_pair, kind="stable")
    root_of = list(range(len(words)))  # of each word, a word that is nearer to the one that its tree is known by

    def tree_of(word: int) -> int:
        while root_of[word] != word:
            root_of[word] = root_of[root_of[word]]
            word = root_of[word]
        return word

    edges: set[tuple[int, int]] = set()
    for pair in order:
        if len(edges) == len(words) - 1:
            break
        one, other = int(first[pair]), int(second[pair])
        if np.isinf(of_pair[pair]) or tree_of(one) == tree_of(other):
            continue
        root_of[tree_of(one)] = tree_of(other)
        edges.add((int(words[one]), int(words[other])))
    return edges


def tree_edges(distances: Int[ndarray, "words words"], kept: Bool[ndarray, " words"]) -> set[tuple[int, int]]:
    """Return the edges of the gold tree over some words, given its distances.

    Where punctuation stood between words, it is the spanning tree of the distances of what is left. Words of different
    trees, whose distance is `NO_PATH`, are not connected.
    """
    return minimum_edges(np.where(distances == NO_PATH, np.inf, distances), kept)


def score_edges(
    predicted: Float[ndarray, "words words"], gold: Int[ndarray, "words words"], kept: Bool[ndarray, " words"]
) -> Fraction:
    """Return how many edges of the gold tree are in the minimum spanning tree of the predicted distances."""
    edges = tree_edges(gold, kept)
    return Fraction(len(edges & minimum_edges(predicted, kept)), len(edges))


def correlate_distances(predicted: Float[ndarray, "words words"], gold: Int[ndarray, "words words"]) -> Fraction:
    """Return the sum of the words' correlations of predicted and gold distances, and the number of these words.

    Each word's distances to all words of its tree are ranked, itself included. A word whose distances are all equal has
    no correlation and is left out.
    """
    if (gold == NO_PATH).any():
        by_word = zip(predicted, gold, gold != NO_PATH, strict=True)
        values = np.array([spearman(row[known], of_word[known]) for row, of_word, known in by_word])
    else:
        values = _correlations(predicted, gold)
    return Fraction(float(np.nansum(values)), int(np.isfinite(values).sum()))


def correlate_depths(predicted: Float[ndarray, " words"], gold: Int[ndarray, " words"]) -> Fraction:
    """Return the correlation of predicted and gold depths, over the words that have a depth, and 1; or 0 and 0."""
    known = gold != NO_PATH
    value = spearman(predicted[known], gold[known])
    return Fraction(0.0, 0) if np.isnan(value) else Fraction(value, 1)


def score_root(
    predicted: Float[ndarray, " words"], gold: Int[ndarray, " words"], kept: Bool[ndarray, " words"]
) -> Fraction:
    """Return whether the word of the smallest predicted depth, punctuation left out, is a root."""
    words = np.flatnonzero(kept)
    if not (gold[words] == 0).any():
        return Fraction(0, 0)
    return Fraction(float(gold[words[predicted[words].argmin()]] == 0), 1)


def spearman(one: ndarray, other: ndarray) -> float:
    """Return the rank correlation of two sequences; NaN if one of them is constant or shorter than two.

    Example:
        >>> round(spearman(np.array([1.0, 2.0, 3.0]), np.array([10, 20, 40])), 6)
        1.0
    """
    return float(_correlations(one[None], other[None])[0]) if len(one) > 1 else float("nan")


def _correlations(one: Float[ndarray, "rows n"], other: Float[ndarray, "rows n"]) -> Float[ndarray, " rows"]:
    """Return the rank correlation of each row."""
    ranks = [rankdata(values, axis=1) for values in (one, other)]
    centered = [rank - rank.mean(1, keepdims=True) for rank in ranks]
    sizes = [np.sqrt((rank**2).sum(1)) for rank in centered]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((centered[0] * centered[1]).sum(1) / (sizes[0] * sizes[1]))


def mean_by_length(fractions: Sequence[Fraction], lengths: Sequence[int], weights: ndarray | None = None) -> float:
    """Return the mean over `LENGTHS` of what sentences of each length add up to; NaN if there is none of them.

    Args:
        fractions: what each sentence adds.
        lengths: the number of words of each sentence.
        weights: how often each sentence is counted; None for once.
    """
    found, of = np.array(fractions, dtype=np.float64).reshape(-1, 2).T
    counted = np.ones(len(found)) if weights is None else weights
    size = LENGTHS.stop
    places = np.minimum(lengths, size)  # all longer sentences share a place that is not read
    sums, totals = (np.bincount(places, counted * values, minlength=size + 1) for values in (found, of))
    used = [length for length in LENGTHS if totals[length] > 0]
    return float(np.mean(sums[used] / totals[used])) if used else float("nan")
