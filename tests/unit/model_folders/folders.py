"""Model folders on disk, and ways to change what is in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

from tests import tiny

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
Change = Callable[[Path], object]


def save(folder: Path, family: str = "bert", auto_class: Any = transformers.AutoModel) -> Path:
    """A model of a family under some head, with its tokenizer."""
    model = auto_class.from_config(tiny.model(family).config)
    model.save_pretrained(folder)
    tiny.fresh_tokenizer(tiny.FAMILIES[family][0]).save_pretrained(folder)
    return folder


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def configure(folder: Path, **changes: object) -> None:
    _change_object(folder / "config.json", changes)


def configure_tokenizer(folder: Path, **changes: object) -> None:
    _change_object(folder / "tokenizer_config.json", changes)


def _change_object(path: Path, changes: dict[str, object]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def reindex(folder: Path, shard: str) -> None:
    """Let the index name another file in place of the second shard."""
    content = json.loads((folder / INDEX).read_text())
    names = {name: shard if file == SHARDS[1] else file for name, file in content["weight_map"].items()}
    (folder / INDEX).write_text(json.dumps({**content, "weight_map": names}))


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
