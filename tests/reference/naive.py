"""Naive oracles: one sentence at a time, one head at a time, float64, nothing shared with the toolkit's own path."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist, stdev, variance
from typing import Any

import numpy as np
import torch

from attentionology.corpora_loaders import Sentence


def word_map(model: Any, tokenizer: Any, words: tuple[str, ...]) -> np.ndarray:
    """(layers, heads, words + specials, same): sum over the pieces attended to, mean over those attended from."""
    encoded = tokenizer(list(words), is_split_into_words=True)
    groups: list[list[int]] = []
    last: object = None
    for i, word in enumerate(encoded.word_ids()):
        if word is None or word != last:
            groups.append([])
        groups[-1].append(i)
        last = word
    with torch.no_grad():
        attentions = model(torch.tensor([encoded.input_ids]), output_attentions=True).attentions
    alpha = np.stack([a[0].double().numpy() for a in attentions])
    result = np.zeros((*alpha.shape[:2], len(groups), len(groups)))
    for a, rows in enumerate(groups):
        row = alpha[:, :, rows].mean(2)
        for b, columns in enumerate(groups):
            result[:, :, a, b] = row[:, :, columns].sum(-1)
    return result


Cell = tuple[str, str, int, int]


def dependency_counts(
    sentences: list[Sentence], maps: list[np.ndarray], weights: list[int] | None = None, *, both: bool = False
) -> tuple[Counter[Cell], Counter[str]]:
    """Right decisions by (relation, direction, layer, head), both 1-based, and words by relation."""
    right: Counter[Cell] = Counter()
    total: Counter[str] = Counter()
    for sentence, word_maps, weight in zip(sentences, maps, weights or [1] * len(sentences), strict=True):
        scored = [
            (i, h, r) for i, (h, r) in enumerate(zip(sentence.heads, sentence.relations, strict=True)) if h is not None
        ]
        for *_, relation in scored:
            total[relation] += weight
        for layer, head in np.ndindex(word_maps.shape[:2]):
            own = word_maps[layer, head]
            for direction, m in [("dep->head", own), ("head->dep", own.T), ("both", own + own.T)][: 3 if both else 2]:
                inner = m[1:-1, 1:-1].copy()
                for i, gold, relation in scored:
                    row = inner[i].copy()
                    row[i] = -1
                    if len(row) > 1 and row.argmax() + 1 == gold:
                        right[relation, direction, layer + 1, head + 1] += weight
    return right, total


def of_splits(values: Sequence[float], replicates: int) -> list[float]:
    """How far a mean over splits deviates by their luck, one split after the other in the replicates."""
    mean = sum(values) / len(values)
    return [(values[index % len(values)] - mean) / math.sqrt(len(values) - 1) for index in range(replicates)]


def around(value: float, deviations: Sequence[float], lowest: float = -1.0) -> tuple[float, float]:
    """The 95 % interval of a value whose deviations have a normal distribution, cut to what is possible."""
    margin = NormalDist().inv_cdf(0.975) * stdev(deviations)
    return max(value - margin, lowest), min(value + margin, 1.0)


def around_choices(
    gain: float, drawn: Sequence[float], choices: Sequence[float], splits: Sequence[float]
) -> tuple[float, float]:
    """The same for a gain whose choices are those of halves: what each half chose has a gain on the whole text."""
    error = math.sqrt(variance(drawn) + variance(choices) + variance(splits) / len(splits))
    margin = NormalDist().inv_cdf(0.975) * error
    return max(gain - margin, -1.0), min(gain + margin, 1.0)
