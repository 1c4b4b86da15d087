"""Dependency trees, given as a sequence of heads (1-based, 0 for the root, None if unknown), and relations.

Example:
    >>> from attentionology.corpora_loaders import OFFSETS
    >>> OFFSETS
    (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from .sentence import Sentence

Role = Literal["word", "root", "punctuation"]
"""What a word is for the totals: `all-nopunct` leaves out punctuation, and `all-nopunct-noroot` roots as well."""

_TAB = "\t"  # no relation of a file contains one

OFFSETS = tuple(offset for offset in range(-5, 6) if offset != 0)
"""Offsets of the positional baseline, which predicts that the head is this many words to the right (+) or left (−).

The prediction is clipped to the first and last word. The code of Clark et al. (2019) tries −3 … +2 and clips to 0,
which predicts the root for words at the beginning of a sentence. The baseline here predicts words only, because
attention heads, with which it is compared, do so, too.
"""


def coarse_relation(relation: str) -> str:
    """Return the universal part of a relation, without its subtype.

    Example:
        >>> from attentionology.corpora_loaders import coarse_relation
        >>> coarse_relation("nsubj:pass")
        'nsubj'
    """
    plain, tab, role = relation.partition(_TAB)
    return plain.split(":", 1)[0] + tab + role


def is_punct(relation: str) -> bool:
    """Whether a relation is that of punctuation, which scores of trees leave out.

    Example:
        >>> from attentionology.corpora_loaders import is_punct
        >>> is_punct("punct"), is_punct("nsubj")
        (True, False)
    """
    return role_of(relation) == "punctuation"


def is_root(relation: str) -> bool:
    """Whether a relation is that of the root of a sentence, see `counted_relations`."""
    return role_of(relation) == "root"


def plain_relation(relation: str) -> str:
    """Return a relation as the file has it, from one of `counted_relations`."""
    return relation.partition(_TAB)[0]


@lru_cache(maxsize=2**12)
def role_of(relation: str) -> Role:
    """Return what a word of a relation is: what `counted_relations` says, or else the relation itself."""
    plain, tab, role = relation.partition(_TAB)
    if tab:
        return "punctuation" if role == "punctuation" else "root" if role == "root" else "word"
    label = plain.split(":", 1)[0].lower()
    return "punctuation" if label == "punct" else "root" if label == "root" else "word"


@lru_cache(maxsize=2**12)
def counted_relation(relation: str, role: Role) -> str:
    """Return the name that the words of a relation are counted under, given what they are."""
    return relation if role_of(relation) == role else f"{relation}{_TAB}{role}"


def counted_relations(sentence: Sentence) -> tuple[str, ...]:
    """Return the relation of each word, with what the word is where the relation does not say it.

    A root is a word whose head is 0, and punctuation is what `Sentence.punctuation` says or, without it, a word of the
    relation ``punct``. Words with a head of 0 and the relation ``Pred`` are counted as ``Pred`` and as roots, apart
    from those of the same relation that have a head.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> counted_relations(Sentence("s", ("dogs", "bark", "!"), (2, 0, 2), ("nsubj", "root", "punct")))
        ('nsubj', 'root', 'punct')
        >>> marks = (False, False, True)
        >>> counted_relations(Sentence("s", ("psi", "spí", "."), (2, 0, 0), ("Sb", "Pred", "AuxK"), punctuation=marks))
        ('Sb', 'Pred\\troot', 'AuxK\\tpunctuation')
    """
    if not sentence.punctuation:
        roles = [
            "punctuation" if is_punct(relation) else "root" if head == 0 else "word"
            for head, relation in zip(sentence.heads, sentence.relations, strict=True)
        ]
    else:
        roles = [
            "punctuation" if is_sign else "root" if head == 0 else "word"
            for head, is_sign in zip(sentence.heads, sentence.punctuation, strict=True)
        ]
    return tuple(map(counted_relation, sentence.relations, roles))


def cycles(heads: Sequence[int | None]) -> list[list[int]]:
    """Return the cycles among the heads of a sentence; none if the heads form a tree, or several.

    Each cycle is a list of words, from 1, in the order of a walk upwards that starts at the first of them. The head of
    each word is None or within ``0 … len(heads)``.
    """
    found_cycles: list[list[int]] = []
    visitor = [0] * len(heads)  # the word from which the walk started that visited each word
    for start in range(1, len(heads) + 1):
        # Every word is visited once: the walk upwards stops at the first word that was visited before. It has closed a
        # cycle if it visited that word itself.
        word: int | None = start
        while word and not visitor[word - 1]:
            visitor[word - 1] = start
            word = heads[word - 1]
        if word and visitor[word - 1] == start:
            cycle = [word]
            while (head := heads[cycle[-1] - 1]) != word:
                assert head  # every word of a cycle has a head  # noqa: S101
                cycle.append(head)
            first = cycle.index(min(cycle))  # whichever word the walk came in by, the cycle starts at its first one
            found_cycles.append(cycle[first:] + cycle[:first])
    return found_cycles


def cycle_error(words: Sequence[str]) -> str:
    """Return the message that names the words of a cycle, each as it is described by the caller."""
    return "the heads form a cycle: " + " → ".join([*words, words[0]])


def depths(heads: Sequence[int | None]) -> list[int]:
    """Return the number of arcs from each word up to the root, or up to a word whose head is unknown."""
    for cycle in cycles(heads):
        raise ValueError(cycle_error([str(word) for word in cycle]))
    words_below: dict[int, list[int]] = {}  # by head, 0 for words without one
    for word, head in enumerate(heads, start=1):
        words_below.setdefault(head or 0, []).append(word)
    depth_of_words = [0] * len(heads)
    depth, level = 0, words_below.get(0, [])  # all words of one depth
    while level:
        for word in level:
            depth_of_words[word - 1] = depth
        depth, level = depth + 1, [below for word in level for below in words_below.get(word, ())]
    return depth_of_words
