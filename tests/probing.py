"""What the tests of probes have in common: sentences, batches and predictors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attentionology.corpora_loaders import Sentence, WordVectors
from attentionology.extractors import MapBatch
from attentionology.probes import (
    AttentionProbe,
    AttentionWordsProbe,
    FixedOffset,
    HeadPredictor,
    RelationOffset,
    SingleHead,
    make_probe,
)
from tests.maps import batch_of, random_corpus

CAT = Sentence("cat", ("the", "cat", "saw", "it"), (2, 3, 0, 3), ("det", "nsubj", "root", "obj"))
VECTORS = WordVectors(
    np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32), {f"w{i}": i for i in range(5)}, sha256="abc"
)


def blank(*sentences: Sentence, layers: int = 1, heads: int = 1) -> list[MapBatch]:
    """Batches of one sentence each, whose maps say nothing."""
    return [batch_of([s], [np.ones((layers, heads, len(s) + 2, len(s) + 2), dtype=np.float32)]) for s in sentences]


def chain(n: int, *heads: int | None, relations: Sequence[str] = ()) -> Sentence:
    return Sentence("chain", ("w",) * n, heads, tuple(relations) or ("dep",) * n)


def batches_of(seed: int, **options: int) -> list[MapBatch]:
    sentences, maps = random_corpus(seed, **options)
    return [batch_of([s], [m]) for s, m in zip(sentences, maps, strict=True)]


def predictors() -> list[HeadPredictor]:
    return [
        FixedOffset(), FixedOffset(1), RelationOffset(), SingleHead(), AttentionProbe(), AttentionWordsProbe(VECTORS),
        make_probe("words+distances", VECTORS, hidden=4),
    ]  # fmt: skip
