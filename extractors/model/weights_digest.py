"""A digest by which the weights of a model are recognized, however they are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

import torch


def weights_sha256(model: Any, left_out: Collection[str] = ()) -> str:
    """Compute a SHA-256 of names, shapes, types and bytes of the weights of a model.

    Args:
        model: the model.
        left_out: the names of weights that the digest does not cover.
    """
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        if key in left_out:
            continue
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()
