"""Pieces with the mask token in place of some of them, drawn per sentence so that batches do not matter."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from attentionology.extractors.errors import ModelError
from attentionology.extractors.model.encoder import Encoder
from attentionology.extractors.tokens.pieces import Pieces


def check_masking(encoder: Encoder, rate: float) -> None:
    """Refuse what cannot be done.

    Raises:
        ValueError: a rate outside 0 … 1.
        ModelError: nothing to mask with.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"mask_rate must be from 0 to 1, not {rate}")
    if rate and encoder.tokenizer.mask_token_id is None:
        raise ModelError(f"{encoder.name or encoder.family}: its tokenizer has no mask token, so nothing can be masked")


def mask_pieces(
    encoder: Encoder, pieces: Pieces, rate: float, key: str, *, one_at_least: bool = False
) -> tuple[Pieces, list[int]]:
    """Replace pieces of words by the mask token, each with probability ``rate``.

    Args:
        encoder: whose mask token.
        pieces: what to mask; special tokens stay.
        rate: probability.
        key: what the draws depend on.
        one_at_least: where none is hit, the one with the smallest draw is.

    Returns:
        the new pieces, and which were replaced.
    """
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    draws = np.random.default_rng(seed).random(len(pieces))
    maskable = [i for i, position in enumerate(pieces.positions) if not pieces.special[position]]
    hit = [i for i in maskable if draws[i] < rate]
    if one_at_least and maskable and not hit:
        hit = [min(maskable, key=lambda i: float(draws[i]))]
    ids, tokens = list(pieces.ids), list(pieces.tokens)
    for i in hit:
        ids[i], tokens[i] = encoder.tokenizer.mask_token_id, encoder.tokenizer.mask_token
    return replace(pieces, ids=ids, tokens=tokens), hit
