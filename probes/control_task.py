"""A task that has nothing to do with language, to measure how much a probe can memorize (Hewitt & Liang 2019)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from ..corpora_loaders import Sentence
from .probed_sentence import annotated

_BEHAVIORS = 3


def control_task(sentences: Iterable[Sentence], seed: int = 0) -> list[Sentence]:
    """The same sentences with heads that depend on nothing but the word.

    Every word type, upper and lower case alike as for word vectors, gets one of three behaviors at random: its head is
    itself, the first word, or the last word of the sentence (Hewitt & Liang 2019, §2.2). A probe that does well here
    has room to memorize; selectivity is its accuracy on the real task minus that on this one. Words keep their
    relations, so that both scores are about the same words, and words without a head have none here.

    Args:
        sentences: sentences with trees.
        seed: seed of the behaviors. A word behaves alike wherever it occurs, in training and test.

    Example:
        >>> from attentionology.corpora_loaders import Sentence
        >>> from attentionology.probes import control_task
        >>> words = ("the", "dog", "saw", "the", "cat")
        >>> sentence = Sentence("s1", words, (2, 3, 0, 5, 3), ("det", "nsubj", "root", "det", "obj"))
        >>> [controlled] = control_task([sentence], seed=1)
        >>> all(head in (number, 1, 5) for number, head in enumerate(controlled.heads, start=1))
        True
    """
    controlled = []
    for sentence in map(annotated, sentences):
        heads = tuple(
            None if head is None else (number, 1, len(sentence))[_behavior(word, seed)]
            for number, (word, head) in enumerate(zip(sentence.words, sentence.heads, strict=True), start=1)
        )
        copy = replace(sentence, heads=())
        object.__setattr__(copy, "heads", heads)  # `Sentence` refuses a word that is its own head, as many are here
        controlled.append(copy)
    return controlled


def _behavior(word: str, seed: int) -> int:
    digest = hashlib.blake2b(word.lower().encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little") % _BEHAVIORS
