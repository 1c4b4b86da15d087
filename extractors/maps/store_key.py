"""The names of stores of word maps, which are digests of everything that the maps depend on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...corpora_loaders import Sentence
from ..model.encoder import Encoder
from ..model.model_digest import described_model
from ..tokens.pieces import Segment

_FORMAT = 2


def store_key(
    encoder: Encoder, sentences: Sequence[Sentence], window: int, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Compute the name of a store of maps with some options, and a description of all that it is made of."""
    words = hashlib.sha256()
    for sentence in sentences:
        words.update(json.dumps(sentence.words, ensure_ascii=False).encode())
        if isinstance(sentence, Segment):
            words.update(json.dumps([sentence.pieces.ids, sentence.pieces.segment_ids]).encode())
    made_of = {
        "format": _FORMAT,
        "window": window,
        **described_model(encoder),
        "sentences": len(sentences),
        "words": words.hexdigest(),
        **options,
    }
    described = json.dumps(made_of, sort_keys=True, default=str)
    model = re.sub(r"[^\w.-]+", "_", encoder.name.rsplit("/", 1)[-1])
    kind = re.sub(r"[^\w.-]+", "_", options["kind"])
    return f"{model}-{kind}-{hashlib.sha256(described.encode()).hexdigest()[:16]}", json.loads(described)
