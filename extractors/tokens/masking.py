"""Masking of pieces. The draws depend on the sentence alone, so they do not change with the batch."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..model.encoder import Encoder
from .pieces import Pieces


def check_masking(encoder: Encoder, rate: float) -> None:
    """Check that pieces can be masked at a rate."""
    if not 0 <= rate <= 1:
        raise ValueError(f"mask_rate must be from 0 to 1, not {rate}")
    if rate and encoder.tokenizer.mask_token_id is None:
        raise ModelError(f"{encoder.name or encoder.family}: its tokenizer has no mask token, so nothing can be masked")


def mask_pieces(
    encoder: Encoder, pieces: Pieces, rate: float, key: str, *, one_at_least: bool = False
) -> tuple[Pieces, list[int]]:
    """Replace pieces of words by the mask token, each with probability ``rate``, and return which were replaced.

    The key seeds the generator. With ``one_at_least``, the piece with the smallest draw is masked if no other is.
    """
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    draws = np.random.default_rng(seed).random(len(pieces))
    maskable = [i for i, position in enumerate(pieces.positions) if not pieces.special[position]]
    masked = [i for i in maskable if draws[i] < rate]
    if one_at_least and maskable and not masked:
        masked = [min(maskable, key=lambda i: float(draws[i]))]
    ids, tokens = list(pieces.ids), list(pieces.tokens)
    for i in masked:
        ids[i], tokens[i] = encoder.tokenizer.mask_token_id, encoder.tokenizer.mask_token
    return replace(pieces, ids=ids, tokens=tokens), masked
