"""Probes of hidden states, recounted in float64 from trees, raw outputs of a model and the weights of probes.

Everything is written out again from the definitions, with loops where they are short, and nothing is imported from the
package: reading of treebanks, merging of pieces, control tasks, floors, trees and scores.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

Weights = Mapping[str, ndarray]
Fraction = tuple[float, float]


@dataclass(eq=False)
class Tree:
    """A sentence: its words with their tags, heads (0 for a root) and relations; then what a model gives of it."""

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    states: ndarray = field(default_factory=lambda: np.zeros(0))  # layers × words × dimensions
    maps: ndarray = field(default_factory=lambda: np.zeros(0))  # heads of all layers × positions × positions

    @property
    def kept(self) -> list[int]:
        """The words that are no punctuation."""
        return [i for i, relation in enumerate(self.relations) if relation.split(":")[0] != "punct"]

    @property
    def attention(self) -> ndarray:
        """The maps between words, without the special tokens at both ends."""
        return self.maps[:, 1:-1, 1:-1]


def trees_of(path: Path) -> list[Tree]:
    """Read a CoNLL-U file, without multiword tokens and empty nodes."""
    trees = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        tree = Tree()
        for line in block.splitlines():
            cells = line.split("\t")
            if line.startswith("#") or not cells[0].isdecimal():
                continue
            tree.words.append(cells[1])
            tree.tags.append(cells[3])
            tree.heads.append(int(cells[6]))
            tree.relations.append(cells[7])
        trees.append(tree)
    return trees


def read(trees: Sequence[Tree], model: Any, tokenizer: Any) -> None:
    """Let a model of transformers read the words of each tree alone, and merge the pieces of words.

    The state of a word is the mean of those of its pieces. Attention to a word is the sum over its pieces, attention
    from it their mean (Clark et al. 2019, §4.1).
    """
    import torch

    for tree in trees:
        pieces = tokenizer(tree.words, is_split_into_words=True, return_tensors="pt")
        with torch.inference_mode():
            output = model(**pieces, output_hidden_states=True, output_attentions=True)
        words = pieces.word_ids()
        n = len(tree.words)
        belongs = np.zeros((n + 2, len(words)))  # the start, the words and the end
        belongs[0, 0] = belongs[-1, -1] = 1
        for piece, word in enumerate(words):
            if word is not None:
                belongs[word + 1, piece] = 1
        if not belongs.any(1).all():
            raise ValueError(f"a word without pieces: {tree.words}")
        mean = belongs / belongs.sum(1, keepdims=True)
        states = torch.stack(output.hidden_states)[:, 0].double().numpy()
        tree.states = np.stack([mean[1:-1] @ of_layer for of_layer in states])
        maps = torch.cat(output.attentions)[:, :].double().numpy().reshape(-1, len(words), len(words))
        tree.maps = np.stack([mean @ of_head @ belongs.T for of_head in maps])


def draw(name: str, seed: int) -> int:
    """Return the number that a name draws."""
    digest = hashlib.blake2b(name.encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little")


def behaviors(tree: Tree, seed: int) -> list[int]:
    """Return heads of the first control task: the word itself, the first or the last one."""
    n = len(tree.words)
    return [(i, 1, n)[draw(word.lower(), seed) % 3] for i, word in enumerate(tree.words, 1)]


def priority_tree(tree: Tree, seed: int) -> list[int]:
    """Return heads of a control tree: of each stretch of words, the one of the smallest priority is above the rest."""
    priorities = [draw(word.lower(), seed) for word in tree.words]
    heads = [0] * len(priorities)

    def place(start: int, stop: int, above: int) -> None:
        if start < stop:
            top = min(range(start, stop), key=lambda i: (priorities[i], i))
            heads[top] = above
            place(start, top, top + 1)
            place(top + 1, stop, top + 1)

    place(0, len(priorities), 0)
    return heads


Labeling = Callable[[Tree], list[str | None]]


def tags(tree: Tree) -> list[str | None]:
    """Return parts of speech."""
    return [None if tag == "_" else tag for tag in tree.tags]


def relations(tree: Tree) -> list[str | None]:
    """Return relations to head words; None for roots and punctuation."""
    return [
        relation if head and i in tree.kept else None
        for i, (relation, head) in enumerate(zip(tree.relations, tree.heads, strict=True))
    ]


def control_labels(labels: Labeling, training: Sequence[Tree], seed: int, *, of_pairs: bool) -> Labeling:
    """Return the labels of a control task, drawn from those of the training words."""
    counts = Counter(label for tree in training for label in labels(tree) if label is not None)
    names = sorted(counts)
    ends = list(accumulate(counts[name] for name in names))

    def controlled(tree: Tree) -> list[str | None]:
        lower = [word.lower() for word in tree.words]
        pairs = [f"{word}\0{lower[head - 1] if head else ''}" for word, head in zip(lower, tree.heads, strict=True)]
        return [
            None if label is None else names[bisect_right(ends, draw(name, seed) % ends[-1])]
            for name, label in zip(pairs if of_pairs else lower, labels(tree), strict=True)
        ]

    return controlled


def edges_between(heads: Sequence[int]) -> ndarray:
    """Count edges between each two words, by the algorithm of Floyd and Warshall; infinite between trees."""
    n = len(heads)
    distances = np.full((n, n), np.inf)
    np.fill_diagonal(distances, 0)
    for i, head in enumerate(heads):
        if head:
            distances[i, head - 1] = distances[head - 1, i] = 1
    for middle in range(n):
        distances = np.minimum(distances, distances[:, middle, None] + distances[None, middle])
    return distances


def depths_of(heads: Sequence[int]) -> ndarray:
    """Count steps up to the root."""
    depths = []
    for word in range(len(heads)):
        steps, at = 0, word
        while heads[at]:
            at, steps = heads[at] - 1, steps + 1
        depths.append(steps)
    return np.array(depths)


def smallest_tree(distances: ndarray, kept: Sequence[int]) -> set[tuple[int, int]]:
    """Return the edges of the minimum spanning tree, by sets of words that are joined, nearest first."""
    trees = [{word} for word in kept]
    edges = set()
    pairs = [(distances[i, j], i, j) for i in kept for j in kept if i < j and np.isfinite(distances[i, j])]
    for _, i, j in sorted(pairs):
        one, other = (next(tree for tree in trees if word in tree) for word in (i, j))
        if one is not other:
            trees = [tree for tree in trees if tree is not one and tree is not other] + [one | other]
            edges.add((i, j))
    return edges


def correlation(one: ndarray, other: ndarray) -> float:
    """Return the rank correlation of two rows: that of Pearson of the ranks; NaN if one is constant."""

    def ranks(row: ndarray) -> ndarray:
        return np.array([(row < value).sum() + ((row == value).sum() + 1) / 2 for value in row])

    x, y = ranks(one), ranks(other)
    if len({*x}) < 2 or len({*y}) < 2:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def by_length(values: Sequence[tuple[int, float, int]]) -> float:
    """Return the mean over lengths from 5 to 50 of the means of a length, given length, sum and number by sentence."""
    means = []
    for length in range(5, 51):
        of_length = [(total, number) for n, total, number in values if n == length]
        if number := sum(number for _, number in of_length):
            means.append(sum(total for total, _ in of_length) / number)
    return sum(means) / len(means)


def distance_scores(predicted: Sequence[ndarray], trees: Sequence[Tree], heads: Sequence[Sequence[int]]) -> list[float]:
    """Return the UUAS and the correlation of distances."""
    found = of = 0
    rows = []
    for distances, tree, gold in zip(predicted, trees, heads, strict=True):
        between = edges_between(gold)
        right = smallest_tree(between, tree.kept)
        found += len(right & smallest_tree(distances, tree.kept))
        of += len(right)
        values = [
            correlation(distances[i][np.isfinite(between[i])], between[i][np.isfinite(between[i])])
            for i in range(len(gold))
        ]
        known = [value for value in values if value == value]
        rows.append((len(gold), sum(known), len(known)))
    return [found / of, by_length(rows)]


def depth_scores(predicted: Sequence[ndarray], trees: Sequence[Tree], heads: Sequence[Sequence[int]]) -> list[float]:
    """Return the share of roots that are found, and the correlation of depths."""
    found = of = 0
    rows = []
    for depths, tree, heads_of_tree in zip(predicted, trees, heads, strict=True):
        gold = depths_of(heads_of_tree)
        if any(gold[i] == 0 for i in tree.kept):
            of += 1
            found += gold[min(tree.kept, key=lambda i: depths[i])] == 0
        value = correlation(depths, gold)
        rows.append((len(gold), value if value == value else 0.0, int(value == value)))
    return [found / of, by_length(rows)]


def head_scores(predicted: Sequence[Sequence[int]], trees: Sequence[Tree], heads: Sequence[Sequence[int]]) -> list[int]:
    """Return how many words without punctuation have their head, and how many there are."""
    right = [
        of_tree[i] == gold[i] for of_tree, tree, gold in zip(predicted, trees, heads, strict=True) for i in tree.kept
    ]
    return [sum(right), len(right)]


def label_score(predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str | None]]) -> list[float]:
    """Return the share of labels that are right."""
    pairs = [
        (one, other) for a, b in zip(predicted, gold, strict=True) for one, other in zip(a, b, strict=True) if other
    ]
    return [sum(one == other for one, other in pairs) / len(pairs)]


def decay(states: ndarray) -> ndarray:
    """Mix the states of one layer with those of neighbors, whose weights halve with each word."""
    mixed = []
    for i in range(len(states)):
        weights = [0.5 ** abs(i - j) for j in range(len(states))]
        mixed.append(sum(w * state for w, state in zip(weights, states, strict=True)) / sum(weights))
    return np.array(mixed)


def distances_by(weights: Weights, states: ndarray) -> ndarray:
    """Return squared distances of projected states."""
    x = states @ weights["weight"]
    return np.array([[((a - b) ** 2).sum() for b in x] for a in x])


def depths_by(weights: Weights, states: ndarray) -> ndarray:
    """Return squared lengths of projected states."""
    return np.array([(x**2).sum() for x in states @ weights["weight"]])


def heads_by(weights: Weights, states: ndarray) -> list[int]:
    """Return the best candidates of the biaffine classifier, 0 for ROOT."""
    h = (states - weights["mean"]) / weights["scale"]
    dependents = h @ weights["dependent"] + weights["dependent_bias"]
    candidates = [weights["root"], *(h @ weights["candidate"] + weights["candidate_bias"])]
    return [
        max(range(len(candidates)), key=lambda c: d @ candidates[c] + weights["prior"] @ candidates[c])
        for d in dependents
    ]


def heads_with_attention_by(weights: Weights, states: ndarray, tree: Tree) -> list[int]:
    """Return the best candidates of the biaffine classifier and the probe of all attention heads together."""
    h = (states - weights["mean"]) / weights["scale"]
    candidates = [weights["root"], *(h @ weights["candidate"] + weights["candidate_bias"])]
    dependents = h @ weights["dependent"] + weights["dependent_bias"] + weights["prior"]
    own, others = weights["attention.weight"]
    cells = sum(w * of_head + u * of_head.T for of_head, w, u in zip(tree.maps, own, others, strict=True))
    start, end = weights["attention.root"]
    heads = []
    for i, d in enumerate(dependents, 1):  # position 0 is the start, and the last one the end
        scores = [d @ candidate + cells[i, c] for c, candidate in enumerate(candidates)]
        scores[0] = d @ candidates[0] + start * cells[i, 0] + end * cells[i, -1]
        heads.append(int(np.argmax(scores)))
    return heads


def labels_by(weights: Weights, classes: Sequence[str], states: ndarray) -> list[str]:
    """Return the classes with the largest scores."""
    h = (states - weights["mean"]) / weights["scale"]
    return [classes[int(scores.argmax())] for scores in h @ weights["layers.0.weight"].T + weights["layers.0.bias"]]


def relations_by(weights: Weights, classes: Sequence[str], states: ndarray, tree: Tree) -> list[str]:
    """Return the classes with the largest scores for words and their heads."""
    h = (states - weights["mean"]) / weights["scale"]
    pairs = np.array([np.concatenate([h[i], h[max(head - 1, 0)]]) for i, head in enumerate(tree.heads)])
    return [classes[int(scores.argmax())] for scores in pairs @ weights["layers.0.weight"].T + weights["layers.0.bias"]]


def single_head(training: Sequence[Tree]) -> tuple[int, int]:
    """Return the direction and the number of the head that is right most often; of equal ones the last."""
    right: Counter[tuple[int, int]] = Counter()
    for tree in training:
        for direction in (0, 1):
            for head in range(len(tree.maps)):
                found = most_attended(tree, direction, head)
                right[direction, head] += sum(found[i] == tree.heads[i] for i in tree.kept)
    return max(right, key=lambda place: (right[place], place))


def most_attended(tree: Tree, direction: int, head: int) -> list[int]:
    """Return the word that each word attends to most, or that attends most to it, counted from 1; never itself."""
    weights = tree.attention[head] if direction == 0 else tree.attention[head].T
    n = len(tree.words)
    return [max((j for j in range(n) if j != i), key=lambda j: weights[i, j], default=i) + 1 for i in range(n)]


def links_by(weights: Weights, tree: Tree) -> ndarray:
    """Return the scores of words as heads of words by the probe of all attention heads."""
    own, others = weights["weight"]
    n = len(tree.words)
    scores = np.zeros((n, n))
    for of_head, w, u in zip(tree.attention, own, others, strict=True):
        scores += w * of_head + u * of_head.T
    return scores


def distances_of_links(links: ndarray) -> ndarray:
    """Return smaller distances for stronger links, in whichever direction is stronger."""
    n = len(links)
    return np.array([[-max(links[i, j], links[j, i]) for j in range(n)] for i in range(n)])


def most_frequent(counts: Counter[str]) -> str:
    """Return the most frequent label; of equally frequent ones the first by name."""
    return min(counts, key=lambda name: (-counts[name], name))


def label_floors(labels: Labeling, training: Sequence[Tree]) -> dict[str, Callable[[Tree], list[str]]]:
    """Return the most frequent label of all training words, and that of the word type."""
    pairs = [
        (word.lower(), label)
        for tree in training
        for word, label in zip(tree.words, labels(tree), strict=True)
        if label
    ]
    overall = most_frequent(Counter(label for _, label in pairs))
    of_type: dict[str, Counter[str]] = {}
    for word, label in pairs:
        of_type.setdefault(word, Counter())[label] += 1
    by_type = {word: most_frequent(counts) for word, counts in of_type.items()}
    return {
        "most frequent label": lambda tree: [overall] * len(tree.words),
        "label of the word type": lambda tree: [by_type.get(word.lower(), overall) for word in tree.words],
    }


def depth_floor(training: Sequence[Tree]) -> Callable[[Tree], ndarray]:
    """Return the mean depth of the training words at the same place; beyond the longest sentence, the largest mean."""
    places: dict[int, list[int]] = {}
    for tree in training:
        for place, depth in enumerate(depths_of(tree.heads).tolist()):
            places.setdefault(place, []).append(depth)
    means = {place: sum(of_place) / len(of_place) for place, of_place in places.items()}
    return lambda tree: np.array([means.get(place, max(means.values())) for place in range(len(tree.words))])
