"""Which heads pick the right word: the argmax decisions of Clark et al. (2019, §4.2), made exactly.

A decision compares a handful of attention values. In float32 these depend in their last digits on batch size,
padding and threads, so two values closer than that noise (`MapBatch.noise`) must not be compared
there: such sentences are decided again on maps recomputed in float64. Counts then do not depend on how the
corpus was batched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch


@dataclass(frozen=True)
class ScoredWords:
    """The words of a batch that have a gold head; every field has one entry per word.

    Attributes:
        sentence: index of the sentence in the batch.
        number: 1-based number of the word in its sentence.
        head: 1-based number of its head, 0 for the root.
        relation: index of its relation in the inventory.
        length: number of words of its sentence.
    """

    sentence: Int[np.ndarray, " words"]
    number: Int[np.ndarray, " words"]
    head: Int[np.ndarray, " words"]
    relation: Int[np.ndarray, " words"]
    length: Int[np.ndarray, " words"]

    @classmethod
    def of(cls, sentences: tuple[Sentence, ...], relation_index: Mapping[str, int]) -> ScoredWords:
        """Collect them; words without a head in the corpus are left out."""
        rows = [
            (b, number, head, relation_index[relation], len(sentence))
            for b, sentence in enumerate(sentences)
            for number, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True), start=1)
            if head is not None
        ]
        return cls(*np.array(rows, dtype=np.int64).reshape(-1, 5).T)


def head_hits(batch: MapBatch, words: ScoredWords) -> Bool[Tensor, "words 2 layers heads"]:
    """Whether each attention head picks the gold head word, in both `DIRECTIONS`.

    Candidates are the other words of the sentence: special tokens and the word itself are left out, nothing
    is renormalised, ties go to the lowest index. The root is no candidate, so root words are never right.
    """
    hits = torch.zeros(len(words.head), 2, *batch.maps.shape[1:3], dtype=torch.bool)
    rows = np.flatnonzero(words.head > 0)
    if not len(rows):
        return hits
    position = word_positions(batch)
    b = torch.from_numpy(words.sentence[rows])
    dependent = position[b, torch.from_numpy(words.number[rows] - 1)]
    governor = position[b, torch.from_numpy(words.head[rows] - 1)]
    decided, in_doubt = _compare(batch, b, dependent, governor)
    hits[rows] = decided
    unclear = np.unique(words.sentence[rows[in_doubt.numpy()]]).tolist()
    for index in unclear:
        own = b == index
        # One sentence at a time, and no name for its maps, because float64 takes twice the room.
        right = _argmax(batch.exact([index])[0], batch.words[index], dependent[own], governor[own])
        hits[rows[own.numpy()]] = right
    return hits


def word_positions(batch: MapBatch) -> Int[Tensor, "batch words"]:
    """Position in the map of each sentence's k-th word."""
    is_word = batch.words
    counts = is_word.sum(1).tolist()
    for sentence, count in zip(batch.sentences, counts, strict=True):
        if count != len(sentence):
            raise ValueError(f"the map of sentence {sentence.id!r} has {count} words, the sentence {len(sentence)}")
    return torch.argsort((~is_word).int(), dim=1, stable=True)


def _barred(candidate: Bool[Tensor, "*batch n"]) -> Bool[Tensor, "*batch n n"]:
    """Cells of a map that are no candidates: from or to anything but a word, or from a word to itself."""
    itself = torch.eye(candidate.shape[-1], dtype=torch.bool, device=candidate.device)
    return ~(candidate[..., :, None] & candidate[..., None, :]) | itself


def _compare(
    batch: MapBatch, b: Tensor, dependent: Tensor, governor: Tensor
) -> tuple[Bool[Tensor, "words 2 layers heads"], Bool[Tensor, " words"]]:
    """Gold value against the best other candidate, and which words have a comparison too close to call."""
    device = batch.maps.device
    barred = _barred(batch.words.to(device))[:, None]
    b, dependent, governor = b.to(device), dependent.to(device), governor.to(device)
    decided = torch.zeros(len(b), 2, *batch.maps.shape[1:3], dtype=torch.bool, device=device)
    in_doubt = torch.zeros(len(b), dtype=torch.bool, device=device)
    for layer, maps in enumerate(batch.maps.unbind(1)):  # layer by layer, to copy the maps of one layer only
        work = maps.masked_fill(barred, -torch.inf)
        for direction, view in enumerate((work, work.transpose(-1, -2))):
            gold = view[b, :, dependent, governor]
            view[b, :, dependent, governor] = -torch.inf
            other = view.amax(-1)[b, :, dependent]
            view[b, :, dependent, governor] = gold
            close = (gold - other).abs() <= batch.noise * torch.maximum(gold, other).abs()
            in_doubt |= close.any(1)
            decided[:, direction, layer] = gold > other
    return decided.cpu(), in_doubt.cpu()


def _argmax(
    maps: Float[Tensor, "layers heads n n"],
    candidate: Bool[Tensor, " padded"],
    dependent: Tensor,
    governor: Tensor,
) -> Bool[Tensor, "words 2 layers heads"]:
    """The plain decision on one sentence: largest value, first of equals."""
    barred = _barred(candidate[: maps.shape[-1]])
    by_layer = []
    for layer in maps:
        allowed = layer.cpu().masked_fill(barred, -torch.inf).numpy()
        picked = np.stack([allowed.argmax(-1), allowed.argmax(-2)])  # direction, head, word
        by_layer.append(picked[..., dependent.numpy()] == governor.numpy())
    right = np.stack(by_layer)  # layer, direction, head, word
    return torch.from_numpy(np.ascontiguousarray(right.transpose(3, 1, 0, 2)))
