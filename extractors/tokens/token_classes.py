"""What kind of token a piece is, whatever the model calls it and however its tokenizer marks it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from attentionology.extractors.tokens.pieces import Pieces

TOKEN_CLASSES = ("[CLS]", "[SEP]", "[MASK]", "punctuation", "other")
"""Special tokens before the first word count as [CLS], all others as [SEP], whatever the model calls them. Punctuation
is a piece all of whose characters Unicode calls punctuation."""


class PieceForms:
    """The text of a piece as it stands in a sentence: ``ing`` for ``##ing``, ``.`` for ``Ġ.``; looked up once each.

    Args:
        tokenizer: a fast tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._inside = getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None) or ""
        self._forms: dict[int, str] = {}

    def __getitem__(self, piece: int) -> str:
        form = self._forms.get(piece)
        if form is None:
            form = self._tokenizer.decode([piece], clean_up_tokenization_spaces=False).strip()
            if len(form) > len(self._inside):
                form = form.removeprefix(self._inside)
            self._forms[piece] = form
        return form


def token_classes(forms: PieceForms, mask_id: int | None, batch: Sequence[Pieces]) -> Int[Tensor, "batch n"]:
    """Index into `TOKEN_CLASSES` of every piece, −1 on padding."""
    cls, sep, mask, punctuation, other = range(len(TOKEN_CLASSES))
    classes = torch.full((len(batch), max(len(p) for p in batch)), -1)
    for row, p in enumerate(batch):
        first_word = p.special.index(False) if False in p.special else math.inf
        found = [
            mask
            if piece == mask_id
            else (cls if at < first_word else sep)
            if p.special[at]
            else punctuation
            if is_punctuation(forms[piece])
            else other
            for piece, at in zip(p.ids, p.positions, strict=True)
        ]
        classes[row, : len(found)] = torch.tensor(found)
    return classes


def is_punctuation(form: str) -> bool:
    """Whether there are characters and all are punctuation by their Unicode category."""
    return bool(form) and all(unicodedata.category(character).startswith("P") for character in form)
