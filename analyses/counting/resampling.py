"""Resampling of sentences that gives the same result however the corpus is split, ordered or batched.

The textbook bootstrap draws N sentences out of N with replacement. It needs to know N, and the weight of one sentence
depends on the draws of all others, so a corpus cannot be counted in parts. Here the weight of a sentence in each
replicate is an independent Poisson(1) draw, which is the limit of the textbook's binomial weights for large N, and it
is computed from a hash of the sentence's id and the seed. Three things follow. Parts of a corpus can be counted on
different machines and added up. The order and the batches have no effect. And replicate r has the same weights for
every head, kind of map and model, so that the difference of two accuracies within a replicate is a paired difference.
The number of sentences that a replicate draws varies around N; rates divide by what the replicate has drawn. The
halves for held-out accuracy are bits of the same hash, for the same reasons.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...corpora_loaders.errors import AttentionologyError

MOST_DRAWN = 20
"""How often a replicate draws one sentence at most, see `poisson_weights`."""

FEWEST_UNITS = 20
"""The smallest effective number of sentences, documents or other units from which an interval may support a claim. With
fewer, a bootstrap knows too little of how much they vary. In the simulations of ``tests/reference/coverage.py``, some
intervals contain the truth in 90 % of the cases with ten units, and all of them in 92 % or more from 20 units on."""

_MASK = (1 << 64) - 1


def sentence_keys(sentence_ids: Sequence[str], seed: int = 0) -> npt.NDArray[np.uint64]:
    """Return a 64-bit hash of each id, which another seed would change."""
    key = (seed & _MASK).to_bytes(8, "little")
    digests = (hashlib.blake2b(i.encode(), digest_size=8, key=key).digest() for i in sentence_ids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def halves(sentence_ids: Sequence[str], splits: int, seed: int = 0) -> npt.NDArray[np.bool_]:
    """Return which sentences are in the first half of each of several random splits, shape (splits, sentences)."""
    bits = np.arange(splits, dtype=np.uint64)[:, None]  # each split has a bit of the hashes of its own
    first: npt.NDArray[np.bool_] = (sentence_keys(sentence_ids, seed)[None, :] >> bits) & np.uint64(1) == 1
    return first


def poisson_weights(sentence_ids: Sequence[str], replicates: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    """Return how often each sentence is drawn in each bootstrap replicate."""
    # The weights are independent Poisson(1) draws. The weight of a sentence in replicate r comes from the hash of its
    # id, mixed with r by splitmix64 (Steele, Lea & Flood 2014), and turned into a Poisson draw by the inverse of the
    # cumulative distribution.
    # Returns the weights, shape (replicates, sentences), which cannot be written to.
    return _poisson_weights(tuple(sentence_ids), replicates, seed)


@functools.lru_cache(maxsize=1)  # all metrics with a bootstrap draw the sentences of a batch, one after the other
def _poisson_weights(sentence_ids: tuple[str, ...], replicates: int, seed: int) -> npt.NDArray[np.uint8]:
    weights = weights_of_keys(sentence_keys(sentence_ids, seed), replicates)
    weights.setflags(write=False)
    return weights


def effective_number(sizes: npt.NDArray[Any]) -> float:
    """Return how many units of equal size would give as certain a number as units of these sizes (Kish 1965)."""
    return float(sizes.sum() ** 2 / max(1, (sizes**2).sum()))


def effective_number_drawn(total: int, drawn: npt.NDArray[Any]) -> float:
    """Return the `effective_number` of the units of ``total`` decisions; NaN without bootstrap replicates."""
    # drawn: the number of decisions in each replicate. As each unit is drawn a Poisson(1) number of times, its variance
    # is the sum of the squared sizes of the units, which no table has. With 1,000 replicates, the error is 4 %.
    if not len(drawn) or not total:
        return math.nan
    return float(total**2 / np.mean((drawn - float(total)) ** 2))


def weights_of_keys(keys: npt.NDArray[np.uint64], replicates: int) -> npt.NDArray[np.uint8]:
    """Return the weights of `poisson_weights` for sentences whose `sentence_keys` are known."""
    steps = np.arange(1, replicates + 1, dtype=np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15)
    state = keys[None, :] + steps
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)  # the splitmix64 finalizer
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    uniform = (state >> np.uint64(11)).astype(np.float64) * 2.0**-53  # the upper 53 bits fill a float64's mantissa
    mass = np.exp(-1.0) / np.array([math.factorial(k) for k in range(MOST_DRAWN)], dtype=np.float64)
    weights: npt.NDArray[np.uint8] = np.searchsorted(np.cumsum(mass), uniform, side="right").astype(np.uint8)
    return weights


def simultaneous_intervals(estimates: Sequence[tuple[float, npt.NDArray[np.float64]]]) -> list[tuple[float, float]]:
    """Return intervals of several numbers, given with their replicates, that hold for all together in 95 % of cases.

    They are as many standard deviations wide to either side as the largest deviation of a replicate from its number has
    in 95 % of the replicates. NaN without replicates.
    """
    values, replicates = np.array([value for value, _ in estimates]), [drawn for _, drawn in estimates]
    if not replicates or len({len(drawn) for drawn in replicates}) > 1:
        return [(math.nan, math.nan)] * len(values)
    drawn = np.array(replicates)
    drawn = drawn[:, np.isfinite(drawn).all(0)]
    if drawn.shape[1] < 2:
        return [(math.nan, math.nan)] * len(values)
    deviations = drawn.std(axis=1, ddof=1)
    varies = deviations > 0
    largest = np.abs(drawn - values[:, None])[varies] / deviations[varies, None]
    width = float(np.quantile(largest.max(0), 0.95)) if varies.any() else 0.0
    return list(zip((values - width * deviations).tolist(), (values + width * deviations).tolist(), strict=True))


MOST_DECISIONS = 2**30
"""The largest number of decisions of one group if there are bootstrap replicates. A replicate draws about as many
decisions as there are, and int32 holds numbers up to twice this number."""

TOO_LARGE = 2**31  # the smallest number that int32 does not hold


class TooManyDecisionsError(AttentionologyError, OverflowError):
    """A group has more decisions than the bootstrap can count exactly."""


def check_limit(decisions: Mapping[str, int], replicates: int) -> None:
    """Check that the bootstrap can count the decisions of each group exactly."""
    if not replicates or not decisions:
        return
    group = max(decisions, key=lambda name: decisions[name])
    if decisions[group] > MOST_DECISIONS:
        raise TooManyDecisionsError(
            f"there are {decisions[group]:,} decisions of the group {group!r}, and with bootstrap replicates no more "
            f"than {MOST_DECISIONS:,} of one group are counted exactly; use --replicates 0, or less text"
        )
