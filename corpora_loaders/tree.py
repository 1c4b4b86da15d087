"""Dependency trees: their shape, given as a sequence of heads (1-based, 0 = root, None = unknown), and relations."""

from __future__ import annotations

from collections.abc import Sequence

OFFSETS = tuple(o for o in range(-5, 6) if o != 0)
"""Fixed offsets of the positional baseline: the head is the word so many places to the right (+) or left (−).

The prediction is clipped to the first and last word. The code of Clark et al. (2019) tries −3 … +2 and clips to 0,
which predicts ROOT for sentence-initial words; the baseline here, like the heads it stands beside, only predicts words.
"""


def coarse_relation(relation: str) -> str:
    """The universal part of a relation: ``nsubj`` of ``nsubj:pass``."""
    return relation.split(":", 1)[0]


def is_punct(relation: str) -> bool:
    """Whether a relation is that of punctuation, which scores of trees leave out."""
    return coarse_relation(relation).lower() == "punct"


def depths(heads: Sequence[int | None]) -> list[int]:
    """Number of arcs from each word up to the root, or up to the word where the chain of known heads ends.

    Args:
        heads: head of word 1, 2, …; each within ``0 … len(heads)``.

    Raises:
        ValueError: the heads contain a cycle; the message lists the words on it.
    """
    known: list[int] = [-1] * len(heads)
    for start in range(len(heads)):
        path: list[int] = []
        on_path: set[int] = set()
        word = start
        while known[word] < 0:
            if word in on_path:
                cycle = path[path.index(word) :]
                raise ValueError("the heads form a cycle: " + " → ".join(str(w + 1) for w in [*cycle, word]))
            path.append(word)
            on_path.add(word)
            head = heads[word]
            if not head:  # the root, or no head given
                known[word] = 0
                path.pop()
                break
            word = head - 1
        for below in reversed(path):
            head = heads[below]
            assert head  # every word left on the path has a head  # noqa: S101
            known[below] = known[head - 1] + 1
    return known
