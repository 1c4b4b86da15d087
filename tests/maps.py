"""Map batches made by hand or at random, without a model."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from attentionology.analyses.alignment.decisions import SAME, in_float64
from attentionology.analyses.alignment.links import LinkedPairs, decide_links
from attentionology.analyses.alignment.series import REVERSE, Series
from attentionology.analyses.dependency.accuracy import DependencyAccuracy
from attentionology.corpora_loaders import Sentence
from attentionology.extractors import MapBatch


def inflate(code: str) -> bytes:
    """Return the bytes that `attentionology.reports.explorer.data.deflate` has compressed."""
    return zlib.decompress(base64.b64decode(code), -15)


def batch_of(sentences: Sequence[Sentence], maps: Sequence[np.ndarray]) -> MapBatch:
    """Pad maps of shape (layers, heads, words + 2, words + 2), special tokens first and last."""
    n = max(m.shape[-1] for m in maps)
    padded = torch.zeros(len(maps), *maps[0].shape[:2], n, n)
    special = torch.zeros(len(maps), n, dtype=torch.bool)
    for row, m in enumerate(maps):
        k = m.shape[-1]
        padded[row, ..., :k, :k] = torch.from_numpy(m)
        special[row, [0, k - 1]] = True
    lengths = torch.tensor([m.shape[-1] for m in maps])
    return MapBatch(padded, lengths, special, tuple(sentences))


def one_head(rows: list[list[float]]) -> np.ndarray:
    """The map of one head over the words given, with special tokens that get more attention than any word."""
    inner = np.array(rows, dtype=np.float32)
    n = len(rows) + 2
    full = np.full((1, 1, n, n), 9.0, dtype=np.float32)
    full[0, 0, 1:-1, 1:-1] = inner
    return full


RELATIONS = ("det", "nsubj", "nsubj:pass", "obj", "punct", "root")


def random_sentence(rng: np.random.Generator, name: str, longest: int = 12) -> Sentence:
    """A sentence whose heads are random (not always a tree), some of them missing."""
    n = int(rng.integers(1, longest + 1))
    heads: list[int | None] = []
    relations = []
    for i in range(1, n + 1):
        head = int(rng.choice([h for h in range(n + 1) if h != i]))
        heads.append(None if rng.random() < 0.1 else head)
        relations.append("root" if head == 0 else str(rng.choice(RELATIONS[:-1])))
    return Sentence(name, tuple(f"w{i}" for i in range(n)), tuple(heads), tuple(relations))


def random_corpus(
    seed: int, sentences: int = 30, layers: int = 2, heads: int = 3
) -> tuple[list[Sentence], list[np.ndarray]]:
    """Random sentences with random word maps."""
    rng = np.random.default_rng(seed)
    texts = [random_sentence(rng, f"s{i}") for i in range(sentences)]
    maps = [rng.random((layers, heads, len(s) + 2, len(s) + 2), dtype=np.float32) for s in texts]
    return texts, maps


def counted_words(seed: int = 0) -> DependencyAccuracy:
    """The words of a random corpus whose heads are found."""
    accuracy = DependencyAccuracy(RELATIONS, 2, 3, replicates=20)
    accuracy.update(batch_of(*random_corpus(seed)))
    return accuracy


def linked_pairs(maps: Mapping[Series, MapBatch], *, both: bool = False) -> LinkedPairs:
    """The links of maps, decided again in float64 where float32 cannot decide; of both directions if asked for."""
    series = [*maps, *(replace(each, direction=REVERSE) for each in maps if both)]
    linked, depths = decide_links(maps, series)
    for index in depths.nonzero().flatten().tolist():
        exact = {each: in_float64(batch, index) for each, batch in maps.items()}
        linked.overwrite([index], decide_links(exact, series, SAME)[0])
    return linked
