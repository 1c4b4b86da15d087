"""Counts of where each head is right, and of what it picks where it is wrong, by properties of the words.

Every count is kept for all heads, so that those of the best head, which is known only after counting, can be read. The
sums of squares by sentence beside them give intervals that respect that the words of a sentence depend on each other,
without one count per bootstrap replicate: `attentionology.analyses.shared.failures.cluster_interval`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ...corpora_loaders import OFFSETS, Sentence, coarse_relation
from ...corpora_loaders.coreference.types import UPOS
from ...extractors import DIRECTIONS, MapBatch
from ..shared.exact_sums import ConfiguredSums
from .accuracy import check_relations
from .decisions import READINGS, ScoredWords
from .picks import PICKS, picks, relationships
from .tables import TOTALS, members_by_group

TAGS = (*sorted(UPOS), "another tag")
DISTANCES = (
    *("−11 or more", "−6 to −10", "−4 to −5", "−3", "−2", "−1"),
    *("+1", "+2", "+3", "+4 to +5", "+6 to +10", "+11 or more"),
)
LENGTHS = ("1 to 10", "11 to 20", "21 to 30", "31 to 40", "41 or more")
ASPECTS: Mapping[str, tuple[str, ...]] = {
    "words": ("all",),
    "distance": DISTANCES,
    "side": ("head before", "head after"),
    "part of speech": TAGS,
    "part of speech of the head": TAGS,
    "words of the sentence": LENGTHS,
    "split into pieces": ("neither", "the word", "its head", "both"),
}
"""The properties by which words are counted, each with its classes. Distances are those of offsets: +1 is the next
word. A root has no distance, no side and no part of speech of its head."""

CLASSES = tuple((aspect, name) for aspect, names in ASPECTS.items() for name in names)
"""All classes, in the order in which they are counted."""

_FIRST = {aspect: CLASSES.index((aspect, names[0])) for aspect, names in ASPECTS.items()}
_EDGES = np.array([1, 2, 3, 4, 6, 11])


class DependencyFailures(ConfiguredSums):
    """How often each head, and each fixed offset, is right for words of each class, and what is picked otherwise."""

    # All states are sums of whole numbers over sentences, so any split of the corpus gives the same bits. They take
    # about `groups × 73 × 3 × (2 · layers · heads + 10) × 8` bytes.

    inventory = "relations"
    right: Int[Tensor, "groups classes 3 guessers"]
    picked: Int[Tensor, "groups picks 3 guessers"]
    total: Int[Tensor, "groups classes 2"]

    def __init__(
        self,
        relations: Sequence[str],
        n_layers: int,
        n_heads: int,
        *,
        coarse: bool = False,
        both: bool = False,
        unions: Sequence[tuple[str, Sequence[str]]] = (),
    ) -> None:
        names = check_relations(relations, coarse=coarse)
        self.coarse, self.shape = coarse, (len(READINGS if both else DIRECTIONS), n_layers, n_heads)
        self.unions = {name: frozenset(members) for name, members in unions}
        self.groups = (*names, *TOTALS, *self.unions)
        unions_in_order = sorted((name, sorted(members)) for name, members in self.unions.items())
        super().__init__(repr((self.groups, self.shape, coarse, unions_in_order)))
        guessers = int(np.prod(self.shape)) + len(OFFSETS)
        # Of each class and guesser: the sums over sentences of x, of x² and of x · n, where x of its n words are right.
        self.add_state("right", torch.zeros(len(self.groups), len(CLASSES), 3, guessers, dtype=torch.int64), "sum")
        # The same of the words that are picked, where n is the number of all words of the group in the sentence.
        self.add_state("picked", torch.zeros(len(self.groups), len(PICKS), 3, guessers, dtype=torch.int64), "sum")
        # The sums of n and n².
        self.add_state("total", torch.zeros(len(self.groups), len(CLASSES), 2, dtype=torch.int64), "sum")

    def absorb(self, other: DependencyFailures) -> None:
        """Add counts whose groups may be fewer and in another order."""
        rows = [self.groups.index(group) for group in other.groups]
        for name in ("right", "picked", "total"):
            getattr(self, name)[rows] += getattr(other, name)

    def update(self, batch: MapBatch) -> None:
        """Count a batch of word-level maps."""
        if batch.level != "word":
            raise ValueError("dependency failures need word-level maps (level='word')")
        self.check_configuration()
        words = ScoredWords.of(batch.sentences, self._group_of_relation(batch.sentences))
        if not len(words.number):
            return
        of_heads = picks(batch, words, self.shape[0]).reshape(len(words.number), -1)
        kinds = torch.from_numpy(np.concatenate([of_heads, _offset_picks(batch, words)], 1))
        classes, sentence = torch.from_numpy(_classes(batch, words)), torch.from_numpy(words.sentence)
        for group, is_member in self._members(words):
            rows = torch.from_numpy(np.flatnonzero(is_member))
            of_rows = kinds[rows], torch.from_numpy(group)[rows], sentence[rows]
            for of_aspect in classes[rows].T:
                self._add(*of_rows, of_aspect)
            self._add_picked(*of_rows)

    def compute(self) -> dict[str, Tensor]:
        """Return the counts by name."""
        self.check_configuration()
        return {"right": self.right, "picked": self.picked, "total": self.total}

    def _group_of_relation(self, sentences: Sequence[Sentence]) -> dict[str, int]:
        """Return the index of the group of each relation of some sentences, which has to be in the inventory."""
        index = {name: i for i, name in enumerate(self.groups)}
        relations = dict.fromkeys(relation for sentence in sentences for relation in sentence.relations)
        try:
            return {name: index[coarse_relation(name) if self.coarse else name] for name in relations}
        except KeyError as error:
            raise ValueError(f"relation {error} is not in the inventory") from None

    def _members(self, words: ScoredWords) -> list[tuple[Int[np.ndarray, " words"], Bool[np.ndarray, " words"]]]:
        """Return the group of each word for disjoint groups, then for each of those that overlap, and its members."""
        n = len(self.groups) - len(TOTALS) - len(self.unions)
        members = members_by_group(self.groups[:n], self.unions)
        relation = words.relation
        overlapping = [(np.full_like(relation, self.groups.index(name)), of[relation]) for name, of in members.items()]
        return [(relation, np.ones(len(relation), dtype=bool)), *overlapping]

    def _add(self, kinds: Tensor, group: Tensor, unit: Tensor, classes: Tensor) -> None:
        """Add the right decisions of each class; words of class −1 have none."""
        used = classes >= 0
        keys = (group[used] * len(CLASSES) + classes[used]) * (int(unit.max()) + 1 if len(unit) else 1) + unit[used]
        cells, row = torch.unique(keys, return_inverse=True)
        if not len(cells):
            return
        cell = torch.div(cells, int(unit.max()) + 1, rounding_mode="floor")
        x = torch.zeros(len(cells), kinds.shape[1], dtype=torch.int64)
        x.index_add_(0, row, (kinds[used] == 0).long())
        n = torch.bincount(row, minlength=len(cells))
        self.right.flatten(0, 1).index_add_(0, cell, torch.stack([x, x * x, x * n[:, None]], 1))
        self.total.flatten(0, 1).index_add_(0, cell, torch.stack([n, n * n], 1))

    def _add_picked(self, kinds: Tensor, group: Tensor, unit: Tensor) -> None:
        """Add how often each kind of word is picked."""
        if not len(unit):
            return
        units = int(unit.max()) + 1
        cells, row = torch.unique(group * units + unit, return_inverse=True)
        n = torch.bincount(row, minlength=len(cells))
        cell = torch.div(cells, units, rounding_mode="floor")
        for kind in range(len(PICKS)):
            x = torch.zeros(len(cells), kinds.shape[1], dtype=torch.int64)
            x.index_add_(0, row, (kinds == kind).long())
            self.picked[:, kind].index_add_(0, cell, torch.stack([x, x * x, x * n[:, None]], 1))


def _offset_picks(batch: MapBatch, words: ScoredWords) -> Int[np.ndarray, "words offsets"]:
    """Return what each fixed offset picks for each word, as an index of `PICKS`."""
    predicted = np.clip(words.number[:, None] + np.array(OFFSETS), 1, words.length[:, None])
    result = np.empty(predicted.shape, dtype=np.int8)
    for row, sentence in enumerate(batch.sentences):
        scored = np.flatnonzero(words.sentence == row)
        if len(scored):
            related = relationships(sentence)
            result[scored] = related[words.number[scored, None] - 1, predicted[scored] - 1]
    return result


def _classes(batch: MapBatch, words: ScoredWords) -> Int[np.ndarray, "words aspects"]:
    """Return the class of each word by each aspect, as an index of `CLASSES`; −1 if it has none."""
    result = np.full((len(words.number), len(ASPECTS)), -1)
    dependent = words.number - 1
    distance = words.head - words.number
    rooted = words.head > 0

    def fill(aspect: str, index: Int[np.ndarray, " words"], used: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        result[used, list(ASPECTS).index(aspect)] = _FIRST[aspect] + index[used]

    everything = np.ones(len(dependent), dtype=bool)
    fill("words", np.zeros_like(dependent), everything)
    width = np.searchsorted(_EDGES, np.abs(distance), side="right") - 1
    fill("distance", np.where(distance < 0, len(_EDGES) - 1 - width, len(_EDGES) + width), rooted)
    fill("side", (distance > 0).astype(np.int64), rooted)
    fill("words of the sentence", np.minimum((words.length - 1) // 10, len(LENGTHS) - 1), everything)
    tags = [tag_indices(sentence) for sentence in batch.sentences]
    tagged = np.array([bool(sentence.tags) for sentence in batch.sentences])[words.sentence]
    head = np.maximum(words.head - 1, 0)
    fill("part of speech", _of(tags, words, dependent), tagged)
    fill("part of speech of the head", _of(tags, words, head), tagged & rooted)
    if batch.word_lengths:
        split = [np.array(lengths) > 1 for lengths in batch.word_lengths]
        fill("split into pieces", _of(split, words, dependent) + 2 * _of(split, words, head), rooted)
    return result


def tag_indices(sentence: Sentence) -> Int[np.ndarray, " words"]:
    """Return the index in `TAGS` of the part of speech of each word."""
    known = {tag: i for i, tag in enumerate(TAGS)}
    return np.array([known.get(tag, len(TAGS) - 1) for tag in sentence.tags or ("",) * len(sentence)])


def _of(values: Sequence[Any], words: ScoredWords, number: Int[np.ndarray, " words"]) -> Int[np.ndarray, " words"]:
    """Return the value of one word of the sentence of each scored word."""
    return np.array([int(values[s][w]) for s, w in zip(words.sentence.tolist(), number.tolist(), strict=True)])
