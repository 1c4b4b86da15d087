"""Sealed safetensors files, which hold tensors and facts about them, and integers in few bytes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from .sealed import BLANK, DamagedError, read_sealed, write_sealed

_KEY = "attentionology"  # the only entry, because safetensors writes several entries in random order
_LEVEL = 1  # higher levels take several times as long for a tenth less
_WORTHWHILE = 2**12  # the number of bytes from which on compression saves more than its bookkeeping costs
TYPE_NAMES = {
    torch.uint64: "U64",
    torch.int64: "I64",
    torch.float64: "F64",
    torch.complex64: "C64",
    torch.float32: "F32",
    torch.uint32: "U32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.uint16: "U16",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""The names of types in the header, in the order of tensors in a file: those of the widest numbers come first."""

_SMALL = (torch.uint8, torch.int16, torch.int32)


def write_tensors(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any], name: str | None = None) -> str:
    """Write tensors by name, and facts that JSON can hold; return the digest of the file."""
    return write_sealed(path, _pieces(tensors, facts), name)


def tensor_content(tensors: dict[str, Tensor], facts: dict[str, Any]) -> bytes:
    """Return the content of such a file, which `attentionology.storage.sealed.write_sealed` writes."""
    return b"".join(_pieces(tensors, facts))


def _pieces(tensors: dict[str, Tensor], facts: dict[str, Any]) -> list[bytes | memoryview]:
    """Return the content of such a file in pieces: its header, and the memory of the tensors themselves."""
    # The bytes are those of `safetensors.torch.save`, which copies all numbers twice.
    header: dict[str, Any] = {"__metadata__": {_KEY: json.dumps({"seal": BLANK, **facts}, ensure_ascii=False)}}
    pieces: list[bytes | memoryview] = []
    order, end = list(TYPE_NAMES), 0
    for key in sorted(tensors, key=lambda key: (order.index(tensors[key].dtype), key.encode())):
        tensor = tensors[key].detach().contiguous()
        start, end = end, end + tensor.nbytes
        header[key] = {"dtype": TYPE_NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
        pieces.append(tensor.cpu().flatten().view(torch.uint8).numpy().data)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that numbers are aligned in memory
    return [len(text).to_bytes(8, "little") + text, *pieces]


def read_tensors(path: Path, name: str | None = None) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and facts that `write_tensors` wrote."""
    content, _ = read_sealed(path, name)
    try:
        length = int.from_bytes(content[:8], "little")  # of the header, as safetensors writes it
        header = json.loads(content[8 : 8 + length])
        facts: dict[str, Any] = json.loads(header["__metadata__"][_KEY])
        del facts["seal"]
        return safetensors.torch.load(content), facts
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"it is not a file of this kind ({error})") from error


def pack(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return tensors that take less space, without loss, and the facts that `unpack` needs of those that changed."""
    packed: dict[str, Tensor] = {}
    facts: dict[str, Any] = {}
    for name, tensor in tensors.items():
        packed[name] = tensor
        if tensor.is_floating_point() or tensor.is_complex() or tensor.nbytes < _WORTHWHILE:
            continue
        smallest, largest = int(tensor.min()), int(tensor.max())
        limits = ((dtype, torch.iinfo(dtype)) for dtype in _SMALL)
        fitting = (dtype for dtype, limit in limits if limit.min <= smallest and largest <= limit.max)
        narrowed = tensor.to(next(fitting, tensor.dtype)).contiguous()
        content = zlib.compress(narrowed.numpy().tobytes(), _LEVEL)
        packed[name] = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        dtype, stored_dtype = (str(values.dtype).removeprefix("torch.") for values in (tensor, narrowed))
        facts[name] = {"dtype": dtype, "stored": stored_dtype, "shape": list(tensor.shape)}
    return packed, facts


def unpack(packed: Mapping[str, Tensor], facts: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the tensors that `pack` has packed."""
    tensors = dict(packed)
    for name, facts_of_tensor in facts.items():
        try:
            content = zlib.decompress(packed[name].numpy().tobytes())
            narrowed = torch.frombuffer(bytearray(content), dtype=getattr(torch, facts_of_tensor["stored"]))
            tensors[name] = narrowed.reshape(facts_of_tensor["shape"]).to(getattr(torch, facts_of_tensor["dtype"]))
        except (KeyError, ValueError, RuntimeError, TypeError, AttributeError, zlib.error) as error:
            raise DamagedError(f"the packed tensor {name} cannot be read ({error})") from None
    return tensors
