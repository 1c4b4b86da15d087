"""Sealed safetensors files, which hold tensors and facts about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from .sealed import BLANK, DamagedError, read_sealed, write_sealed

_KEY = "attentionology"  # the only entry, because safetensors writes several entries in random order


def write_tensors(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any], name: str) -> str:
    """Write tensors by name, and facts that JSON can hold; return the digest of the file."""
    return write_sealed(path, tensor_content(tensors, facts), name)


def tensor_content(tensors: dict[str, Tensor], facts: dict[str, Any]) -> bytes:
    """The content of such a file, which `attentionology.storage.sealed.write_sealed` writes."""
    contiguous = {key: tensor.detach().contiguous() for key, tensor in tensors.items()}
    metadata = {_KEY: json.dumps({"seal": BLANK, **facts}, ensure_ascii=False)}
    return safetensors.torch.save(contiguous, metadata)


def read_tensors(path: Path, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and facts that `write_tensors` wrote."""
    content = read_sealed(path, name)
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        facts: dict[str, Any] = json.loads(header["__metadata__"][_KEY])
        del facts["seal"]
        return safetensors.torch.load(content), facts
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"it is not a file of this kind ({error})") from error
