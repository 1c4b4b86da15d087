"""Checkpoints in the cache, named after everything that the weights of a trained probe depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..storage.cache_log import CacheLog
from .checkpoint import Checkpoint

if TYPE_CHECKING:
    from ..corpora_loaders import Sentence, WordVectors
    from ..extractors import StoredMaps
    from .probe import Probe
    from .splits import Split

_FORMAT = 2


def cached_checkpoint(cache: Path, probe: Probe, split: Split, cache_log: CacheLog) -> Checkpoint:
    """The checkpoint of a training in a cache folder."""
    return Checkpoint(cache / "training" / f"{training_key(probe, split)}.safetensors", cache_log=cache_log)


def training_key(probe: Probe, split: Split) -> str:
    """A digest of everything that the weights of a trained probe depend on; the tested sentences are not part of it."""
    described = {
        "format": _FORMAT,
        "probe": probe.name,
        "arguments": probe.arguments(),
        "recipe": asdict(probe.recipe),
        "seed": probe.random_state,
        "vectors": probe.vectors and _vectors_key(probe.vectors),
        "maps": [None if maps is None else _maps_key(maps) for maps in (split.train, split.dev)],
    }
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:24]


def _vectors_key(vectors: WordVectors) -> str:
    """The digest of the file of word vectors, or of the vectors themselves if they do not come from a file."""
    if vectors.sha256:
        return vectors.sha256
    digest = hashlib.sha256(json.dumps(sorted(vectors.index.items())).encode())
    digest.update(vectors.array.tobytes())
    return digest.hexdigest()


def _maps_key(maps: StoredMaps) -> tuple[str, str]:
    """The store, and the annotation that training depends on."""
    return maps.folder.name, _annotation(maps.sentences)


def _annotation(sentences: Iterable[Sentence]) -> str:
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(json.dumps([sentence.words, sentence.heads, sentence.relations]).encode())
    return digest.hexdigest()
