"""The folder of a store: its name, what it is made of, and whether it fits on the disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...corpora_loaders import Sentence
from ...storage.characters import file_name
from ...storage.durable import StorageError, free_space, size, sweep, write_durably
from ..errors import ExtractionError
from ..model.encoder import Encoder
from ..model.loaded_model import described_model
from ..tokens.pieces import Segment


def described_inputs(encoder: Encoder, sentences: Sequence[Sentence]) -> dict[str, Any]:
    """Return what the results of a model for sentences depend on: the model, and the words that it reads."""
    hash_of_words = hashlib.sha256()
    for sentence in sentences:
        hash_of_words.update(json.dumps(sentence.words, ensure_ascii=False).encode())
        if sentence.second is not None:
            hash_of_words.update(json.dumps(sentence.second).encode())
        if isinstance(sentence, Segment):
            hash_of_words.update(json.dumps([sentence.pieces.ids, sentence.pieces.segment_ids]).encode())
    return {**described_model(encoder), "sentences": len(sentences), "words": hash_of_words.hexdigest()}


def store_name(encoder: Encoder, content: str, made_of: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of a store with some content, which is a digest of what it is made of, and the latter as JSON."""
    description = json.dumps(made_of, sort_keys=True, default=str)
    digest = hashlib.sha256(description.encode()).hexdigest()[:16]
    model, content = (file_name(name, 100) for name in (encoder.name.rsplit("/", 1)[-1], content))
    return f"{model}-{content}-{digest}", json.loads(description)


def open_store(folder: Path, made_of: Mapping[str, Any]) -> None:
    """Make the folder of a store, without what dead processes left in it, and describe in it what it is made of."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: the folder cannot be made: {error.strerror or error}") from error
    sweep(folder)
    description = folder / "made_of.json"  # for people; no program reads it
    if not description.exists():
        write_durably(description, (json.dumps(made_of, indent=2, ensure_ascii=False) + "\n").encode())


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raise `ExtractionError` unless a number of bytes fits on the disk of a store."""
    free = free_space(folder)
    if needed > free:
        raise ExtractionError(
            f"{what} {size(needed)}, and {size(free)} are free in {folder.parent}; choose another cache, or float16"
        )
