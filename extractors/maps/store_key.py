"""The names of stores of word maps, which are digests of everything that the maps depend on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...corpora_loaders import Sentence
from ..model.encoder import Encoder
from ..tokens.pieces import Segment

_FORMAT = 1
_NOT_CONFIGURATION = ("_name_or_path", "transformers_version")


def store_key(
    encoder: Encoder, sentences: Sequence[Sentence], window: int, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Compute the name of a store of maps with some options, and a description of all that it is made of."""
    words = hashlib.sha256()
    for sentence in sentences:
        words.update(json.dumps(sentence.words, ensure_ascii=False).encode())
        if isinstance(sentence, Segment):
            words.update(json.dumps([sentence.pieces.ids, sentence.pieces.segment_ids]).encode())
    config = encoder.model.config.to_dict()
    tokenizer = json.loads(encoder.tokenizer.backend_tokenizer.to_str())
    tokenizer |= {"padding": None, "truncation": None}  # left over from the last call, and not used for sentences
    made_of = {
        "format": _FORMAT,
        "window": window,
        "weights": encoder.weights_sha256(),
        "config": {name: value for name, value in config.items() if name not in _NOT_CONFIGURATION},
        "tokenizer": hashlib.sha256(json.dumps(tokenizer).encode()).hexdigest(),
        "sentences": len(sentences),
        "words": words.hexdigest(),
        **options,
    }
    described = json.dumps(made_of, sort_keys=True, default=str)
    model = re.sub(r"[^\w.-]+", "_", encoder.name.rsplit("/", 1)[-1])
    kind = re.sub(r"[^\w.-]+", "_", options["kind"])
    return f"{model}-{kind}-{hashlib.sha256(described.encode()).hexdigest()[:16]}", json.loads(described)
