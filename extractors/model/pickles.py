"""Weights in a pickle, which are tensors and nothing else.

To open a pickle may run any code. ``torch.load(…, weights_only=True)`` reads only what tensors are made of, and stops
at the first name of anything else, before it is called. No other way of reading is tried.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch

from ...storage.tensors import TYPE_NAMES
from ..errors import ModelError, cause

_NAMES = {**TYPE_NAMES, torch.complex128: "C128"}  # which is read of a pickle, and then refused
"""The types of tensors as safetensors names them."""


def pickled_types(path: Path) -> dict[str, str]:
    """Return the type of each tensor in a file by its name, as safetensors names it, such as F32.

    Raises:
        ModelError: the file is damaged, or has anything but tensors.
    """
    where = f"{str(path)!r} ({path.stat().st_size:,} bytes)"
    try:
        content: Any = torch.load(path, map_location="meta", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{where} is a pickle that is not only made of tensors, and may run code; it was not read "
            f"({_stopped_at(error)}). Ask its authors for safetensors"
        ) from error
    except Exception as error:  # whatever torch raises, the cause is in the file
        again = "download it again, with 'git lfs pull' if it is from a clone"
        raise ModelError(f"{where} is not a whole file of pickled weights ({cause(error)}); {again}") from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise ModelError(f"{where} must contain tensors by their names, not {type(content).__name__}")
    if others := [name for name, tensor in content.items() if not isinstance(tensor, torch.Tensor)]:
        kind = type(content[others[0]]).__name__
        raise ModelError(f"{where}: {others[0]!r} is no tensor, but {kind}; this is not a file of weights")
    return {name: _NAMES.get(tensor.dtype, str(tensor.dtype)) for name, tensor in content.items()}


def _stopped_at(error: Exception) -> str:
    """Return the line of a long message of torch that says what it did not read."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "GLOBAL" in line or "Unsupported" in line), lines[0] if lines else "")
