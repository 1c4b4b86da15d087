"""Kendall's τ-b of many pairs of rankings at once.

The numbers are those of `scipy.stats.kendalltau` to the last digit. It takes a pair at a time, which cost a sixth of
the time of the test of correlations.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from .batch import Values

_EXACT = 33
"""The largest number of scores whose p value without ties is always exact."""


def kendall(first: Sequence[Values], second: Sequence[Values]) -> tuple[Values, Values]:
    """Compute τ-b and its two-sided p value for each pair; NaN if it is not defined. Only equal numbers are ties."""
    tau, p = np.full(len(first), np.nan), np.full(len(first), np.nan)
    of_length = defaultdict[int, list[int]](list)
    for i, (scores, other_scores) in enumerate(zip(first, second, strict=True)):
        if len(scores) > 1 and np.ptp(scores) > 0 and np.ptp(other_scores) > 0:
            of_length[len(scores)].append(i)
    for indices in of_length.values():
        tau[indices], p[indices] = _of_one_length(
            np.stack([first[i] for i in indices]), np.stack([second[i] for i in indices])
        )
    return tau, p


def _of_one_length(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> tuple[Values, Values]:
    """Compute τ-b and its p value for each row of scores (texts, n), none of which are all equal."""
    n = x.shape[1]
    pairs = n * (n - 1) // 2
    x_order, y_order = _orders(x), _orders(y)
    # Every pair of words is seen twice in the n × n signs, and every word is seen with itself.
    balance = (x_order * y_order).sum((1, 2)) // 2  # pairs in the same order, less those in the opposite order
    x_equal, y_equal = ((signs == 0).sum(2) for signs in (x_order, y_order))  # with each word, itself included
    x_ties, y_ties = ((equal - 1).sum(1) // 2 for equal in (x_equal, y_equal))
    tau = (balance / np.sqrt(pairs - x_ties) / np.sqrt(pairs - y_ties)).clip(-1, 1)
    has_ties = (x_ties > 0) | (y_ties > 0)
    fewer = (pairs - np.abs(balance)) // 2  # discordant pairs or concordant ones, whichever are fewer
    is_exact = ~has_ties & ((n <= _EXACT) | (fewer <= 1))
    p = np.empty(len(x))
    p[is_exact] = [_exact_p(n, int(inversions)) for inversions in fewer[is_exact]]
    # Otherwise, the balance is about normally distributed. This is its variance if x and y are unrelated.
    x_triples, y_triples = (((equal - 1) * (equal - 2)).sum(1) for equal in (x_equal, y_equal))
    x_spread, y_spread = (((equal - 1) * (2 * equal + 5)).sum(1) for equal in (x_equal, y_equal))
    ordered = 2.0 * pairs
    if not is_exact.all():  # which they are if there are only two words
        variance = (ordered * (2 * n + 5) - x_spread - y_spread) / 18 + (2 * x_ties * y_ties) / ordered
        variance += x_triples * y_triples / (9 * ordered * (n - 2))
        p[~is_exact] = 2 * ndtr(-np.abs(balance / np.sqrt(variance)))[~is_exact]
    return tau, p


def _orders(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int8]:
    """Return 1, 0 or −1 for each text and two words, by whether the first one has the higher score (texts, n, n)."""
    first, second = scores[:, :, None], scores[:, None]
    return (first > second).view(np.int8) - (first < second).view(np.int8)


@cache
def _exact_p(n: int, inversions: int) -> float:
    """Return how likely a random permutation of n has at most so few inversions, or at most so few pairs in order."""
    if n == 2 or 4 * inversions == n * (n - 1):
        return 1.0
    if inversions <= 1:  # of 1 and of n permutations, and as many in the reverse order
        return 2.0 / math.factorial(n - inversions) if n - inversions < 171 else 0.0  # whose factorial is not finite
    return float(min(2.0 * np.sum(_permutations(n)[: inversions + 1]) / math.factorial(n), 1.0))


@cache
def _permutations(n: int) -> npt.NDArray[np.float64]:
    """Count the permutations of n ≤ 33 by the number of their inversions, up to half of the pairs."""
    # The last of n words can be put in n places, with 0 to n − 1 inversions. So a count is the sum of the n last ones
    # of the permutations of one word less (Kendall, Rank Correlation Methods, 1970).
    counts = np.zeros(n * (n - 1) // 4 + 1)
    counts[:2] = 1
    for words in range(3, n + 1):
        counts = np.cumsum(counts)
        counts[words:] -= counts[: len(counts) - words].copy()
    return counts
