"""Resampling of sentences that gives the same result however the corpus is split, ordered or batched.

What happens to a sentence depends on its id and the seed alone, so parts of a corpus can be counted on
different machines and added up.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1


def sentence_keys(sentence_ids: Sequence[str], seed: int = 0) -> npt.NDArray[np.uint64]:
    """One 64-bit hash per id."""
    key = (seed & _MASK).to_bytes(8, "little")
    digests = (hashlib.blake2b(i.encode(), digest_size=8, key=key).digest() for i in sentence_ids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def halves(sentence_ids: Sequence[str], splits: int, seed: int = 0) -> npt.NDArray[np.bool_]:
    """Several ways to cut the sentences into two halves; shape (splits, sentences).

    Args:
        sentence_ids: of the sentences.
        splits: how many ways, at most 64.
        seed: of the hash.
    """
    bits = np.arange(splits, dtype=np.uint64)[:, None]
    first: npt.NDArray[np.bool_] = (sentence_keys(sentence_ids, seed)[None, :] >> bits) & np.uint64(1) == 1
    return first


def poisson_weights(sentence_ids: Sequence[str], replicates: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    """How often each sentence is drawn in each bootstrap replicate; shape (replicates, sentences).

    The weights are independent Poisson(1) draws, the limit of resampling with replacement when nobody knows
    the size of the whole. Replicate r of a sentence comes from the hash of its id, mixed with r.
    """
    steps = np.arange(1, replicates + 1, dtype=np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15)
    state = sentence_keys(sentence_ids, seed)[None, :] + steps
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)  # the splitmix64 finaliser
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    uniform = (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
    mass = np.exp(-1.0) / np.array([math.factorial(k) for k in range(20)], dtype=np.float64)
    weights: npt.NDArray[np.uint8] = np.searchsorted(np.cumsum(mass), uniform, side="right").astype(np.uint8)
    return weights
