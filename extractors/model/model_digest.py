"""What a model is recognized by, however it is called and wherever it is stored."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loaded_model import LoadedModel

_NOT_CONFIGURATION = ("_name_or_path", "transformers_version")
_OF_THE_LAST_CALL = {"padding": None, "truncation": None}  # a tokenizer keeps these, and sentences are read without


def described_model(model: LoadedModel) -> dict[str, Any]:
    """Return the configuration of a model, and the digests of its weights and of its tokenizer."""
    configuration = model.model.config.to_dict()
    return {
        "weights": model.weights_sha256(),
        "configuration": {name: value for name, value in configuration.items() if name not in _NOT_CONFIGURATION},
        "tokenizer": _tokenizer_sha256(model.tokenizer),
    }


def _tokenizer_sha256(tokenizer: Any) -> str:
    """Compute a SHA-256 of a tokenizer's vocabulary, rules and special tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = (
        sorted(tokenizer.get_vocab().items()) if backend is None else json.loads(backend.to_str()) | _OF_THE_LAST_CALL
    )
    described = [type(tokenizer).__name__, rules, tokenizer.special_tokens_map]
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()
