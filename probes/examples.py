"""One sentence as probes see it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentionology.corpora_loaders import Sentence, is_punct
from attentionology.extractors import MapBatch

UNKNOWN = -1
"""The head of a word without one in the corpus."""


@dataclass(frozen=True)
class Example:
    """A sentence, its maps, and where things are.

    Attributes:
        sentence: the words and their heads.
        maps: word maps of all layers and heads, in the order of layers; rows from, columns to.
        words: the positions of the words.
        start, end: position of the special token before the first and after the last word ([CLS] and [SEP]); None if
            the model has none there.
    """

    sentence: Sentence
    maps: Float[Tensor, "maps n n"]
    words: slice
    start: int | None
    end: int | None

    @property
    def ends(self) -> Float[Tensor, "n 2"]:
        """1 at the start, in the first column, and at the end, in the second; 0 elsewhere."""
        ends = torch.zeros(self.maps.shape[-1], 2)
        if self.start is not None:
            ends[self.start, 0] = 1
        if self.end is not None:
            ends[self.end, 1] = 1
        return ends


def annotated(sentence: Sentence) -> Sentence:
    """With a head and a relation for every word: None and "" where the corpus does not have them at all."""
    if sentence.heads and sentence.relations:
        return sentence
    n = len(sentence)
    return replace(sentence, heads=sentence.heads or (None,) * n, relations=sentence.relations or ("",) * n)


def examples(batches: Iterable[MapBatch]) -> Iterator[Example]:
    """The sentences of batches, one by one, in their order; maps on the CPU, in float32.

    Raises:
        ValueError: token-level maps, or a sentence that does not fit its map.
    """
    for batch in batches:
        if batch.level != "word":
            raise ValueError("probes read word-level maps (level='word')")
        for sentence, length, special, maps in zip(
            batch.sentences, batch.lengths.tolist(), batch.special, batch.maps, strict=True
        ):
            inside = special[:length].tolist()
            first, n = inside.index(False) if False in inside else 0, inside.count(False)
            if n != len(sentence) or any(inside[first : first + n]):
                raise ValueError(f"the map of sentence {sentence.id!r} has {n} words, the sentence {len(sentence)}")
            yield Example(
                sentence=annotated(sentence),
                maps=maps[..., :length, :length].flatten(0, 1).to("cpu", torch.float32),
                words=slice(first, first + n),
                start=0 if inside[0] else None,
                end=length - 1 if inside[-1] else None,
            )


def scored(sentence: Sentence) -> Bool[np.ndarray, " words"]:
    """Which words an unlabelled attachment score is about: all with a head but punctuation (as in the paper)."""
    sentence = annotated(sentence)
    return np.array(
        [
            head is not None and not is_punct(relation)
            for head, relation in zip(sentence.heads, sentence.relations, strict=True)
        ],
        dtype=bool,
    )


def gold_heads(sentence: Sentence) -> Int[np.ndarray, " words"]:
    """Head of every word: 1-based, 0 for the root, or `UNKNOWN`."""
    heads = annotated(sentence).heads
    return np.array([UNKNOWN if head is None else head for head in heads], dtype=np.int64)


def uas(batches: Iterable[MapBatch], predicted: Iterable[Int[np.ndarray, " _"]]) -> float:
    """Unlabelled attachment score without punctuation; NaN if no word counts."""
    correct = total = 0
    sentences = (sentence for batch in batches for sentence in batch.sentences)
    for sentence, heads in zip(sentences, predicted, strict=True):
        counts = scored(sentence)
        correct += int((heads == gold_heads(sentence))[counts].sum())
        total += int(counts.sum())
    return correct / total if total else float("nan")
