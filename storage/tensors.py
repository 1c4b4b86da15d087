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
    """Write tensors and facts, and return the digest of the file.

    Args:
        path: the file.
        tensors: the tensors by name.
        facts: an object that can be written as JSON.
        name: the name to seal the file with, see `attentionology.storage.sealed`.

    Raises:
        StorageError: see `attentionology.storage.durable.write_durably`.
    """
    return write_sealed(path, tensor_content(tensors, facts), name)


def tensor_content(tensors: dict[str, Tensor], facts: dict[str, Any]) -> bytes:
    """The content of a file with these tensors and facts, which `attentionology.storage.sealed.write_sealed` writes.

    Args:
        tensors: the tensors by name.
        facts: an object that can be written as JSON.
    """
    contiguous = {key: tensor.detach().contiguous() for key, tensor in tensors.items()}
    metadata = {_KEY: json.dumps({"seal": BLANK, **facts}, ensure_ascii=False)}
    return safetensors.torch.save(contiguous, metadata)


def read_tensors(path: Path, name: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and facts that `write_tensors` wrote.

    Raises:
        FileNotFoundError, DamagedError, StorageError: see `attentionology.storage.sealed.check`.
    """
    return parse_tensors(read_sealed(path, name))


def parse_tensors(content: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and facts in the content of a file.

    Raises:
        DamagedError: `write_tensors` has not written the file.
    """
    try:
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        facts: dict[str, Any] = json.loads(header["__metadata__"][_KEY])
        del facts["seal"]
        return safetensors.torch.load(content), facts
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"it is not a file of this kind ({error})") from error
