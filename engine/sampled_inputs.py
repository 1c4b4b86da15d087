"""A sample of the inputs of a run, by which it is noticed that two runs have read the same sentences.

Counts do not tell which sentences they are of. So a run keeps a digest of the words of some of its inputs: of all if
there are few, otherwise of those whose ids have the smallest hashes. Because the hashes decide, two runs that share
many sentences have sampled many of the same, and the sample of two runs together is made of their two samples.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Mapping

from ..corpora_loaders import Sentence

SAMPLED = 4096
"""How many inputs are sampled. If two runs of n sentences share m sentences, about 4,096 · m / n of these are
noticed."""


def sample_inputs(inputs: Iterable[Sentence], size: int = SAMPLED) -> dict[str, str]:
    """Return the digest of the words of each sampled input by its id, in the order of the hashes of the ids.

    Example:
        >>> sentences = [Sentence(f"s{i}", ("Birds", "sing")) for i in range(10)]
        >>> sampled = sample_inputs(sentences, 3)
        >>> len(sampled), sampled == sample_inputs(sentences[::-1], 3)
        (3, True)
    """
    smallest = heapq.nsmallest(size, ((_hash(each.id), each.id, _hash("\n".join(each.words))) for each in inputs))
    return {name: words for _, name, words in smallest}


def merged_samples(samples: Iterable[Mapping[str, str]], size: int = SAMPLED) -> dict[str, str]:
    """Return the sample of all inputs together."""
    together = {name: words for sample in samples for name, words in sample.items()}
    return {name: together[name] for name in sorted(together, key=lambda name: (_hash(name), name))[:size]}


def shared_ids(first: Mapping[str, str], second: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the ids that two samples share: those of inputs with the same words, and those of different inputs.

    Example:
        >>> shared_ids({"a": "12", "b": "34"}, {"a": "12", "b": "56", "c": "78"})
        (['a'], ['b'])
    """
    both = [name for name in first if name in second]
    same = [name for name in both if first[name] == second[name]]
    return same, [name for name in both if first[name] != second[name]]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
