"""The files of a model: their names, where they were loaded from, and how those in JSON are read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ModelError, cause

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
TOKENIZER_FILE = re.compile(
    r"tokenizer(\.\d[\d.]*)?\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json|vocab\.txt"
    r"|vocab\.json|merges\.txt|entity_vocab\.json|bpe\.codes|dict\.txt|prophetnet\.tokenizer|tokenizer\.model"
    r"|spiece\.model|spm\.model|sentencepiece(\.bpe)?\.model|word_(shape|pronunciation)\.json"
)
"""Names that the tokenizers of transformers read."""

CONVERSION_HINT = (
    "Weights are only read as safetensors. To convert a pytorch_model.bin that you trust, load it once with "
    "torch.load(..., weights_only=True) and save it with safetensors.torch.save_file, as docs/how-to/hub.md shows."
)


@dataclass(frozen=True)
class UnusedWeights:
    """Tensors of a checkpoint that the model has no place for."""

    heads: tuple[str, ...] = ()  # of a head on top of the model, which attention does not need, such as a pooler
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedFiles:
    """The origin of a model.

    Attributes:
        revision: the commit on the Hub, None for a local folder.
        sha256: the SHA-256 of each safetensors file by its name.
        requested: the branch, tag or commit that the user asked for, if any.
        endpoint: the address of the Hub, None for a local folder.
        offline: whether the Hub was not asked or did not answer; None for a local folder.
        folder: the folder of the files; None for a model that was not loaded from files.
        name: the model's name on the Hub, or its folder as the user gave it.
        unused: tensors of the files that the model has no place for.
        untrained: weights that the files lack and no map depends on, such as a pooler's. They are random numbers.
        warnings: what a user should know before reading the numbers, one sentence each.
    """

    revision: str | None = None
    sha256: dict[str, str] = field(default_factory=dict)
    requested: str | None = None
    endpoint: str | None = None
    offline: bool | None = None
    folder: Path | None = None
    name: str = ""
    unused: UnusedWeights = field(default_factory=UnusedWeights)
    untrained: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def read_object(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file, or raise `ModelError`."""
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError(f"it must contain a JSON object, not {type(content).__name__}")
    except OSError as error:
        raise ModelError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{described(path)} is not a JSON file ({cause(error)}); download it again") from error
    return content


def shard_names(index: Path) -> list[str]:
    """Return the names of the files in an index of sharded weights, each a safetensors file beside the index."""
    content = read_object(index)
    shards = content.get("weight_map")
    if not isinstance(shards, dict) or not shards or not isinstance(content.get("metadata"), dict):
        raise ModelError(f"{described(index)} must have metadata and a weight_map that maps weights to files")
    names = list(dict.fromkeys(shards.values()))
    for name in names:
        if not isinstance(name, str) or not name.endswith(".safetensors") or re.search(r"[/\\\0]", name):
            why = "is not a safetensors file in the model's folder and is not read"
            raise ModelError(f"{str(index)!r} names {name!r}, which {why}")
    return sorted(names)


def described(path: Path) -> str:
    """Name a file in a message, with its size, which tells when it was cut off."""
    return f"{str(path)!r} ({path.stat().st_size:,} bytes)"
