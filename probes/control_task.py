"""A task that has nothing to do with language, for how much a probe can learn by heart (Hewitt & Liang 2019)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from attentionology.corpora_loaders import Sentence
from attentionology.probes.examples import annotated

_BEHAVIOURS = 3


def control_task(sentences: Iterable[Sentence], seed: int = 0) -> list[Sentence]:
    """The same sentences with heads that depend on nothing but the word.

    Every word type, upper and lower case alike as for word vectors, gets one of three behaviours at random: its head is
    itself, the first word, or the last word of the sentence (Hewitt & Liang 2019, §2.2). A probe that does well here
    has room to memorise; selectivity is its accuracy on the real task minus that on this one. Words keep their
    relations, so that both scores are about the same words, and words without a head have none here.

    Args:
        sentences: with trees.
        seed: of the behaviours; a word behaves alike wherever it occurs, in training and test.
    """
    controlled = []
    for sentence in map(annotated, sentences):
        heads = tuple(
            None if head is None else (number, 1, len(sentence))[_behaviour(word, seed)]
            for number, (word, head) in enumerate(zip(sentence.words, sentence.heads, strict=True), start=1)
        )
        controlled.append(replace(sentence, heads=heads))
    return controlled


def _behaviour(word: str, seed: int) -> int:
    digest = hashlib.blake2b(word.lower().encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little") % _BEHAVIOURS
